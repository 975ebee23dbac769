//! The tables of a connection's database.

use anyhow::{Result, bail};

use super::{CounterTable, Table, named, tables};
use crate::connection::AnyConnection;

/// The table of this name, which may be `schema.table`.
///
/// # Errors
///
/// If there is none, also if a view has the name. The error names the counter tables.
pub fn table(conn: &mut AnyConnection, name: &str) -> Result<Table> {
    if let Some(table) = named((None, name), conn)? {
        return Ok(table);
    }
    if let Some((schema, of_schema)) = name.rsplit_once('.')
        && let Some(table) = named((Some(schema), of_schema), conn)?
    {
        return Ok(table);
    }
    bail!(
        "there is no ordinary table {name}; {}",
        which_there_are(conn)?
    )
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
            "{table} is not a counter table: its primary key is not (entity, day DATE, slot SMALLINT), \
             with up to five columns for the entity, or (day, slot). `diesel-counters check {table}` says \
             what is wrong with it; {}",
            which_there_are(conn)?
        ),
    }
}

/// `the counter tables are a, b`
fn which_there_are(conn: &mut AnyConnection) -> Result<String> {
    let all = tables(conn)?
        .into_iter()
        .filter_map(|table| CounterTable::try_from(table).ok());
    // Other tables have a day and a small number in the key, too.
    let all = all.filter(|counters| !counters.counters.is_empty());
    let names: Vec<_> = all.map(|counters| counters.table.to_string()).collect();
    Ok(match names.as_slice() {
        [] => "this database has no counter table: `diesel-counters generate migration` prints one"
            .to_owned(),
        [one] => format!("the counter table is {one}"),
        names => format!("the counter tables are {}", names.join(", ")),
    })
}
