//! The one place where the databases' SQL differs.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{BigInt, Date, HasSqlType, SmallInt};

/// A Diesel backend that counters work on.
///
/// Implemented for Diesel's own three, each behind the feature of its name. An
/// application with a [`MultiConnection`] says which of them its own is made of, with
/// the same `#[cfg(…)]` on the arms as on the variants, where there are any:
///
/// ```
/// # include!("doctest_setup.rs");
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
    message = "counters do not know the backend `{Self}`",
    label = "turn on a feature of diesel_counters: `postgres`, `mysql` or `sqlite`",
    note = "for a `#[derive(MultiConnection)]`, write `impl CounterBackend for MultiBackend`"
)]
pub trait CounterBackend:
    Backend + HasSqlType<Date> + HasSqlType<SmallInt> + HasSqlType<BigInt>
{
    /// How a statement of this backend has many rows: [`ListedRows`], unless it is
    /// PostgreSQL's own.
    type ManyRows;

    /// Whose SQL this backend speaks.
    fn dialect(&self) -> Dialect;
}

/// Many rows as `VALUES (…), (…)`, which every database takes; in statements of a
/// few sizes, so that each is prepared once.
#[derive(Debug, Clone, Copy)]
pub struct ListedRows;

/// Many rows as arrays: one statement for any number of them.
#[cfg(feature = "postgres")]
#[derive(Debug, Clone, Copy)]
pub struct UnnestedRows;

/// Whose SQL a backend speaks.
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
    /// The dialect of the backend that `out` writes for.
    pub(crate) fn of<DB: CounterBackend>(out: &AstPass<'_, '_, DB>) -> Self {
        out.backend().dialect()
    }

    /// SQLite has one writer at a time, so there slots would buy nothing.
    pub(crate) fn has_slots(self) -> bool {
        self != Dialect::Sqlite
    }

    /// Ends an `INSERT` into the counter table `table`: where the row exists,
    /// what would have been inserted into the columns `counters` is added.
    pub(crate) fn push_on_conflict_add<'b, DB, T>(
        self,
        table: &'b T,
        key: &[&str],
        counters: &[&str],
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        match self {
            Dialect::PostgreSql | Dialect::Sqlite => {
                out.push_sql(" ON CONFLICT (");
                push_names(key, out)?;
                out.push_sql(") DO UPDATE SET ");
            }
            Dialect::MySql => out.push_sql(" ON DUPLICATE KEY UPDATE "),
        }
        for (i, name) in counters.iter().enumerate() {
            if i > 0 {
                out.push_sql(", ");
            }
            out.push_identifier(name)?;
            out.push_sql(" = ");
            match self {
                Dialect::PostgreSql => push_stored_plus_excluded(table, name, out)?,
                // Its own `+` turns into a REAL when it overflows.
                Dialect::Sqlite => {
                    out.push_sql("CASE typeof(");
                    push_stored_plus_excluded(table, name, out)?;
                    out.push_sql(") WHEN 'integer' THEN ");
                    push_stored_plus_excluded(table, name, out)?;
                    out.push_sql(SQLITE_ELSE_ERROR);
                }
                // MariaDB has no row alias, which MySQL would rather see.
                Dialect::MySql => {
                    out.push_identifier(name)?;
                    out.push_sql(" + VALUES(");
                    out.push_identifier(name)?;
                    out.push_sql(")");
                }
            }
        }
        Ok(())
    }

    /// Ends a `SELECT`: it reads what is committed by now.
    ///
    /// In PostgreSQL a statement does, or under REPEATABLE READ the increment before it
    /// has failed; SQLite has one writer.
    pub(crate) fn push_read_latest<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        if self == Dialect::MySql {
            out.push_sql(" LOCK IN SHARE MODE");
        }
    }

    /// The sum of a counter over the rows at hand: a BIGINT, and 0 over no rows.
    ///
    /// A sum beyond BIGINT is an error, and on MySQL NULL, which Diesel does not
    /// take for an `i64`.
    pub(crate) fn push_sum<DB: Backend>(
        self,
        counter: &str,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        match self {
            Dialect::PostgreSql => {
                out.push_sql("CAST(");
                push_sum_or_zero(counter, out)?;
                out.push_sql(" AS BIGINT)");
            }
            // What is no integer got there past this library.
            Dialect::Sqlite => {
                out.push_sql("CASE typeof(");
                push_sum_or_zero(counter, out)?;
                out.push_sql(") WHEN 'integer' THEN ");
                push_sum_or_zero(counter, out)?;
                out.push_sql(SQLITE_ELSE_ERROR);
            }
            // The CAST alone would give the greatest BIGINT and a warning. `DIV 1`
            // would give an error, after which MariaDB's client library hangs when
            // the same prepared statement is run again.
            Dialect::MySql => {
                out.push_sql("CASE WHEN ");
                push_sum_or_zero(counter, out)?;
                out.push_sql(" BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(");
                push_sum_or_zero(counter, out)?;
                out.push_sql(" AS SIGNED) END");
            }
        }
        Ok(())
    }
}

/// Of the least integer `abs` is an "integer overflow".
const SQLITE_ELSE_ERROR: &str = " ELSE abs(-9223372036854775807 - 1) END";

fn push_sum_or_zero<DB: Backend>(counter: &str, out: &mut AstPass<'_, '_, DB>) -> QueryResult<()> {
    out.push_sql("COALESCE(SUM(");
    out.push_identifier(counter)?;
    out.push_sql("), 0)");
    Ok(())
}

fn push_stored_plus_excluded<'b, DB, T>(
    table: &'b T,
    counter: &str,
    out: &mut AstPass<'_, 'b, DB>,
) -> QueryResult<()>
where
    DB: Backend,
    T: QueryFragment<DB>,
{
    table.walk_ast(out.reborrow())?;
    out.push_sql(".");
    out.push_identifier(counter)?;
    out.push_sql(" + excluded.");
    out.push_identifier(counter)
}

/// `"a", "b", "c"`
pub(crate) fn push_names<DB: Backend>(
    names: &[&str],
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            out.push_sql(", ");
        }
        out.push_identifier(name)?;
    }
    Ok(())
}
