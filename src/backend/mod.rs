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

use crate::day::Day;
use crate::slot::SlotRange;

pub(crate) use bind::{Bind, Binds};
pub(crate) use sql::{NUMBER, push_names};
pub use stored_key::StoredKey;
pub(crate) use stored_key::is_exact;

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
    type ManyRows;

    /// Whether [`dialect`](CounterBackend::dialect) can be [`Dialect::MySql`].
    #[doc(hidden)]
    const MAY_BE_MYSQL: bool = true;

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
            type ManyRows = $crate::ListedRows;

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
    const MAY_BE_MYSQL: bool = false;

    fn dialect(&self) -> Dialect {
        Dialect::PostgreSql
    }
}

#[cfg(feature = "mysql")]
impl CounterBackend for diesel::mysql::Mysql {
    type ManyRows = ListedRows;

    fn dialect(&self) -> Dialect {
        Dialect::MySql
    }
}

#[cfg(feature = "sqlite")]
impl CounterBackend for diesel::sqlite::Sqlite {
    type ManyRows = ListedRows;
    const MAY_BE_MYSQL: bool = false;

    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }
}

impl Dialect {
    /// Returns the dialect of the backend that `out` writes for.
    pub(crate) fn of<DB: CounterBackend>(out: &AstPass<'_, '_, DB>) -> Self {
        out.backend().dialect()
    }
}

/// How many rows or keys a statement of this backend has.
pub trait ListRows {
    /// The greatest number of keys to compare a column with.
    const LIMIT: usize;
    /// The greatest number of keys that are numbered.
    const NUMBERED_LIMIT: usize;
    /// How many keys to list in place of `number`, so that few texts are prepared.
    fn padded(number: usize, limit: usize) -> usize;
    /// How many of so many rows the next statement adds.
    fn added(rows: usize) -> usize;
}

/// How rows, and keys `K` of the SQL type `ST`, are written into a statement.
pub trait WalkRows<K, ST, DB: Backend>: ListRows {
    /// Writes what a column is compared with: ` IN (?, ?, …)`.
    fn walk_in<'b>(keys: &'b [K], out: AstPass<'_, 'b, DB>) -> QueryResult<()>;

    /// Writes ` FROM` the keys and their numbers from 1, joined to the counter table where its
    /// column `entity` is the key. Another condition can follow.
    fn walk_from_numbered<'b, T>(
        keys: &'b [K],
        table: &'b T,
        entity: &str,
        out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        T: QueryFragment<DB>;

    /// Writes what follows `INSERT INTO` a table and ` (`: the columns, and the rows.
    fn walk_added<'b>(rows: &AddedRows<'b, K>, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// Rows that a statement adds.
#[derive(Debug)]
pub struct AddedRows<'a, K> {
    /// The names of the columns of the entity, the day and the slot.
    pub(crate) key: [&'a str; 3],
    pub(crate) counters: &'a [&'a str],
    pub(crate) day: &'a Day,
    pub(crate) slots: &'a SlotRange,
    /// A key for each row.
    pub(crate) keys: &'a [K],
    /// For each counter, an amount for each row.
    pub(crate) amounts: Vec<&'a [i64]>,
}
