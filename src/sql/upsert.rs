//! An `INSERT` that adds to a row if it exists.

use super::sum::SQLITE_ELSE_ERROR;
use super::{CounterBackend, Dialect, Part, Sql, each, part, sql};
use crate::shape::{Name, Shape, TableName};

/// The counter table's alias, next to new rows or to a list of rows.
pub(crate) const STORED: &str = "counters";

impl Dialect {
    /// The beginning of an `INSERT`: `INSERT INTO article_counters (article_id, day, slot, views)`.
    /// ` VALUES …` or ` SELECT …` follows.
    pub(crate) fn insert_into<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        key: &[Name<'a>],
        counters: &[Name<'a>],
    ) -> impl Part<'a, DB> {
        let comma = if counters.is_empty() { "" } else { ", " };
        part!(match self {
            Dialect::MySql => "INSERT INTO {table} ({key}{comma}{counters})",
            // With the alias, a table can be called `excluded`.
            _ => "INSERT INTO {table} AS {STORED} ({key}{comma}{counters})",
        })
    }

    /// The end of an `INSERT` into the counter table. If a row exists, the values of the columns
    /// `counters` are added to it. If there are no counters, the row is only locked.
    pub(crate) fn on_conflict_add<'a, DB: CounterBackend>(
        self,
        shape: &Shape<'a>,
        counters: &[Name<'a>],
    ) -> impl Part<'a, DB> {
        let key = &*shape.key;
        let added = each(", ", counters, move |_, counter| {
            let sum = part!("{STORED}.{*counter} + excluded.{*counter}");
            part!(match self {
                Dialect::PostgreSql => "{*counter} = {sum}",
                // SQLite's `+` returns a REAL when it overflows.
                Dialect::Sqlite =>
                    "{*counter} = CASE typeof({sum}) WHEN 'integer' THEN {sum}{SQLITE_ELSE_ERROR}",
                // MySQL recommends a row alias, which MariaDB doesn't have.
                Dialect::MySql => "{*counter} = {*counter} + VALUES({*counter})",
            })
        });
        // This update locks the row, but the slot keeps its value.
        let slot = shape.slot();
        let locked = counters.is_empty().then(|| {
            part!(match self {
                Dialect::MySql => "{slot} = VALUES({slot})",
                _ => "{slot} = excluded.{slot}",
            })
        });
        part!(match self {
            Dialect::MySql => " ON DUPLICATE KEY UPDATE {added}{locked}",
            _ => " ON CONFLICT ({key}) DO UPDATE SET {added}{locked}",
        })
    }

    /// The end of an `INSERT` of rows with zeros. If a row exists, it doesn't change. On MySQL and
    /// MariaDB, it's locked: `INSERT IGNORE` wouldn't, but would turn errors into warnings.
    pub(crate) fn on_conflict_keep<'a, DB: CounterBackend>(self, shape: &Shape<'a>) -> Sql<'a, DB> {
        let key = &shape.key;
        match self {
            Dialect::MySql => {
                let no_counters = &[];
                sql!("{self.on_conflict_add(shape, no_counters)}")
            }
            _ => sql!(" ON CONFLICT ({key}) DO NOTHING"),
        }
    }
}
