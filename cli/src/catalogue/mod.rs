//! Tables, as the database's own catalogue describes them: one file a database.

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

fn of(database: Database) -> &'static Catalogue {
    match database {
        POSTGRES => &postgres::CATALOGUE,
        MYSQL => &mysql::CATALOGUE,
        _ => &sqlite::CATALOGUE,
    }
}

/// All tables but the database's own.
pub fn tables(conn: &mut AnyConnection) -> Result<Vec<Table>> {
    of(conn.database()).tables(None, conn)
}

/// The table of a name. Some databases have tables whose names differ in case only.
fn named(named: Named<'_>, conn: &mut AnyConnection) -> Result<Option<Table>> {
    let tables = of(conn.database()).tables(Some(named), conn)?;
    let exact = tables.iter().position(|table| table.name == named.name);
    Ok(tables.into_iter().nth(exact.unwrap_or(0)))
}

/// The table that a foreign key refers to, if the user may see it.
pub fn parent(parent: &Parent, conn: &mut AnyConnection) -> Result<Option<Table>> {
    let name = Named {
        schema: Some(&parent.in_schema),
        name: &parent.table,
    };
    named(name, conn)
}

/// The table of this name, which may be `schema.table`. A view is not one. The error names the
/// counter tables.
pub fn table(conn: &mut AnyConnection, name: &str) -> Result<Table> {
    // The whole name first: a table's own name can have a point.
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

/// The table whose name is like a mistyped one, as clap decides it for options.
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

/// `its counter tables are a, b`
pub fn which_there_are(conn: &mut AnyConnection) -> Result<String> {
    let names = tables(conn)?
        .into_iter()
        .filter_map(|table| CounterTable::try_from(table).ok())
        // Other tables have a day and a small number in the key, too.
        .filter(|counters| !counters.counters.is_empty())
        .map(|counters| counters.table.to_string())
        .joined(", ");
    Ok(match &*names {
        "" => "this database has no counter table: `diesel-counters generate migration` prints one"
            .to_owned(),
        names => format!("its counter tables are {names}"),
    })
}
