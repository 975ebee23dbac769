//! Tables, as the database's own catalogue describes them: one file a database.

mod counter_table;
mod find;
mod mysql;
mod postgres;
mod rows;
mod sqlite;

use anyhow::Result;
use diesel_counters::Dialect;

pub use crate::period::{comment, statement_of};
pub use crate::table::{Column, Index, Kind, Parent, Table};
pub use counter_table::{CounterTable, MAX_COLUMNS, is_meant_to_count, is_zero};
pub use find::{counter_table, table};

use crate::connection::AnyConnection;
use crate::table::Named;
use rows::Catalogue;

fn of(dialect: Dialect) -> &'static Catalogue {
    match dialect {
        Dialect::PostgreSql => &postgres::CATALOGUE,
        Dialect::MySql => &mysql::CATALOGUE,
        Dialect::Sqlite => &sqlite::CATALOGUE,
    }
}

/// All tables but the database's own.
pub fn tables(conn: &mut AnyConnection) -> Result<Vec<Table>> {
    of(conn.dialect()).tables(None, conn)
}

/// The table of a name. Some databases have tables whose names differ in case only.
fn named(name: Named<'_>, conn: &mut AnyConnection) -> Result<Option<Table>> {
    let tables = of(conn.dialect()).tables(Some(name), conn)?;
    let exact = tables.iter().position(|table| table.name == name.1);
    Ok(tables.into_iter().nth(exact.unwrap_or(0)))
}

/// The table that a foreign key refers to, if the user may see it.
pub fn parent(parent: &Parent, conn: &mut AnyConnection) -> Result<Option<Table>> {
    named((Some(&parent.in_schema), &parent.table), conn)
}
