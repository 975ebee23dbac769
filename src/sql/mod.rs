//! A statement as a value: SQL with names and bind values in it.
//!
//! The SQL itself is a `&'static str`, so that no name or value can become SQL.

pub(crate) mod backend;
mod lock;
mod part;
pub(crate) mod rows;
mod slot;
pub(crate) mod sum;
pub(crate) mod transaction;
mod upsert;
mod values;

use std::cell::{Cell, OnceCell};
use std::ops::Range;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::connection::{Connection, LoadConnection};
use diesel::deserialize;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::query_dsl::methods::ExecuteDsl;
use diesel::result::Error;
use diesel::sql_types::Untyped;

use crate::error::not_written;
use crate::shape::Name;

pub(crate) use backend::{Bind, Binds};
pub use backend::{CounterBackend, Dialect};
use part::Piece;
pub(crate) use part::{Number, Uncached, part_of};
pub use part::{Out, Part};
pub(crate) use rows::NUMBER;
pub(crate) use upsert::STORED;
pub use values::Values;

/// Makes a list, a [`Sql`], from a template: `sql!("DELETE FROM {table} WHERE {day} < {before}")`,
/// where `table`, `day` and `before` are [`Part`]s. Use it if the parts are only known when the
/// statement runs.
pub(crate) use diesel_counters_derive::sql;

/// Makes a [`Part`] from a template like that of [`sql!`]. It keeps nothing but what it captures.
/// Use it for the statements that run most: Diesel walks a statement two or three times per run,
/// and making a list costs more than the walks.
///
/// There are two macros because a list owns its parts and can be returned from anywhere, which a
/// statement with many cases needs. A part has a type of its own, so `part!(match …)` takes a
/// template in every arm and is still one part. What stands in braces is evaluated on every walk:
/// if it's random or expensive, evaluate it before.
pub(crate) use diesel_counters_derive::part;

/// SQL for the backend `DB`, as a list that borrows its names and its values.
#[allow(missing_debug_implementations)] // No user can name it.
pub struct Sql<'a, DB: Backend>(Vec<Piece<'a, DB>>);

impl<'a, DB: CounterBackend> Sql<'a, DB> {
    /// Returns a list of the pieces that `write` writes.
    pub(crate) fn from_write(write: impl FnOnce(&mut Out<'_, 'a, DB>)) -> Self {
        // This is enough for most lists, and is less than 1 KiB. A statement is made of many lists.
        let mut pieces = Vec::with_capacity(21);
        write(&mut Out::List(&mut pieces));
        Sql(pieces)
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The part that `part` returns for every item and its index, with `separator` between them.
pub(crate) fn each<'a, 's, DB: CounterBackend, T, P: Part<'a, DB>>(
    separator: &'static str,
    items: &'s [T],
    part: impl Fn(usize, &'s T) -> P + Copy,
) -> impl Part<'a, DB> + Copy {
    part_of(move |out| {
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                separator.write(out);
            }
            part(i, item).write(out);
        }
    })
}

/// These parts, with `separator` between them.
pub(crate) fn list<'a, DB: CounterBackend>(
    separator: &'static str,
    parts: impl IntoIterator<Item: Part<'a, DB>>,
) -> Sql<'a, DB> {
    Sql::from_write(|out| {
        for (i, part) in parts.into_iter().enumerate() {
            if i > 0 {
                separator.write(out);
            }
            part.write(out);
        }
    })
}

/// ` WHERE a AND b`, or nothing if there is no condition.
pub(crate) fn where_both<'a, DB: CounterBackend>(
    a: Option<impl Part<'a, DB> + Copy>,
    b: Option<impl Part<'a, DB> + Copy>,
) -> impl Part<'a, DB> + Copy {
    part!(match (a, b) {
        (Some(a), Some(b)) => " WHERE {a} AND {b}",
        (Some(a), None) => " WHERE {a}",
        (None, Some(b)) => " WHERE {b}",
        (None, None) => "",
    })
}

/// ` WHERE a AND b AND c`, with all these conditions, or nothing if there are none.
pub(crate) fn where_all<'a, DB: CounterBackend>(
    conditions: impl IntoIterator<Item = Option<Sql<'a, DB>>>,
) -> Option<Sql<'a, DB>> {
    let all = list(" AND ", conditions.into_iter().flatten());
    let has_conditions = !all.is_empty();
    has_conditions.then(|| sql!(" WHERE {all}"))
}

/// ` AND ` and the condition, or nothing if there is no condition.
pub(crate) fn and<'a, DB: CounterBackend>(
    condition: Option<impl Part<'a, DB>>,
) -> Option<Sql<'a, DB>> {
    condition.map(|condition| sql!(" AND {condition}"))
}

/// `column AS name, column AS name`, to the end of the shorter list.
pub(crate) fn aliased<'a, DB: CounterBackend>(
    columns: impl IntoIterator<Item: Part<'a, DB>>,
    names: &[impl Part<'a, DB>],
) -> Sql<'a, DB> {
    let columns = columns.into_iter().zip(names);
    let named = columns.map(|(column, name)| sql!("{column} AS {*name}"));
    list(", ", named)
}

/// One of Diesel's fragments, which writes its own SQL.
pub(crate) fn fragment<'a, DB: CounterBackend>(fragment: &'a dyn QueryFragment<DB>) -> Sql<'a, DB> {
    Sql(vec![Piece::Fragment(fragment)])
}

/// The value in this column of the row at this index: `?`.
pub(crate) fn value<'a, DB: CounterBackend>(
    values: &'a dyn Values<DB>,
    column: usize,
    row: usize,
) -> impl Part<'a, DB> + Copy {
    part_of(move |out| out.write(Piece::Value(values, column, row)))
}

/// The values of the row at this index, a `?` for each column.
pub(crate) fn row<DB: CounterBackend>(values: &dyn Values<DB>, index: usize) -> Vec<Sql<'_, DB>> {
    let columns = 0..values.columns();
    let value = |column| Sql(vec![Piece::Value(values, column, index)]);
    columns.map(value).collect()
}

/// The value of this column of a key: `?`.
pub(crate) fn key_value<'a, DB: CounterBackend>(
    key: &'a dyn Values<DB>,
    column: usize,
) -> impl Part<'a, DB> + Copy {
    let only_row = 0;
    value(key, column, only_row)
}

/// The values of a key, a `?` for each column.
pub(crate) fn key_values<DB: CounterBackend>(key: &dyn Values<DB>) -> Vec<Sql<'_, DB>> {
    let only_row = 0;
    row(key, only_row)
}

/// The values of these rows, an array for each column.
pub(crate) fn arrays<DB: CounterBackend>(
    values: &dyn Values<DB>,
    rows: Range<usize>,
) -> Vec<Sql<'_, DB>> {
    let columns = 0..values.columns();
    let array = |column| Sql(vec![Piece::Array(values, column, rows.start, rows.end)]);
    columns.map(array).collect()
}

/// SQL that is made once the database is known, which is only when the statement runs on a
/// `MultiConnection`. Diesel caches the statement by its text.
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
        let db = Dialect::from_pass(&out);
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

/// Runs the statement that `make` makes for the database. Returns how many rows it changed.
pub(crate) fn execute<'a, Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    make: impl Fn(Dialect) -> Sql<'a, Conn::Backend>,
) -> QueryResult<usize> {
    let sql = OnceCell::new();
    ExecuteDsl::execute(Statement { make, sql }, conn)
}

/// Runs a statement that writes this number of rows of a table. It's an error if the database
/// reports fewer, because a trigger of PostgreSQL or SQLite can skip a row. MySQL and MariaDB have
/// no such triggers, and report other numbers.
pub(crate) fn write<'a, Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    table: &str,
    rows: usize,
    make: impl Fn(Dialect) -> Sql<'a, Conn::Backend>,
) -> QueryResult<()> {
    let reports_rows = Cell::new(false);
    let written = execute(conn, |db| {
        // On a `MultiConnection`, only the statement knows the database.
        reports_rows.set(db != Dialect::MySql);
        make(db)
    })?;
    if reports_rows.get() && written < rows {
        return not_written(table);
    }
    Ok(())
}

/// Runs the query that `make` makes for the database. Returns what `read` reads from each row.
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

/// Names that begin the same and differ at the end.
macro_rules! numbered {
    ($Name:path, $name:literal: $($end:literal)*) => { [$($Name(concat!($name, $end))),*] };
}
pub(crate) use numbered;

/// The names of the columns of an entity's key in a query.
pub(crate) const ENTITY: [Name<'static>; 5] = numbered!(Name, "entity": "" "_1" "_2" "_3" "_4");

/// Runs a query that returns one number.
pub(crate) fn load_number<'a, Conn: LoadConnection<Backend: CounterBackend>>(
    conn: &mut Conn,
    make: impl Fn(Dialect) -> Sql<'a, Conn::Backend> + 'a,
) -> QueryResult<i64> {
    let column = 0;
    let numbers = load(conn, make, |row| Conn::Backend::amount(row, column))?;
    numbers.into_iter().next().ok_or(Error::NotFound)
}
