//! Tables, as the database's own catalogue describes them: one file a database.

mod counter_table;
mod find;
mod mysql;
mod period;
mod postgres;
mod rows;
mod shape;
mod sqlite;

use anyhow::Result;
use diesel::sql_types::Text;
use diesel::{OptionalExtension, RunQueryDsl};
use diesel_counters::Dialect;

pub use crate::table::{Column, Index, Kind, Parent, Table};
pub use counter_table::{CounterTable, MAX_COLUMNS};
pub use find::{counter_table, rows_table, table};
pub use period::{comment, statement_of};
pub use shape::{Shape, is_meant_to_count, is_zero};

use crate::connection::AnyConnection;
use crate::sql::sql;
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

/// What has this name and is no table, such as `a view`.
pub fn other(name: Named<'_>, conn: &mut AnyConnection) -> Result<Option<String>> {
    of(conn.dialect()).other(name, conn)
}

/// The table that a foreign key refers to, if the user may see it.
pub fn parent(parent: &Parent, conn: &mut AnyConnection) -> Result<Option<Table>> {
    named((Some(&parent.in_schema), &parent.table), conn)
}

/// A foreign key of several columns, some of which a counter table's key has. Tables have only foreign
/// keys of one column.
pub fn wide_foreign_key(table: &Table, conn: &mut AnyConnection) -> Result<Option<String>> {
    let names = sql(of(conn.dialect()).wide_foreign_keys);
    let names = names.bind(&*table.in_schema).sql(" AND of_table = ");
    let names: Vec<String> = names.bind(&*table.name).typed::<Text>().load(conn)?;
    Ok(names.into_iter().next())
}

/// A foreign key of several columns that changes rows without running triggers.
pub fn uncounted_foreign_key(rows: &Table, conn: &mut AnyConnection) -> Result<Option<String>> {
    if conn.dialect() != Dialect::MySql {
        return Ok(None);
    }
    let query = sql(mysql::UNCOUNTED_FOREIGN_KEYS).bind(&*rows.in_schema);
    let query = query.sql(" AND r.table_name = ").bind(&*rows.name);
    let query = query.sql(" LIMIT 1").typed::<Text>();
    Ok(query.get_result(conn).optional()?)
}
