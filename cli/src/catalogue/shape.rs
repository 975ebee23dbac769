//! The columns of a table that is meant to be a counter table, but may not be one.

use super::{Column, CounterTable, Kind, Table};

/// A guess at a table's columns.
pub struct Shape<'t> {
    pub table: &'t Table,
    /// The other columns of the key, of which a counter table has up to five.
    pub entity: Vec<&'t Column>,
    pub day: &'t Column,
    pub slot: &'t Column,
    pub counters: Vec<&'t Column>,
}

/// Whether `check` without a table's name checks this one. Many tables that count nothing have
/// a day and a small number in the key, so the table needs more than these.
pub fn is_meant_to_count(table: &Table) -> bool {
    let is_counter_table = CounterTable::try_from(table.clone()).is_ok_and(|table| {
        let mut counters = table.counters.iter();
        counters.any(|counter| !counter.nullable && begins_at_0(counter))
    });
    let has_slot = |key: Vec<&Column>| {
        let is_slot = |column: &&Column| column.name.eq_ignore_ascii_case("slot");
        key.iter().any(is_slot) && key.iter().any(|column| table.holds_days(column))
    };
    table.name.ends_with("_counters") || is_counter_table || unique_keys(table).any(has_slot)
}

impl<'t> Shape<'t> {
    pub fn guess(table: &'t Table) -> Option<Self> {
        let keys = unique_keys(table).map(|key| day_and_slot(&key).map(|found| (key, found)));
        let (key, (day, slot)) = keys.flatten().next().or_else(|| key_by_names(table))?;
        let is_other = |column: &&Column| ![&day.name, &slot.name].contains(&&column.name);
        let mut shape = Shape {
            entity: key.into_iter().filter(is_other).collect(),
            counters: Vec::new(),
            table,
            day,
            slot,
        };
        let counters = table.columns.iter().filter(|column| {
            !shape.is_key(column)
                && !column.auto_increment
                && !column.generated
                && (table.holds_counts(column) || looks_like_a_counter(column))
        });
        shape.counters = counters.collect();
        Some(shape)
    }

    /// The columns that should be the primary key, in order.
    pub fn key_columns(&self) -> impl Iterator<Item = &'t Column> {
        self.entity.iter().copied().chain([self.day, self.slot])
    }

    pub fn key(&self) -> Vec<&'t str> {
        self.key_columns().map(|column| &*column.name).collect()
    }

    pub fn is_key(&self, column: &Column) -> bool {
        self.key().contains(&&*column.name)
    }

    pub fn is_counter(&self, column: &Column) -> bool {
        let mut counters = self.counters.iter();
        counters.any(|counter| counter.name == column.name)
    }
}

/// A number that begins at 0.
fn looks_like_a_counter(column: &Column) -> bool {
    let sql_type = column.sql_type.to_ascii_lowercase();
    let mut decimals = ["numeric", "decimal"].iter();
    let is_number = column.kind == Kind::Real
        // A TINYINT of MySQL is a BOOLEAN.
        || column.kind.is_integer() && !sql_type.starts_with("tinyint")
        || decimals.any(|decimal| sql_type.starts_with(decimal));
    is_number && begins_at_0(column)
}

fn begins_at_0(column: &Column) -> bool {
    column.default.as_deref().is_some_and(is_zero)
}

/// As in `0`, `'0'::bigint` and `(0)`.
pub fn is_zero(default: &str) -> bool {
    let value = default.split("::").next().unwrap_or_default();
    let digits = value.trim_matches(|c: char| c.is_whitespace() || "'()".contains(c));
    digits.parse() == Ok(0.0)
}

/// The columns of the primary key, and of each unique index.
fn unique_keys(table: &Table) -> impl Iterator<Item = Vec<&Column>> {
    let unique = table.indexes.iter().filter(|index| index.unique);
    unique.map(|index| {
        let columns = index.columns.iter().filter_map(|name| table.column(name));
        columns.collect()
    })
}

type Key<'t> = (Vec<&'t Column>, (&'t Column, &'t Column));

fn day_and_slot<'t>(key: &[&'t Column]) -> Option<(&'t Column, &'t Column)> {
    let find = |is: &dyn Fn(&Column) -> bool| key.iter().copied().find(|column| is(column));
    let day = find(&|column| column.kind == Kind::Date).or_else(|| find(&is_named_day))?;
    let slot = find(&|column| column.name != day.name && is_named_slot(column));
    let is_small = |c: &Column| c.name != day.name && c.kind == Kind::SmallInt;
    Some((day, slot.or_else(|| find(&is_small))?))
}

/// The key of a table that has no unique index on it.
fn key_by_names(table: &Table) -> Option<Key<'_>> {
    let columns = || table.columns.iter();
    let day = columns().find(|column| is_named_day(column))?;
    let slot = columns().find(|column| is_named_slot(column))?;
    let before = columns().take_while(|column| column.name != day.name);
    let entity = before.filter(|column| !column.auto_increment && column.name != slot.name);
    let key = entity.last().into_iter().chain([day, slot]).collect();
    Some((key, (day, slot)))
}

fn is_named_day(column: &Column) -> bool {
    let name = column.name.to_lowercase();
    ["day", "date"].contains(&&*name) || name.ends_with("_day") || name.ends_with("_date")
}

fn is_named_slot(column: &Column) -> bool {
    let name = column.name.to_lowercase();
    let mut names = ["slot", "bucket", "shard"].iter();
    names.any(|slot| name.contains(slot))
}
