//! What makes a table a counter table.

use anyhow::{Context, Result};

use super::{Column, Index, Kind, Parent, Table};
use crate::database::Joined;

/// A counter table: its primary key is `(entity, day, slot)`, with up to five columns for the entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterTable {
    pub table: Table,
    /// The columns of the entity's key; none if it counts for one thing only, such as a whole site.
    pub entity: Vec<Column>,
    /// The column that the foreign key of the first of them refers to.
    pub parent: Option<Parent>,
    pub day: Column,
    pub slot: Column,
    /// Every other BIGINT column.
    pub counters: Vec<Column>,
}

/// The greatest number of columns of an entity's key.
pub const MAX_COLUMNS: usize = 5;

/// Returns the table if it is not a counter table.
impl TryFrom<Table> for CounterTable {
    type Error = Table;

    fn try_from(table: Table) -> Result<Self, Table> {
        let key = table.primary_key.iter().map(|name| table.column(name));
        let mut entity: Vec<Column> = key.flatten().cloned().collect();
        let (slot, day) = (entity.pop(), entity.pop());
        match (day, slot) {
            (Some(day), Some(slot))
                if entity.len() <= MAX_COLUMNS
                    && table.holds_days(&day)
                    && table.holds_slots(&slot) =>
            {
                Ok(CounterTable {
                    parent: entity.first().and_then(|key| key.refers_to.clone()),
                    counters: table.counters().cloned().collect(),
                    entity,
                    day,
                    slot,
                    table,
                })
            }
            _ => Err(table),
        }
    }
}

/// Whether `check` without a table's name checks this one. Many tables that count nothing have a day
/// and a small number in the key, so the table needs a counter, too.
pub fn is_meant_to_count(table: &Table) -> bool {
    let begins_at_0 = |counter: &Column| counter.default.as_deref().is_some_and(is_zero);
    let is_counter_table = CounterTable::try_from(table.clone()).is_ok_and(|table| {
        let mut counters = table.counters.iter();
        counters.any(|counter| !counter.nullable && begins_at_0(counter))
    });
    table.name.ends_with("_counters") || is_counter_table
}

/// As in `0`, `'0'::bigint` and `(0)`.
pub fn is_zero(default: &str) -> bool {
    let value = default.split("::").next().unwrap_or_default();
    let digits = value.trim_matches(|c: char| c.is_whitespace() || "'()".contains(c));
    digits.parse() == Ok(0.0)
}

impl CounterTable {
    /// The counter of this name.
    ///
    /// # Errors
    ///
    /// If there is none. The error names the counters.
    pub fn counter(&self, name: &str) -> Result<&Column> {
        let counter = self.counters.iter().find(|column| column.name == name);
        counter.with_context(|| {
            let names = self.counters.iter().map(|counter| &*counter.name);
            match (&self.table, &*names.joined(", ")) {
                (table, "") => format!("{table} has no counters"),
                (table, names) => {
                    format!("{table} has no counter {name}; its counters are {names}")
                }
            }
        })
    }
}

impl Table {
    /// The columns outside the key that can count.
    pub fn counters(&self) -> impl Iterator<Item = &Column> {
        let is_key = |column: &Column| self.primary_key.contains(&column.name);
        let columns = self.columns.iter();
        columns.filter(move |column| !is_key(column) && self.holds_counts(column))
    }

    pub fn holds_days(&self, column: &Column) -> bool {
        column.kind == Kind::Date || self.strict && column.kind == Kind::Text
    }

    pub fn holds_slots(&self, column: &Column) -> bool {
        column.kind == Kind::SmallInt || self.strict && column.kind == Kind::Integer
    }

    pub fn holds_counts(&self, column: &Column) -> bool {
        let is_bigint = column.kind == Kind::BigInt || self.strict && column.kind == Kind::Integer;
        is_bigint && !column.generated
    }
}

impl Index {
    /// Its columns, with the included ones.
    pub fn holds(&self) -> impl Iterator<Item = &str> {
        let columns = self.columns.iter().chain(&self.included);
        columns.map(String::as_str)
    }

    /// Whether an increment can conflict in this index without conflicting in the key.
    pub fn conflicts_besides(&self, key: &[String]) -> bool {
        self.unique && !key.iter().all(|name| self.columns.contains(name))
    }
}
