//! What makes a table a counter table.

use anyhow::{Context, Result};
use diesel_counters::Dialect;

use super::{Column, Kind, Parent, Table};

/// A counter table: its primary key is `(entity, day, slot)`, or `(day, slot)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterTable {
    pub table: Table,
    /// None where it counts for one thing only, such as a whole site.
    pub entity: Option<Column>,
    /// What the entity's column refers to, where it has a foreign key.
    pub parent: Option<Parent>,
    pub day: Column,
    pub slot: Column,
    /// Every other BIGINT column.
    pub counters: Vec<Column>,
}

/// Gives the table back where it is none.
impl TryFrom<Table> for CounterTable {
    type Error = Table;

    fn try_from(table: Table) -> Result<Self, Table> {
        let key: Option<Vec<&Column>> = table.primary_key.iter().map(|c| table.column(c)).collect();
        let (entity, day, slot) = match key.as_deref() {
            Some([day, slot]) => (None, *day, *slot),
            Some([entity, day, slot]) => (Some((*entity).clone()), *day, *slot),
            _ => return Err(table),
        };
        if !table.holds_days(day) || !table.holds_slots(slot) {
            return Err(table);
        }
        Ok(CounterTable {
            parent: entity.as_ref().and_then(|key| key.refers_to.clone()),
            entity,
            day: day.clone(),
            slot: slot.clone(),
            counters: table.counters().cloned().collect(),
            table,
        })
    }
}

impl CounterTable {
    /// The counter of this name.
    ///
    /// # Errors
    ///
    /// Where there is none; it names those that there are.
    pub fn counter(&self, name: &str) -> Result<&Column> {
        let counter = self.counters.iter().find(|column| column.name == name);
        counter.with_context(|| {
            let names: Vec<_> = self.counters.iter().map(|c| c.name.as_str()).collect();
            format!(
                "{} has no counter {name}; its counters are {}",
                self.table,
                names.join(", ")
            )
        })
    }

    pub fn sql_name(&self, dialect: Dialect) -> String {
        self.table.sql_name(dialect)
    }
}

impl Table {
    /// The columns that are no part of the key, and can count.
    pub fn counters(&self) -> impl Iterator<Item = &Column> {
        self.columns
            .iter()
            .filter(|column| !self.primary_key.contains(&column.name) && self.holds_counts(column))
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
