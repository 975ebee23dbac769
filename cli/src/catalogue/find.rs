//! The tables of a connection's database.

use std::iter;

use anyhow::{Error, Result, anyhow, bail};

use super::{CounterTable, Table, other, tables};
use crate::connection::AnyConnection;

/// The table of this name, which may be `schema.table`.
///
/// # Errors
///
/// If there is none. The error names the counter tables, and what else has the name.
pub fn table(conn: &mut AnyConnection, name: &str) -> Result<Table> {
    let dots = name.match_indices('.');
    let in_schema = dots.map(|(dot, _)| (Some(&name[..dot]), &name[dot + 1..]));
    let names = iter::once((None, name)).chain(in_schema);
    for named in names.clone() {
        if let Some(table) = super::named(named, conn)? {
            return Ok(table);
        }
    }
    for named in names {
        if let Some(other) = other(named, conn)? {
            let which = which_there_are(conn)?;
            bail!("{name} is {other}, not an ordinary table; {which}");
        }
    }
    bail!("there is no table {name}; {}", which_there_are(conn)?)
}

/// The table of this name, whose rows are counted.
///
/// # Errors
///
/// If there is none. The error names the tables that have rows to count.
pub fn rows_table(conn: &mut AnyConnection, name: &str) -> Result<Table> {
    let Err(error) = table(conn, name) else {
        return table(conn, name);
    };
    let all = tables(conn)?.into_iter();
    let all = all.filter(|table| CounterTable::try_from(table.clone()).is_err());
    let names: Vec<_> = all.map(|table| table.to_string()).collect();
    let is = match other((None, name), conn)? {
        Some(other) => format!("{name} is {other}, whose rows no trigger counts"),
        None => format!("there is no table {name}"),
    };
    match &*names {
        [] => Err(error),
        names => bail!("{is}; the tables are {}", names.join(", ")),
    }
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
        Ok(table) => {
            if table.entity.iter().any(|key| key.equals_in.is_some()) {
                conn.find_operators()?;
            }
            Ok(table)
        }
        Err(table) => Err(not_a_counter_table(&table, conn)?),
    }
}

/// The error about a table that is none.
pub fn not_a_counter_table(table: &Table, conn: &mut AnyConnection) -> Result<Error> {
    Ok(anyhow!(
        "{table} is not a counter table: its primary key is not (entity, day DATE, slot SMALLINT), \
         with up to five columns for the entity, or (day, slot). `diesel-counters check {table}` says what is wrong with it; {}",
        which_there_are(conn)?
    ))
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
        [] => {
            "this database has no counter table: `diesel-counters generate migration` creates one"
                .to_owned()
        }
        [one] => format!("the counter table is {one}"),
        names => format!("the counter tables are {}", names.join(", ")),
    })
}
