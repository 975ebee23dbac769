//! Tables as the database's own catalogue describes them. There is a file per database.

mod checks;
mod counter_table;
mod mark;
mod mysql;
mod names;
mod postgres;
mod rows;
mod sqlite;
mod table;

use anyhow::{Result, bail};

pub use checks::checks;
pub use counter_table::{CounterTable, MAX_COLUMNS, is_meant_to_count, is_zero};
pub use mark::{Mark, statement_of};
pub use table::{Column, Index, Kind, Parent, Table, WideForeignKey};

use crate::connection::AnyConnection;
use crate::database::{Database, Joined, MYSQL, POSTGRES};
use rows::Catalogue;
use table::Named;

fn catalogue(database: Database) -> &'static Catalogue {
    match database {
        POSTGRES => &postgres::CATALOGUE,
        MYSQL => &mysql::CATALOGUE,
        _ => &sqlite::CATALOGUE,
    }
}

/// Returns all tables except the database's own.
pub fn tables(conn: &mut AnyConnection) -> Result<Vec<Table>> {
    catalogue(conn.database()).tables(None, conn)
}

/// Returns the table with this name. Some databases can have several whose names differ only in
/// case.
fn named(named: Named<'_>, conn: &mut AnyConnection) -> Result<Option<Table>> {
    let tables = catalogue(conn.database()).tables(Some(named), conn)?;
    let exact = tables.iter().position(|table| table.name == named.name);
    Ok(tables.into_iter().nth(exact.unwrap_or(0)))
}

/// Returns the table that a foreign key refers to, if the user may see it.
pub fn parent(parent: &Parent, conn: &mut AnyConnection) -> Result<Option<Table>> {
    let name = Named {
        schema: Some(&parent.in_schema),
        name: &parent.table,
    };
    named(name, conn)
}

/// Returns the table with this name, which may be `schema.table`. Fails if it's a view, or if there
/// is none: the error then names the counter tables.
pub fn table(conn: &mut AnyConnection, name: &str) -> Result<Table> {
    // Try the whole name first: a table's own name may have a dot in it.
    let without_schema = Named { schema: None, name };
    if let Some(table) = named(without_schema, conn)? {
        return Ok(table);
    }
    if let Some((schema, name)) = name.rsplit_once('.') {
        let with_schema = Named {
            schema: Some(schema),
            name,
        };
        if let Some(table) = named(with_schema, conn)? {
            return Ok(table);
        }
    }
    let tables = which_there_are(conn)?;
    if name.trim().is_empty() {
        bail!("the name of a table is empty; {tables}");
    }
    let nearest = nearest(name, conn)?;
    let did_you_mean = nearest.map(|nearest| format!(" (did you mean {nearest}?)"));
    let did_you_mean = did_you_mean.unwrap_or_default();
    bail!("there is no ordinary table {name}{did_you_mean}; {tables}")
}

/// Returns the table whose name is most like a mistyped one, by the same measure that clap uses for
/// options.
fn nearest(mistyped: &str, conn: &mut AnyConnection) -> Result<Option<String>> {
    const LIKE: f64 = 0.8;
    let names = tables(conn)?.into_iter().map(|table| table.to_string());
    let like = names.map(|name| (strsim::jaro_winkler(mistyped, &name), name));
    let nearest = like.max_by(|(one, _), (other, _)| one.total_cmp(other));
    Ok(nearest
        .filter(|(like, _)| *like > LIKE)
        .map(|(_, name)| name))
}

pub fn counter_table(conn: &mut AnyConnection, name: &str) -> Result<CounterTable> {
    match CounterTable::try_from(table(conn, name)?) {
        Ok(table) => Ok(table),
        Err(table) => bail!(
            "{table} is not a counter table: its primary key is not (entity, day DATE, slot \
             SMALLINT), with up to five columns for the entity, or (day, slot). `diesel-counters \
             check {table}` says what is wrong with it; {}",
            which_there_are(conn)?
        ),
    }
}

/// Returns `its counter tables are a, b`.
pub fn which_there_are(conn: &mut AnyConnection) -> Result<String> {
    let names = tables(conn)?
        .into_iter()
        .filter_map(|table| CounterTable::try_from(table).ok())
        // Other tables can also have a day and a small number in their key.
        .filter(|counters| !counters.counters.is_empty())
        .map(|counters| counters.table.to_string())
        .joined(", ");
    Ok(match &*names {
        "" => "this database has no counter table: `diesel-counters generate migration` prints one"
            .to_owned(),
        names => format!("its counter tables are {names}"),
    })
}
