//! The tables of a connection's database.

use anyhow::{Result, bail};

use super::{CounterTable, Parent, Table};
use crate::connection::AnyConnection;

/// All tables but the database's own, by name.
pub fn tables(conn: &mut AnyConnection) -> Result<Vec<Table>> {
    conn.database().tables(None, conn)
}

/// The table of this name, which may be `schema.table`.
///
/// # Errors
///
/// If there is none. The error names the counter tables.
pub fn table(conn: &mut AnyConnection, name: &str) -> Result<Table> {
    let with_schema = name
        .split_once('.')
        .map(|(schema, name)| (Some(schema), name));
    for only in [Some((None, name)), with_schema].into_iter().flatten() {
        if let Some(table) = named(conn.database().tables(Some(only), conn)?, only.1) {
            return Ok(table);
        }
    }
    bail!("there is no table {name}; {}", which_there_are(conn)?)
}

/// The table that a foreign key refers to, if the user may see it.
pub fn parent_table(conn: &mut AnyConnection, parent: &Parent) -> Result<Option<Table>> {
    let tables = conn
        .database()
        .tables(Some((Some(&parent.in_schema), &parent.table)), conn)?;
    Ok(named(tables, &parent.table))
}

/// Some databases have tables whose names differ in case only.
fn named(tables: Vec<Table>, name: &str) -> Option<Table> {
    let exact = tables.iter().position(|table| table.name == name);
    tables.into_iter().nth(exact.unwrap_or(0))
}

/// The counter tables of the database, by name.
pub fn counter_tables(conn: &mut AnyConnection) -> Result<Vec<CounterTable>> {
    let tables = tables(conn)?.into_iter();
    Ok(tables.filter_map(|table| table.try_into().ok()).collect())
}

/// The counter table of this name, which may be `schema.table`.
///
/// # Errors
///
/// If there is none. The error names the counter tables.
pub fn counter_table(conn: &mut AnyConnection, name: &str) -> Result<CounterTable> {
    match CounterTable::try_from(table(conn, name)?) {
        Ok(table) => Ok(table),
        Err(table) => bail!(
            "{table} is not a counter table: its primary key is not (entity, day DATE, slot SMALLINT) \
             or (day, slot). `diesel-counters check {table}` says what is wrong with it; {}",
            which_there_are(conn)?
        ),
    }
}

/// `the counter tables are a, b`
fn which_there_are(conn: &mut AnyConnection) -> Result<String> {
    let names: Vec<_> = counter_tables(conn)?
        .iter()
        // Other tables have a day and a small number in the key, too.
        .filter(|counters| !counters.counters.is_empty())
        .map(|counters| counters.table.to_string())
        .collect();
    Ok(match names.as_slice() {
        [] => "this database has no counter table: `diesel-counters generate migration` makes one"
            .to_owned(),
        [one] => format!("the counter table is {one}"),
        names => format!("the counter tables are {}", names.join(", ")),
    })
}
