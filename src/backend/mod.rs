//! The parts that differ by database: the SQL, and how a statement takes many rows.
//!
//! To add a database, change this folder only.

pub(crate) mod listed_rows;
mod sql;
pub(crate) mod stored_key;
#[cfg(feature = "postgres")]
pub(crate) mod unnested_rows;

use diesel::backend::Backend;
use diesel::query_builder::AstPass;
use diesel::sql_types::{BigInt, Date, HasSqlType, SmallInt};

#[cfg(feature = "postgres")]
pub(crate) use sql::WANTED_KEY;
pub(crate) use sql::{NUMBER, push_names};
pub use stored_key::StoredKey;
pub(crate) use stored_key::is_exact;

/// A Diesel backend that counters support.
///
/// It is implemented for Diesel's `Pg`, `Mysql` and `Sqlite`, with the features `postgres`, `mysql`
/// and `sqlite`. For a [`MultiConnection`], implement it yourself: return the [`Dialect`] of each
/// variant. If a variant has a `#[cfg(…)]`, its arm requires the same one.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # mod connection {
/// # use diesel::SqliteConnection;
/// use diesel_counters::{CounterBackend, Dialect, ListedRows};
///
/// #[derive(diesel::MultiConnection)]
/// pub enum AnyConnection {
///     Sqlite(SqliteConnection),
///     // Postgres(PgConnection),
///     // Mysql(MysqlConnection),
/// }
///
/// impl CounterBackend for MultiBackend {
///     type ManyRows = ListedRows;
///
///     fn dialect(&self) -> Dialect {
///         match self {
///             MultiBackend::Sqlite(_) => Dialect::Sqlite,
///             // MultiBackend::Postgres(_) => Dialect::PostgreSql,
///             // MultiBackend::Mysql(_) => Dialect::MySql,
///         }
///     }
/// }
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
#[diagnostic::on_unimplemented(
    message = "diesel_counters does not support the backend `{Self}`",
    label = "enable a feature of diesel_counters: `postgres`, `mysql` or `sqlite`",
    note = "for a `#[derive(MultiConnection)]`, write `impl CounterBackend for MultiBackend`"
)]
pub trait CounterBackend:
    Backend + HasSqlType<Date> + HasSqlType<SmallInt> + HasSqlType<BigInt>
{
    /// How a statement takes many rows: `UnnestedRows` for Diesel's `Pg`, and [`ListedRows`] for
    /// every other backend.
    type ManyRows;

    /// Returns the SQL dialect of the backend.
    fn dialect(&self) -> Dialect;
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
