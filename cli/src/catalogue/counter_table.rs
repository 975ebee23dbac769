//! What makes a table a counter table.

use anyhow::{Context, Result};

use super::{Column, Index, Kind, Parent, Table};

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
        let key: Option<Vec<&Column>> = table.primary_key.iter().map(|c| table.column(c)).collect();
        let (entity, day, slot) = match key.as_deref() {
            Some([entity @ .., day, slot]) if entity.len() <= MAX_COLUMNS => (
                entity.iter().copied().cloned().collect::<Vec<_>>(),
                *day,
                *slot,
            ),
            _ => return Err(table),
        };
        if !table.holds_days(day) || !table.holds_slots(slot) {
            return Err(table);
        }
        Ok(CounterTable {
            parent: entity.first().and_then(|key| key.refers_to.clone()),
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
    /// If there is none. The error names the counters.
    pub fn counter(&self, name: &str) -> Result<&Column> {
        let counter = self.counters.iter().find(|column| column.name == name);
        counter.with_context(|| {
            let names: Vec<_> = self.counters.iter().map(|c| c.name.as_str()).collect();
            match names.as_slice() {
                [] => format!("{} has no counters", self.table),
                names => format!(
                    "{} has no counter {name}; its counters are {}",
                    self.table,
                    names.join(", ")
                ),
            }
        })
    }

    /// The columns of the entity's key.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn of_entities(&self) -> Result<&[Column]> {
        let entity = (!self.entity.is_empty()).then_some(&*self.entity);
        entity.with_context(|| {
            format!(
                "{} counts for one thing only: its primary key ({}, {}) has no entity",
                self.table, self.day.name, self.slot.name
            )
        })
    }
}

impl Table {
    /// The columns outside the key that can count.
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

impl Index {
    /// Its columns, with the included ones.
    pub fn holds(&self) -> impl Iterator<Item = &str> {
        let columns = self.columns.iter().chain(&self.included);
        columns.map(String::as_str)
    }

    /// Whether an increment can conflict in this index without conflicting in the key.
    pub fn conflicts_besides<'k>(&self, key: impl IntoIterator<Item = &'k str>) -> bool {
        let is_in_it = |name: &str| self.columns.iter().any(|column| column == name);
        self.unique && !key.into_iter().all(is_in_it)
    }
}
