//! An `INSERT` that adds to the row that exists.

use diesel::backend::Backend;

use super::sum::SQLITE_ELSE_ERROR;
use super::{Dialect, Sql, list, sql};
use crate::shape::{Name, TableName};

/// The name of the stored row. It is long so that no table of an application has it.
const STORED: &str = "diesel_counters_stored";

impl Dialect {
    /// The beginning of an `INSERT` into the counter table: ` VALUES …` or ` SELECT …` follows.
    pub(crate) fn insert_into<'a, DB: Backend>(
        self,
        table: TableName<'a>,
        key: &[Name<'a>],
        counters: &[Name<'a>],
    ) -> Sql<'a, DB> {
        let comma = if counters.is_empty() { "" } else { ", " };
        match self {
            Dialect::MySql => sql!("INSERT INTO {table} ({key}{comma}{counters})"),
            // An alias, because the table's own name could be `excluded`.
            _ => sql!("INSERT INTO {table} AS {STORED} ({key}{comma}{counters})"),
        }
    }

    /// The end of an `INSERT` into the counter table. If a row exists, the values of the columns
    /// `counters` are added to it. Without counters, the row is only locked.
    pub(crate) fn on_conflict_add<'a, DB: Backend>(
        self,
        key: &[Name<'a>],
        counters: &[Name<'a>],
    ) -> Sql<'a, DB> {
        let added = counters.iter().map(|counter| {
            let sum = sql!("{STORED}.{*counter} + excluded.{*counter}");
            match self {
                Dialect::PostgreSql => sql!("{*counter} = {sum}"),
                // SQLite's `+` returns a REAL when it overflows.
                Dialect::Sqlite => sql!(
                    "{*counter} = CASE typeof({sum}) WHEN 'integer' THEN {sum}{SQLITE_ELSE_ERROR}"
                ),
                // MySQL recommends a row alias, which MariaDB does not have.
                Dialect::MySql => sql!("{*counter} = {*counter} + VALUES({*counter})"),
            }
        });
        // An update locks the row. The slot keeps its value.
        let slot = key.last().filter(|_| counters.is_empty());
        let locked = slot.map(|slot| match self {
            Dialect::MySql => sql!("{*slot} = VALUES({*slot})"),
            _ => sql!("{*slot} = (excluded.{*slot})"),
        });
        let set = list(", ", added.chain(locked));
        match self {
            Dialect::MySql => sql!(" ON DUPLICATE KEY UPDATE {set}"),
            _ => sql!(" ON CONFLICT ({key}) DO UPDATE SET {set}"),
        }
    }

    /// The end of an `INSERT` of rows with zeros. If a row exists, it does not change. On MySQL and
    /// MariaDB it is locked: 0 is added, because `INSERT IGNORE` would turn errors into warnings.
    pub(crate) fn on_conflict_keep<'a, DB: Backend>(
        self,
        key: &[Name<'a>],
        counters: &[Name<'a>],
    ) -> Sql<'a, DB> {
        match self {
            Dialect::MySql => self.on_conflict_add(key, counters),
            _ => sql!(" ON CONFLICT ({key}) DO NOTHING"),
        }
    }
}
