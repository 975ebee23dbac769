//! The tables that there are, as the database's own catalogue describes them.

mod counter_table;
mod indexes;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod rows;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::fmt;

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use crate::connection::AnyConnection;
use crate::sql::quoted;

pub use counter_table::CounterTable;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// None where the table is found without it.
    pub schema: Option<String>,
    /// The schema that it is in, also where it is found without. MySQL's are its databases.
    pub in_schema: String,
    pub name: String,
    pub columns: Vec<Column>,
    /// The names of its columns, in the key's order.
    pub primary_key: Vec<String>,
    /// All of them, with the primary key's.
    pub indexes: Vec<Index>,
    /// SQLite's `CREATE TABLE`, which alone has its checks.
    pub definition: Option<String>,
    /// One of SQLite's `STRICT` tables, which have no DATE, SMALLINT or BIGINT.
    pub strict: bool,
    /// Of PostgreSQL, and divided into others.
    pub partitioned: bool,
    /// `UNLOGGED` on PostgreSQL, and on MySQL an engine that has no transactions.
    pub unsafe_storage: Option<String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// As the database says it.
    pub sql_type: String,
    pub kind: Kind,
    pub nullable: bool,
    /// As the database says it; none also where it is NULL.
    pub default: Option<String>,
    pub auto_increment: bool,
    /// Computed from the others by the database, so that nobody can write it.
    pub generated: bool,
    /// Its collation, where that takes different texts for the same: 'Foo' for 'foo', or on MySQL
    /// 'foo ' for 'foo'.
    pub loose_collation: Option<String>,
    /// By a foreign key of this column alone.
    pub refers_to: Option<Parent>,
}

/// A column of another table, which a foreign key refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parent {
    pub in_schema: String,
    pub table: String,
    pub column: String,
    /// `ON DELETE CASCADE`.
    pub cascades: bool,
}

/// The types that are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    SmallInt,
    Integer,
    BigInt,
    Text,
    Binary,
    /// On SQLite these are bytes.
    Uuid,
    Date,
    /// Floating point of any size.
    Real,
    Other,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Index {
    pub name: String,
    /// An expression stands here as it is written.
    pub columns: Vec<String>,
    /// What it holds besides, with PostgreSQL's `INCLUDE`.
    pub included: Vec<String>,
    pub unique: bool,
    /// It holds for all rows, and at once: it is not partial, not half made, not deferrable.
    /// PostgreSQL's and SQLite's ON CONFLICT take no other.
    pub whole: bool,
    pub primary: bool,
    /// A `UNIQUE` or `PRIMARY KEY` made it, and only its removal removes the index.
    pub of_constraint: bool,
}

/// All tables of the database that are not its own, by name.
pub fn tables(conn: &mut AnyConnection) -> Result<Vec<Table>> {
    load(conn, None)
}

/// The table of this name, which may be `schema.table`.
///
/// # Errors
///
/// Where there is none; it names the counter tables that there are.
pub fn table(conn: &mut AnyConnection, name: &str) -> Result<Table> {
    if let Some(table) = named(load(conn, Some((None, name)))?, name) {
        return Ok(table);
    }
    if let Some((schema, name)) = name.split_once('.') {
        if let Some(table) = named(load(conn, Some((Some(schema), name)))?, name) {
            return Ok(table);
        }
    }
    bail!("there is no table {name}; {}", which_there_are(conn)?)
}

/// The table that a foreign key refers to, where the account may see it.
pub fn parent_table(conn: &mut AnyConnection, parent: &Parent) -> Result<Option<Table>> {
    let tables = load(conn, Some((Some(&parent.in_schema), &parent.table)))?;
    Ok(named(tables, &parent.table))
}

/// Some databases have tables that differ in the case of their letters only.
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
/// Where there is none; it names the counter tables that there are.
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
pub fn which_there_are(conn: &mut AnyConnection) -> Result<String> {
    let names: Vec<_> = counter_tables(conn)?
        .iter()
        // A day and a small number are in the key of other tables too.
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

/// A table's schema, where that is known, and its name.
type Named<'n> = (Option<&'n str>, &'n str);

fn load(conn: &mut AnyConnection, only: Option<Named<'_>>) -> Result<Vec<Table>> {
    match conn.dialect() {
        #[cfg(feature = "sqlite")]
        Dialect::Sqlite => sqlite::load(conn, only),
        #[cfg(feature = "postgres")]
        Dialect::PostgreSql => postgres::load(conn, only),
        #[cfg(feature = "mysql")]
        Dialect::MySql => mysql::load(conn, only),
        #[allow(unreachable_patterns, reason = "not of a build with all databases")]
        _ => Ok(Vec::new()),
    }
}

impl Table {
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Its name in SQL, with its schema where it has one.
    pub fn sql_name(&self, dialect: Dialect) -> String {
        let name = quoted(dialect, &self.name);
        match &self.schema {
            Some(schema) => format!("{}.{name}", quoted(dialect, schema)),
            None => name,
        }
    }
}

/// As it is named on the command line.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}
