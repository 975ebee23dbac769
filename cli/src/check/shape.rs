//! What a table's columns are meant to be, where its shape is not quite right.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::Dialect;

use crate::catalogue::{Column, CounterTable, Kind, Table};
use crate::connection::AnyConnection;
use crate::sql::{quoted, sql};

/// A guess at a table's columns.
pub struct Shape<'t> {
    pub table: &'t Table,
    pub dialect: Dialect,
    /// What is in its key besides. A counter table has one, or none.
    pub entity: Vec<&'t Column>,
    pub day: &'t Column,
    pub slot: &'t Column,
    pub counters: Vec<&'t Column>,
}

/// Whether it is checked without being named. A day and a small number are in the key of many
/// a table that counts nothing, so it takes more than these.
pub fn is_meant_to_count(table: &Table) -> bool {
    let has_slot = |key: Vec<&Column>| {
        key.iter().any(|column| table.holds_days(column))
            && key
                .iter()
                .any(|column| column.name.eq_ignore_ascii_case("slot"))
    };
    table.name.ends_with("_counters") || is_counter_table(table) || unique_keys(table).any(has_slot)
}

fn is_counter_table(table: &Table) -> bool {
    CounterTable::try_from(table.clone()).is_ok_and(|table| {
        let mut counters = table.counters.iter();
        counters.any(|counter| !counter.nullable && begins_at_0(counter))
    })
}

impl<'t> Shape<'t> {
    pub fn guess(table: &'t Table, dialect: Dialect) -> Option<Self> {
        let keys = unique_keys(table).map(|key| day_and_slot(&key).map(|found| (key, found)));
        let (key, (day, slot)) = keys.flatten().next().or_else(|| key_by_names(table))?;
        let entity: Vec<_> = key
            .into_iter()
            .filter(|column| ![&day.name, &slot.name].contains(&&column.name))
            .collect();
        let is_key = |column: &Column| {
            [day, slot]
                .into_iter()
                .chain(entity.iter().copied())
                .any(|c| c.name == column.name)
        };
        let counters = table.columns.iter().filter(|column| {
            !is_key(column)
                && !column.auto_increment
                && !column.generated
                && (table.holds_counts(column) || looks_like_a_counter(column))
        });
        Some(Shape {
            counters: counters.collect(),
            table,
            dialect,
            day,
            slot,
            entity,
        })
    }

    pub fn table_sql(&self) -> String {
        self.table.sql_name(self.dialect)
    }

    pub fn quoted(&self, name: &str) -> String {
        quoted(self.dialect, name)
    }

    /// The names that the primary key should have, in order.
    pub fn key(&self) -> Vec<&'t str> {
        let columns = self.entity.iter().copied().chain([self.day, self.slot]);
        columns.map(|column| column.name.as_str()).collect()
    }

    /// With `day` in SQL in place of the day.
    pub fn has_several_rows_of_one_key(&self, day: &str, conn: &mut AnyConnection) -> Result<bool> {
        #[derive(QueryableByName)]
        struct Keys {
            #[diesel(sql_type = BigInt)]
            counted: i64,
        }
        let entity = self.entity.iter().map(|c| self.quoted(&c.name) + ", ");
        let found: Keys = sql(format!(
            "SELECT COUNT(*) AS counted FROM (SELECT 1 AS one FROM {} GROUP BY {}{day}, {} \
             HAVING COUNT(*) > 1) AS several",
            self.table_sql(),
            entity.collect::<String>(),
            self.quoted(&self.slot.name),
        ))
        .get_result(conn)?;
        Ok(found.counted > 0)
    }

    pub fn is_key(&self, column: &Column) -> bool {
        self.key().contains(&column.name.as_str())
    }
}

/// A number that begins at 0.
fn looks_like_a_counter(column: &Column) -> bool {
    let is_number = matches!(column.kind, Kind::SmallInt | Kind::Integer | Kind::Real)
        || ["numeric", "decimal", "bigint", "int"]
            .iter()
            .any(|number| column.sql_type.to_ascii_lowercase().starts_with(number));
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
        index
            .columns
            .iter()
            .filter_map(|name| table.column(name))
            .collect()
    })
}

fn day_and_slot<'t>(key: &[&'t Column]) -> Option<(&'t Column, &'t Column)> {
    let day = find(key, |column| column.kind == Kind::Date).or_else(|| find(key, is_named_day))?;
    let others: Vec<_> = key
        .iter()
        .copied()
        .filter(|column| column.name != day.name)
        .collect();
    let slot = find(&others, is_named_slot)
        .or_else(|| find(&others, |column| column.kind == Kind::SmallInt))?;
    Some((day, slot))
}

/// Where no index is unique by them.
type Found<'t> = (Vec<&'t Column>, (&'t Column, &'t Column));
fn key_by_names(table: &Table) -> Option<Found<'_>> {
    let day = table.columns.iter().find(|column| is_named_day(column))?;
    let slot = table.columns.iter().find(|column| is_named_slot(column))?;
    let before = table
        .columns
        .iter()
        .take_while(|column| column.name != day.name);
    let entity = before
        .filter(|column| !column.auto_increment && column.name != slot.name)
        .last();
    Some((entity.into_iter().chain([day, slot]).collect(), (day, slot)))
}

fn find<'t>(columns: &[&'t Column], is: impl Fn(&Column) -> bool) -> Option<&'t Column> {
    columns.iter().copied().find(|column| is(column))
}

fn is_named_day(column: &Column) -> bool {
    let name = column.name.to_lowercase();
    ["day", "date"]
        .iter()
        .any(|day| name == *day || name.ends_with(&format!("_{day}")))
}

fn is_named_slot(column: &Column) -> bool {
    let name = column.name.to_lowercase();
    ["slot", "bucket", "shard"]
        .iter()
        .any(|slot| name.contains(slot))
}
