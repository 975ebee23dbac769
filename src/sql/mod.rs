//! A statement as a value: SQL with names and bind values in it.
//!
//! SQL itself is a `&'static str`, so that no name and no value can become SQL.

pub(crate) mod backend;
mod key;
mod lock;
pub(crate) mod rows;
mod slot;
pub(crate) mod sum;
pub(crate) mod transaction;
mod upsert;

use std::cell::{Cell, OnceCell};
use std::ops::Range;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::connection::{Connection, LoadConnection};
use diesel::deserialize;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::result::Error;
use diesel::sql_types::Untyped;

use crate::day::Day;
use crate::error::not_written;
use crate::shape::{Name, TableName};

pub(crate) use backend::{Bind, Binds};
pub use backend::{CounterBackend, Dialect};
pub(crate) use key::Keys;
pub use key::{One, Values};
pub(crate) use rows::NUMBER;

/// `sql!("DELETE FROM {table} WHERE {day} < {before}")`, where each of `table`, `day` and `before` is a
/// [`Part`].
pub(crate) use diesel_counters_derive::sql;

/// SQL for the backend `DB`. It borrows its names and its values.
#[allow(missing_debug_implementations)] // No user can name it.
pub struct Sql<'a, DB: Backend>(Vec<Piece<'a, DB>>);

enum Piece<'a, DB: Backend> {
    Text(&'static str),
    Name(&'a str),
    Number(usize),
    Bind(Bind<'a>),
    /// A column of a row.
    Value(&'a dyn Values<DB>, usize, usize),
    /// A column of these rows.
    Array(&'a dyn Values<DB>, usize, usize, usize),
    Fragment(&'a dyn QueryFragment<DB>),
    Uncached,
}

impl<DB: Backend> Clone for Piece<'_, DB> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<DB: Backend> Copy for Piece<'_, DB> {}

/// A part of [`Sql`], also by reference. A text is SQL, and a reference to a number or a day is a bind
/// value.
pub(crate) trait Part<'a, DB: Backend> {
    fn push_part(&self, sql: &mut Sql<'a, DB>);
}

/// The statement is prepared each time: there are many such texts, or it must not be prepared twice.
pub(crate) struct Uncached;

/// A number that is written as SQL.
pub(crate) struct Number(pub(crate) usize);

macro_rules! parts {
    ($($Part:ty: $part:pat => $piece:expr;)*) => {$(
        impl<'a, DB: Backend> Part<'a, DB> for $Part {
            fn push_part(&self, sql: &mut Sql<'a, DB>) {
                let $part = self;
                sql.0.push($piece);
            }
        }
    )*};
}

parts! {
    &'static str: text => Piece::Text(text);
    Name<'a>: name => Piece::Name(name.0);
    Number: number => Piece::Number(number.0);
    Bind<'a>: value => Piece::Bind(*value);
    &'a Day: day => Piece::Bind(Bind::Day(day));
    &'a NaiveDate: day => Piece::Bind(Bind::StoredDay(day));
    &'a i16: slot => Piece::Bind(Bind::Slot(slot));
    &'a i64: amount => Piece::Bind(Bind::Amount(amount));
    Uncached: _ => Piece::Uncached;
}

impl<'a, DB: Backend> Part<'a, DB> for TableName<'a> {
    fn push_part(&self, sql: &mut Sql<'a, DB>) {
        if let Some(schema) = self.schema {
            schema.push_part(sql);
            ".".push_part(sql);
        }
        self.name.push_part(sql);
    }
}

impl<'a, DB: Backend> Part<'a, DB> for Sql<'a, DB> {
    fn push_part(&self, sql: &mut Sql<'a, DB>) {
        sql.0.extend_from_slice(&self.0);
    }
}

/// Nothing, if there is none.
impl<'a, DB: Backend> Part<'a, DB> for Option<Sql<'a, DB>> {
    fn push_part(&self, sql: &mut Sql<'a, DB>) {
        self.iter().for_each(|part| part.push_part(sql));
    }
}

/// `a, b, c`
impl<'a, DB: Backend, P: Part<'a, DB>> Part<'a, DB> for [P] {
    fn push_part(&self, sql: &mut Sql<'a, DB>) {
        for (i, part) in self.iter().enumerate() {
            if i > 0 {
                ", ".push_part(sql);
            }
            part.push_part(sql);
        }
    }
}

/// These parts, with a text between them.
pub(crate) fn list<'a, DB: Backend>(
    separator: &'static str,
    parts: impl IntoIterator<Item: Part<'a, DB>>,
) -> Sql<'a, DB> {
    let mut sql = Sql::default();
    for (i, part) in parts.into_iter().enumerate() {
        if i > 0 {
            separator.push_part(&mut sql);
        }
        part.push_part(&mut sql);
    }
    sql
}

/// ` WHERE a AND b`, or nothing if there is no condition.
pub(crate) fn where_all<'a, DB: Backend>(
    conditions: impl IntoIterator<Item = Option<Sql<'a, DB>>>,
) -> Option<Sql<'a, DB>> {
    let all = list(" AND ", conditions.into_iter().flatten());
    (!all.0.is_empty()).then(|| sql!(" WHERE {all}"))
}

/// ` AND a`, or nothing if there is no condition.
pub(crate) fn and<DB: Backend>(condition: Option<Sql<'_, DB>>) -> Option<Sql<'_, DB>> {
    condition.map(|condition| sql!(" AND {condition}"))
}

/// `a AS b, c AS d`, to the end of the shorter list.
pub(crate) fn named<'a, DB: Backend>(
    columns: impl IntoIterator<Item: Part<'a, DB>>,
    names: &[impl Part<'a, DB>],
) -> Sql<'a, DB> {
    let columns = columns.into_iter().zip(names);
    let named = columns.map(|(column, name)| sql!("{column} AS {*name}"));
    list(", ", named)
}

/// SQL that writes itself.
pub(crate) fn fragment<'a, DB: Backend>(fragment: &'a dyn QueryFragment<DB>) -> Sql<'a, DB> {
    Sql(vec![Piece::Fragment(fragment)])
}

/// The values of a row: `?, ?`.
pub(crate) fn row<DB: Backend>(values: &dyn Values<DB>, row: usize) -> Vec<Sql<'_, DB>> {
    let columns = 0..values.columns();
    let value = |column| Sql(vec![Piece::Value(values, column, row)]);
    columns.map(value).collect()
}

/// The values of rows, an array for each column.
pub(crate) fn arrays<DB: Backend>(values: &dyn Values<DB>, rows: Range<usize>) -> Vec<Sql<'_, DB>> {
    let columns = 0..values.columns();
    let array = |column| Sql(vec![Piece::Array(values, column, rows.start, rows.end)]);
    columns.map(array).collect()
}

impl<DB: Backend> Default for Sql<'_, DB> {
    fn default() -> Self {
        // The pieces of most parts, in less than 1 KiB: a statement is made of many parts.
        Sql(Vec::with_capacity(21))
    }
}

impl<'a, DB: CounterBackend> Sql<'a, DB> {
    pub(crate) fn walk<'b>(&self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()>
    where
        'a: 'b,
    {
        for piece in &self.0 {
            match *piece {
                Piece::Text(text) => out.push_sql(text),
                Piece::Name(name) => out.push_identifier(name)?,
                Piece::Number(number) => out.push_sql(&number.to_string()),
                Piece::Bind(value) => DB::push_bind(value, &mut out)?,
                Piece::Value(values, column, row) => values.push(column, row, &mut out)?,
                Piece::Array(values, column, first, end) => {
                    values.push_array(column, first..end, &mut out)?;
                }
                Piece::Fragment(fragment) => fragment.walk_ast(out.reborrow())?,
                Piece::Uncached => out.unsafe_to_cache_prepared(),
            }
        }
        Ok(())
    }
}

/// SQL that is made when the database is known: a `MultiConnection` knows it only then. Diesel caches
/// the statement by its text.
struct Statement<'a, DB: Backend, S> {
    make: S,
    sql: OnceCell<Sql<'a, DB>>,
}

impl<'a, DB, S> QueryFragment<DB> for Statement<'a, DB, S>
where
    DB: CounterBackend,
    S: Fn(Dialect) -> Sql<'a, DB>,
{
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let db = Dialect::of(&out);
        self.sql.get_or_init(|| (self.make)(db)).walk(out)
    }
}

impl<DB: Backend, S> QueryId for Statement<'_, DB, S> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB: Backend, S> Query for Statement<'_, DB, S> {
    type SqlType = Untyped;
}

/// Runs a statement, which `make` makes for the database. Returns the number of rows that it changed.
pub(crate) fn execute<'a, Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    make: impl Fn(Dialect) -> Sql<'a, Conn::Backend>,
) -> QueryResult<usize> {
    let sql = OnceCell::new();
    ExecuteDsl::execute(Statement { make, sql }, conn)
}

/// Runs a statement that writes this number of rows of a table. It is an error if the database reports
/// fewer: a trigger of PostgreSQL or SQLite can skip a row. MySQL and MariaDB have no such triggers, and
/// report other numbers.
pub(crate) fn write<'a, Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    table: &str,
    rows: usize,
    make: impl Fn(Dialect) -> Sql<'a, Conn::Backend>,
) -> QueryResult<()> {
    let reports_rows = Cell::new(false);
    let written = execute(conn, |db| {
        reports_rows.set(db != Dialect::MySql);
        make(db)
    })?;
    if reports_rows.get() && written < rows {
        return not_written(table);
    }
    Ok(())
}

/// Runs a query, which `make` makes for the database. Returns what `read` reads of each row.
pub(crate) fn load<'c, 'a, T, Conn: LoadConnection<Backend: CounterBackend>>(
    conn: &'c mut Conn,
    make: impl Fn(Dialect) -> Sql<'a, Conn::Backend> + 'a,
    mut read: impl FnMut(&Conn::Row<'c, 'a>) -> deserialize::Result<T>,
) -> QueryResult<Vec<T>> {
    let sql = OnceCell::new();
    let rows = LoadConnection::load(conn, Statement { make, sql })?;
    rows.map(|row| read(&row?).map_err(Error::DeserializationError))
        .collect()
}

/// Names that differ in their last characters.
macro_rules! numbered {
    ($Name:path, $name:literal: $($end:literal)*) => { [$($Name(concat!($name, $end))),*] };
}
pub(crate) use numbered;

/// The names of the columns of an entity's key in a query.
pub(crate) const ENTITY: [Name<'static>; 5] =
    numbered!(Name, "diesel_counters_entity": "" "_1" "_2" "_3" "_4");

/// Runs a query of one number.
pub(crate) fn load_number<'a, Conn: LoadConnection<Backend: CounterBackend>>(
    conn: &mut Conn,
    make: impl Fn(Dialect) -> Sql<'a, Conn::Backend> + 'a,
) -> QueryResult<i64> {
    let numbers = load(conn, make, |row| Conn::Backend::amount(row, 0))?;
    numbers.into_iter().next().ok_or(Error::NotFound)
}
