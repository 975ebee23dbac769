//! SQL that changes a table: one file a database.

pub mod mysql;
pub mod postgres;

use diesel_counters::Dialect;

use crate::catalogue::{Column, Index, Table};
use crate::database::Database;

/// A change of a table.
pub enum Change<'a> {
    /// Sets these properties of a column.
    Column {
        column: &'a Column,
        sql_type: Option<&'a str>,
        default: Option<&'a str>,
        not_null: bool,
    },
    /// Adds a primary key after other changes, which are those of an `ALTER TABLE`.
    PrimaryKey(String),
    DropIndex(&'a Index),
}

impl<'a> Change<'a> {
    pub fn sql_type(column: &'a Column, sql_type: &'a str) -> Self {
        Change::Column {
            column,
            sql_type: Some(sql_type),
            default: None,
            not_null: false,
        }
    }
}

/// The SQL of a change.
pub struct Script {
    pub sql: String,
    /// What it blocks while it runs.
    pub locks: &'static str,
}

/// SQL that changes a table, or `None` if the database cannot change that.
pub fn change(change: &Change<'_>, table: &Table, database: Database) -> Option<Script> {
    match (database.0, change) {
        (Dialect::PostgreSql, change) => Some(postgres::change(change, table)),
        (Dialect::MySql, change) => Some(mysql::change(change, table)),
        (Dialect::Sqlite, Change::DropIndex(index)) if !index.of_constraint => Some(Script {
            sql: format!("DROP INDEX {};", database.quoted(&index.name)),
            locks: "",
        }),
        (Dialect::Sqlite, _) => None,
    }
}

/// The change of an `ALTER TABLE` that drops an index, if there is one.
pub fn drop_in_alter(index: &Index, database: Database) -> Option<String> {
    match database.0 {
        Dialect::PostgreSql => postgres::drop_in_alter(index),
        Dialect::MySql => Some(mysql::drop_in_alter(index)),
        Dialect::Sqlite => None,
    }
}

/// SQL that reads a column of times as days in UTC, or `None` if that is not certain.
pub fn as_day(column: &Column, database: Database) -> Option<String> {
    let name = database.quoted(&column.name);
    match (database.0, &*column.sql_type) {
        (Dialect::PostgreSql, "timestamp without time zone") => Some(format!("{name}::DATE")),
        (Dialect::PostgreSql, "timestamp with time zone") => {
            Some(format!("({name} AT TIME ZONE 'UTC')::DATE"))
        }
        // Fractions of a second, as in `datetime(6)`, would be rounded, and perhaps to the next day.
        (Dialect::MySql, "datetime") => Some(format!("DATE({name})")),
        _ => None,
    }
}
