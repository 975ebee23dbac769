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
pub use mark::{Mark, mark_statement};
pub use table::{Column, Index, Kind, Parent, Table, WideForeignKey};

use crate::connection::AnyConnection;
use crate::database::{Database, Joined, MYSQL, POSTGRES};
use rows::Catalogue;
use table::Named;

/// Returns the queries that read the catalogue of a database.
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

/// Returns the table with this name. If the database ignores case and finds several, this prefers
/// the one whose name has the same case.
fn find_table(name: Named<'_>, conn: &mut AnyConnection) -> Result<Option<Table>> {
    let found = catalogue(conn.database()).tables(Some(name), conn)?;
    let same_case = found.iter().find(|table| table.name == name.name);
    Ok(same_case.or(found.first()).cloned())
}

/// Returns the table that a foreign key refers to, if the user may see it.
pub fn parent(parent: &Parent, conn: &mut AnyConnection) -> Result<Option<Table>> {
    let name = Named {
        schema: Some(&parent.in_schema),
        name: &parent.table,
    };
    find_table(name, conn)
}

/// Returns the table with this name, which may be `schema.table`. Fails if it's a view, or if there
/// is none: the error then names the counter tables.
pub fn table(conn: &mut AnyConnection, name: &str) -> Result<Table> {
    // Try the whole name first: a table's own name may have a dot in it.
    let without_schema = Named { schema: None, name };
    if let Some(table) = find_table(without_schema, conn)? {
        return Ok(table);
    }
    if let Some((schema, name)) = name.rsplit_once('.') {
        let with_schema = Named {
            schema: Some(schema),
            name,
        };
        if let Some(table) = find_table(with_schema, conn)? {
            return Ok(table);
        }
    }
    let tables = counter_tables_hint(conn)?;
    if name.trim().is_empty() {
        bail!("the name of a table is empty; {tables}");
    }
    let all: Vec<String> = self::tables(conn)?.iter().map(Table::to_string).collect();
    let did_you_mean = did_you_mean(name, all.iter().map(String::as_str));
    bail!("there is no ordinary table {name}{did_you_mean}; {tables}")
}

/// Returns ` (did you mean articles?)`, with the name that is most like the mistyped one, or an
/// empty text if none is. The measure is the one that clap uses for options.
fn did_you_mean<'n>(mistyped: &str, names: impl Iterator<Item = &'n str>) -> String {
    const MINIMUM: f64 = 0.8;
    let likeness = |name: &&str| strsim::jaro_winkler(mistyped, name);
    let similar = names.filter(|name| likeness(name) > MINIMUM);
    match similar.max_by(|one, other| likeness(one).total_cmp(&likeness(other))) {
        Some(nearest) => format!(" (did you mean {nearest}?)"),
        None => String::new(),
    }
}

/// Returns the counter table with this name. Fails if the table isn't a counter table.
pub fn counter_table(conn: &mut AnyConnection, name: &str) -> Result<CounterTable> {
    match CounterTable::try_from(table(conn, name)?) {
        Ok(table) => Ok(table),
        Err(table) => bail!(
            "{table} is not a counter table: its primary key is not (entity, day DATE, slot \
             SMALLINT), with up to five columns for the entity, or (day, slot). `diesel-counters \
             check {table}` says what is wrong with it; {}",
            counter_tables_hint(conn)?
        ),
    }
}

/// Returns the end of an error message: `its counter tables are a, b`.
pub fn counter_tables_hint(conn: &mut AnyConnection) -> Result<String> {
    let tables = tables(conn)?.into_iter();
    let like_counter_tables = tables.filter_map(|table| CounterTable::try_from(table).ok());
    // Other tables can also have a day and a small number in their key.
    let counter_tables = like_counter_tables.filter(|table| !table.counters.is_empty());
    let names = counter_tables.map(|CounterTable { table, .. }| table.to_string());
    Ok(match &*names.joined(", ") {
        "" => "this database has no counter table: `diesel-counters generate migration` prints one"
            .to_owned(),
        names => format!("its counter tables are {names}"),
    })
}
