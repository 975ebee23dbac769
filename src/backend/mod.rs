//! The parts that differ by database: the SQL, and how a statement takes many rows.
//!
//! To add a database, change this folder only.

pub(crate) mod bind;
mod listed_rows;
mod sql;
pub(crate) mod stored_key;
#[cfg(feature = "postgres")]
mod unnested_rows;

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment};

use std::ops::Range;

use crate::day::Day;
use crate::key::BindColumns;
use crate::slot::SlotRange;

pub(crate) use bind::{Bind, Binds};
pub use sql::MysqlName;
pub(crate) use sql::{NUMBER, SUM, numbered, push_compare, push_is_wanted, push_names};
pub(crate) use stored_key::is_exact;
pub use stored_key::{StoredKey, StoredKeys};

/// A Diesel backend that counters support.
///
/// It is implemented for Diesel's `Pg`, `Mysql` and `Sqlite`, with the features `postgres`, `mysql`
/// and `sqlite`. For a [`MultiConnection`], write [`counter_backend!`](crate::counter_backend).
///
/// [`MultiConnection`]: diesel::MultiConnection
#[diagnostic::on_unimplemented(
    message = "diesel_counters does not support the backend `{Self}`",
    label = "enable a feature of diesel_counters: `postgres`, `mysql` or `sqlite`",
    note = "for a `#[derive(MultiConnection)]`, write `diesel_counters::counter_backend!(MultiBackend {{ … }});`"
)]
pub trait CounterBackend: Binds {
    /// How a statement takes many rows.
    #[doc(hidden)]
    type ManyRows: WalkRows<Self>;

    /// The only [`dialect`](CounterBackend::dialect), if there is one.
    #[doc(hidden)]
    const DIALECT: Option<Dialect> = None;

    /// Returns the SQL dialect of the backend.
    fn dialect(&self) -> Dialect;
}

/// Implements [`CounterBackend`] for the backend of a [`MultiConnection`]. Give the [`Dialect`] of each
/// variant. If a variant has a `#[cfg(…)]`, write the same one before it.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # mod connection {
/// # use diesel::SqliteConnection;
/// #[derive(diesel::MultiConnection)]
/// pub enum AnyConnection {
///     Sqlite(SqliteConnection),
///     // Postgres(PgConnection),
///     // Mysql(MysqlConnection),
/// }
///
/// diesel_counters::counter_backend!(MultiBackend {
///     Sqlite: Sqlite,
///     // Postgres: PostgreSql,
///     // Mysql: MySql,
/// });
/// # }
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut connection::AnyConnection::Sqlite(establish_connection());
/// # let article: Article = articles::table.find(1).first(conn)?;
/// article.incr_counter(article_counters::views, conn)?;
/// # assert_eq!(article.counter_value(article_counters::views, conn)?, 1);
/// # Ok(())
/// # }
/// ```
///
/// [`MultiConnection`]: diesel::MultiConnection
#[macro_export]
macro_rules! counter_backend {
    ($Backend:ident { $($(#[$attribute:meta])* $Variant:ident: $Dialect:ident),+ $(,)? }) => {
        impl $crate::CounterBackend for $Backend {
            type ManyRows = $crate::__private::ListedRows;

            fn dialect(&self) -> $crate::Dialect {
                match self {
                    $($(#[$attribute])* $Backend::$Variant(_) => $crate::Dialect::$Dialect,)+
                }
            }
        }
    };
}

/// How a statement takes many rows on the connection `Conn`.
pub(crate) type ManyRows<Conn> =
    <<Conn as diesel::connection::Connection>::Backend as CounterBackend>::ManyRows;

/// Many rows as a list: `VALUES (…), (…)`. Every database supports it. Statements have a few sizes
/// only, so that each is prepared once.
#[derive(Debug, Clone, Copy)]
pub struct ListedRows;

/// Many rows as arrays: `unnest(…)`, on PostgreSQL only. One statement takes any number of rows.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone, Copy)]
pub struct UnnestedRows;

/// The SQL dialect of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// PostgreSQL.
    PostgreSql,
    /// MySQL 8.0 and later, MariaDB 10.6 and later.
    MySql,
    /// SQLite 3.35 and later.
    Sqlite,
}

#[cfg(feature = "postgres")]
impl CounterBackend for diesel::pg::Pg {
    type ManyRows = UnnestedRows;
    const DIALECT: Option<Dialect> = Some(Dialect::PostgreSql);

    fn dialect(&self) -> Dialect {
        Dialect::PostgreSql
    }
}

#[cfg(feature = "mysql")]
impl CounterBackend for diesel::mysql::Mysql {
    type ManyRows = ListedRows;
    const DIALECT: Option<Dialect> = Some(Dialect::MySql);

    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }
}

#[cfg(feature = "sqlite")]
impl CounterBackend for diesel::sqlite::Sqlite {
    type ManyRows = ListedRows;
    const DIALECT: Option<Dialect> = Some(Dialect::Sqlite);

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
}

impl Dialect {
    /// Whether a connection to the backend `DB` can have this dialect.
    pub(crate) fn may_be_of<DB: CounterBackend>(self) -> bool {
        DB::DIALECT.is_none_or(|dialect| dialect == self)
    }

    /// Returns the dialect of the backend that `out` writes for.
    pub(crate) fn of<DB: CounterBackend>(out: &AstPass<'_, '_, DB>) -> Self {
        out.backend().dialect()
    }
}

/// How a statement of the backend `DB` takes many rows and many keys.
pub trait WalkRows<DB: Backend> {
    /// The greatest number of keys to compare columns with.
    const LIMIT: usize;
    /// The greatest number of keys that are numbered.
    const NUMBERED_LIMIT: usize;
    /// The number of keys to list in place of `number`, so that few texts are prepared.
    fn padded(number: usize, limit: usize) -> usize;
    /// The number of rows in the next statement, of `rows` that are left.
    fn added(rows: usize) -> usize;

    /// Writes a condition: the columns `key` are one of the first `rows` keys of `columns`.
    fn walk_in<'b, C: BindColumns<DB>>(
        key: &[&str],
        columns: &'b C,
        rows: usize,
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>;

    /// Writes ` FROM` these keys and their numbers from 1. `key` are their columns in `table`.
    fn walk_from_numbered<'b, T, C>(
        key: &[&str],
        table: &'b T,
        columns: &'b C,
        rows: usize,
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        T: QueryFragment<DB>,
        C: BindColumns<DB>;

    /// Writes a join of the numbered keys to the counter table, where its columns `key` are the key.
    fn walk_join_numbered<'b, T, C>(
        key: &[&str],
        table: &'b T,
        _columns: &'b C,
        _rows: usize,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: CounterBackend,
        T: QueryFragment<DB>,
        C: BindColumns<DB>,
    {
        Dialect::of(&out).push_join_numbered(table, key, &mut out)
    }

    /// Writes the days as an array, or, if there is one, as a value.
    fn walk_days<'b>(days: &'b [Day], out: AstPass<'_, 'b, DB>) -> QueryResult<()>;

    /// Writes what follows `INSERT INTO` a table and ` (`: the columns, and the rows.
    fn walk_added<'b, C: BindColumns<DB>>(
        rows: &AddedRows<'b, C>,
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>;
}

/// How a statement of the backend `DB` takes values `K` of a key's column, whose SQL type is `ST`.
pub trait BindColumn<ST, K, DB: Backend> {
    /// Writes the values as an array, or, if there is one, as a value.
    fn walk_values<'b>(values: &'b [K], out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// Rows that a statement adds.
#[derive(Debug)]
pub struct AddedRows<'a, Columns> {
    /// The names of the columns of the primary key.
    pub(crate) key: &'a [&'a str],
    pub(crate) counters: &'a [&'a str],
    pub(crate) slots: &'a SlotRange,
    /// The keys, with their days, and the amounts of more rows than these.
    pub(crate) columns: &'a Columns,
    pub(crate) amounts: &'a [Vec<i64>],
    /// The numbers of these rows.
    pub(crate) rows: Range<usize>,
}
