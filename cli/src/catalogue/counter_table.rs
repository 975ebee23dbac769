//! What makes a table a counter table.

use super::table::{Column, Kind, Parent, Table};

/// A counter table: its primary key is `(entity, day, slot)`, where the entity can have up to five
/// columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterTable {
    pub table: Table,
    /// The columns of the entity's key. Empty if the table counts for a single thing, such as a
    /// whole site.
    pub entity: Vec<Column>,
    pub day: Column,
    pub slot: Column,
    /// Every other BIGINT column.
    pub counters: Vec<Column>,
}

/// The maximum number of columns in an entity's key.
pub const MAX_COLUMNS: usize = 5;

/// Gives the table back if it isn't a counter table.
impl TryFrom<Table> for CounterTable {
    type Error = Table;

    fn try_from(table: Table) -> Result<Self, Table> {
        let key = table.primary_key.iter().map(|name| table.column(name));
        let mut entity: Vec<Column> = key.flatten().cloned().collect();
        // The last column is the slot, and the one before it is the day.
        let Some(slot) = entity.pop() else {
            return Err(table);
        };
        let Some(day) = entity.pop() else {
            return Err(table);
        };
        // A STRICT table on SQLite has other types.
        let has_kind = |column: &Column, kind, kind_if_strict| {
            column.kind == kind || table.strict && column.kind == kind_if_strict
        };
        let is_key = has_kind(&day, Kind::Date, Kind::Text)
            && has_kind(&slot, Kind::SmallInt, Kind::Integer);
        if entity.len() > MAX_COLUMNS || !is_key {
            return Err(table);
        }
        let is_counter = |column: &&Column| {
            let is_outside = !table.primary_key.contains(&column.name);
            is_outside && !column.generated && has_kind(column, Kind::BigInt, Kind::Integer)
        };
        Ok(CounterTable {
            counters: table.columns.iter().filter(is_counter).cloned().collect(),
            entity,
            day,
            slot,
            table,
        })
    }
}

impl CounterTable {
    /// Returns what the foreign keys of its columns refer to, including those of several columns.
    pub fn parents(&self) -> impl Iterator<Item = &Parent> {
        let of_columns = self.table.columns.iter().flat_map(Column::parents);
        let wide = self.table.wide_foreign_keys.iter();
        of_columns.chain(wide.map(|key| &key.parent))
    }
}

/// Whether `check` without a table's name checks this one. Many tables that don't count anything
/// have a day and a small number in their key, so the table must have a counter too.
pub fn is_meant_to_count(table: &Table) -> bool {
    let begins_at_0 = |counter: &Column| counter.default.as_deref().is_some_and(is_zero);
    let is_counter_table = CounterTable::try_from(table.clone()).is_ok_and(|table| {
        let mut counters = table.counters.iter();
        counters.any(|counter| !counter.nullable && begins_at_0(counter))
    });
    table.name.ends_with("_counters") || is_counter_table
}

/// Whether a default is zero, for example `0`, `'0'::bigint` or `(0)`.
pub fn is_zero(default: &str) -> bool {
    let value = default.split("::").next().unwrap_or_default();
    let digits = value.trim_matches(|c: char| c.is_whitespace() || "'()".contains(c));
    digits.parse() == Ok(0.0)
}
