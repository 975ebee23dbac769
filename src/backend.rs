//! The one place where the databases' SQL differs.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Date, HasSqlType, SmallInt, Text};

use crate::slot::SlotRange;

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

/// How the connection's database takes the rows of a statement over many entities.
pub(crate) type ManyRows<Conn> =
    <<Conn as diesel::connection::Connection>::Backend as CounterBackend>::ManyRows;

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

    /// A row's slot: one of `slots`, chosen by the number of the connection, which the first
    /// row of a statement claims.
    pub(crate) fn push_slot<'b, DB>(
        self,
        slots: &'b SlotRange,
        is_first_row: bool,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend + HasSqlType<SmallInt>,
        i16: ToSql<SmallInt, DB>,
    {
        match self {
            Dialect::PostgreSql => {
                out.push_bind_param::<SmallInt, _>(&slots.first)?;
                // Where there is no choice, the session needs no number.
                out.push_sql(" + CASE WHEN ");
                out.push_bind_param::<SmallInt, _>(&slots.count)?;
                out.push_sql(" > 1 THEN COALESCE(");
                out.push_sql(POSTGRES_NUMBER);
                if is_first_row {
                    out.push_sql(", ");
                    out.push_sql(POSTGRES_CLAIM);
                }
                out.push_sql(", pg_backend_pid()) % ");
                out.push_bind_param::<SmallInt, _>(&slots.count)?;
                out.push_sql(" ELSE 0 END");
            }
            Dialect::MySql => {
                out.push_bind_param::<SmallInt, _>(&slots.first)?;
                out.push_sql(" + COALESCE(");
                out.push_sql(MYSQL_NUMBER);
                out.push_sql(", CONNECTION_ID()) % ");
                out.push_bind_param::<SmallInt, _>(&slots.count)?;
            }
            // It has one writer at a time: slots would gain nothing.
            Dialect::Sqlite => out.push_sql("0"),
        }
        Ok(())
    }

    /// A statement that gives the session a number, unless it has one.
    pub(crate) fn push_claim<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        match self {
            Dialect::PostgreSql => {
                out.push_sql("SELECT COALESCE(");
                out.push_sql(POSTGRES_NUMBER);
                out.push_sql(", ");
                out.push_sql(POSTGRES_CLAIM);
            }
            Dialect::MySql => {
                out.push_sql("SET ");
                out.push_sql(MYSQL_NUMBER);
                out.push_sql(" = COALESCE(");
                out.push_sql(MYSQL_NUMBER);
                out.push_sql(", ");
                out.push_sql(MYSQL_CLAIM);
            }
            Dialect::Sqlite => out.push_sql("SELECT (1"),
        }
        out.push_sql(")");
    }

    /// Begins a query, with `SELECT `.
    ///
    /// MariaDB's client library never returns when it executes a prepared statement again
    /// whose rows it failed to read, because of a deadlock or a timeout. So on MySQL and
    /// MariaDB no query is kept.
    pub(crate) fn push_select<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        if self == Dialect::MySql {
            out.unsafe_to_cache_prepared();
        }
        out.push_sql("SELECT ");
    }

    /// Begins an `INSERT` into the counter table, before its columns.
    pub(crate) fn push_insert_into<'b, DB, T>(
        self,
        table: &'b T,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        out.push_sql("INSERT INTO ");
        table.walk_ast(out.reborrow())?;
        if self != Dialect::MySql {
            // Its own name may be `excluded`.
            out.push_sql(" AS ");
            out.push_sql(STORED);
        }
        out.push_sql(" (");
        Ok(())
    }

    /// Ends an `INSERT` into a counter table: where the row exists, what would have been
    /// inserted into the columns `counters` is added. Without counters the row is only locked.
    pub(crate) fn push_on_conflict_add<DB: Backend>(
        self,
        key: &[&str],
        counters: &[&str],
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        match self {
            Dialect::PostgreSql | Dialect::Sqlite => {
                out.push_sql(" ON CONFLICT (");
                push_names(key, out)?;
                out.push_sql(") DO UPDATE SET ");
            }
            Dialect::MySql => out.push_sql(" ON DUPLICATE KEY UPDATE "),
        }
        if let ([], [.., slot]) = (counters, key) {
            // It has that slot already, and is locked.
            out.push_identifier(slot)?;
            out.push_sql(" = ");
            out.push_sql(if self == Dialect::MySql {
                "VALUES("
            } else {
                "(excluded."
            });
            out.push_identifier(slot)?;
            out.push_sql(")");
        }
        for (i, name) in counters.iter().enumerate() {
            if i > 0 {
                out.push_sql(", ");
            }
            out.push_identifier(name)?;
            out.push_sql(" = ");
            match self {
                Dialect::PostgreSql => push_stored_plus_excluded(name, out)?,
                // Its own `+` turns into a REAL when it overflows.
                Dialect::Sqlite => {
                    out.push_sql("CASE typeof(");
                    push_stored_plus_excluded(name, out)?;
                    out.push_sql(") WHEN 'integer' THEN ");
                    push_stored_plus_excluded(name, out)?;
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

    /// Ends an `INSERT` of rows of zeros: where one is there, it stays as it is.
    ///
    /// On MySQL and MariaDB it is locked too, as it is before others wait for it; `INSERT
    /// IGNORE` would take errors for warnings.
    pub(crate) fn push_on_conflict_keep<DB: Backend>(
        self,
        key: &[&str],
        counters: &[&str],
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        match self {
            Dialect::PostgreSql | Dialect::Sqlite => {
                out.push_sql(" ON CONFLICT (");
                push_names(key, out)?;
                out.push_sql(") DO NOTHING");
                Ok(())
            }
            Dialect::MySql => self.push_on_conflict_add(key, counters, out),
        }
    }

    /// Ends a `SELECT` of an entity's rows: it reads what is committed by now, and locks it
    /// from the last row to the first. Merging moves counts to rows further up, so none is
    /// missed or met twice.
    ///
    /// In PostgreSQL a statement reads what is committed as it begins, or under REPEATABLE
    /// READ the increment before it has failed; SQLite has one writer.
    pub(crate) fn push_read_latest<DB: Backend>(
        self,
        day: &str,
        slot: &str,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        if self == Dialect::MySql {
            out.push_sql(" ORDER BY ");
            out.push_identifier(day)?;
            out.push_sql(" DESC, ");
            out.push_identifier(slot)?;
            out.push_sql(" DESC LOCK IN SHARE MODE");
        }
        Ok(())
    }

    /// After the table in a `FROM` with conditions on its key: they are what its rows are
    /// found by, so that no others are locked.
    pub(crate) fn push_by_key<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        if self == Dialect::MySql {
            out.push_sql(" FORCE INDEX (PRIMARY)");
        }
    }

    /// Begins a `DELETE` that [`push_from_rows`](Dialect::push_from_rows) ends.
    pub(crate) fn push_delete<'b, DB, T>(
        self,
        table: &'b T,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        out.push_sql("DELETE");
        if self == Dialect::MySql {
            out.push_sql(" ");
            table.walk_ast(out.reborrow())?;
        }
        Ok(())
    }

    /// A condition, after others, that the value in a column of days is stored as a day:
    /// SQLite stores any text there, and sorts it as text.
    pub(crate) fn push_and_is_day<DB: Backend>(
        self,
        day: &str,
        out: &mut AstPass<'_, '_, DB>,
    ) -> QueryResult<()> {
        if self == Dialect::Sqlite {
            out.push_sql(" AND ");
            out.push_identifier(day)?;
            out.push_sql(" IS date(");
            out.push_identifier(day)?;
            out.push_sql(")");
        }
        Ok(())
    }

    /// All columns of the counter table, before [`push_from_rows`](Dialect::push_from_rows).
    pub(crate) fn push_all_columns<'b, DB, T>(
        self,
        table: &'b T,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        // In MySQL the list of keys has columns too. SQLite knows no `schema.table.*`.
        if self == Dialect::MySql {
            table.walk_ast(out.reborrow())?;
            out.push_sql(".");
        }
        out.push_sql("*");
        Ok(())
    }

    /// `FROM` the counter table, only the rows of so many keys, whose values `push_values`
    /// writes: `?, ?, ?`.
    ///
    /// MySQL and MariaDB lock what they look at. For a list of keys that may be all of a
    /// small table; for a join it is each row by its key.
    pub(crate) fn push_from_rows<'b, DB, T>(
        self,
        table: &'b T,
        key: &[&str],
        rows: usize,
        mut push_values: impl FnMut(usize, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        if self != Dialect::MySql {
            out.push_sql(" FROM ");
            table.walk_ast(out.reborrow())?;
            out.push_sql(" WHERE (");
            push_names(key, out)?;
            out.push_sql(") IN (VALUES ");
            for row in 0..rows {
                out.push_sql(if row == 0 { "(" } else { ", (" });
                push_values(row, out)?;
                out.push_sql(")");
            }
            out.push_sql(")");
            return Ok(());
        }
        // The table itself gives the list its types.
        out.push_sql(" FROM (SELECT ");
        for (i, name) in key.iter().enumerate() {
            out.push_sql(if i == 0 { "" } else { ", " });
            out.push_identifier(name)?;
            out.push_sql(&format!(" AS {WANTED}_{i}"));
        }
        out.push_sql(" FROM ");
        table.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE 1 = 0");
        for row in 0..rows {
            out.push_sql(" UNION ALL SELECT ");
            push_values(row, out)?;
        }
        out.push_sql(&format!(") AS {WANTED} STRAIGHT_JOIN "));
        table.walk_ast(out.reborrow())?;
        self.push_by_key(out);
        for (i, name) in key.iter().enumerate() {
            out.push_sql(if i == 0 { " ON " } else { " AND " });
            out.push_identifier(name)?;
            out.push_sql(&format!(" = {WANTED}_{i}"));
        }
        Ok(())
    }

    /// Ends a `SELECT`: it locks its rows, but for those that somebody else has locked.
    pub(crate) fn push_lock_free_rows<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        match self {
            Dialect::PostgreSql | Dialect::MySql => out.push_sql(" FOR UPDATE SKIP LOCKED"),
            // Who writes has locked out all others.
            Dialect::Sqlite => {}
        }
    }

    /// A query that locks the table, by its name, for the session: 1, or 0 when another
    /// session has. It waits for nothing.
    pub(crate) fn push_try_lock<'b, DB, T>(
        self,
        table: &'b T,
        name: &'b str,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend + HasSqlType<Text>,
        T: QueryFragment<DB>,
        str: ToSql<Text, DB>,
    {
        self.push_session_lock(
            ["pg_try_advisory_lock", "GET_LOCK", ", 0"],
            table,
            name,
            out,
        )
    }

    /// As [`push_try_lock`](Dialect::push_try_lock), to unlock it: 0 when this session had
    /// not locked it.
    pub(crate) fn push_unlock<'b, DB, T>(
        self,
        table: &'b T,
        name: &'b str,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend + HasSqlType<Text>,
        T: QueryFragment<DB>,
        str: ToSql<Text, DB>,
    {
        self.push_session_lock(["pg_advisory_unlock", "RELEASE_LOCK", ""], table, name, out)
    }

    fn push_session_lock<'b, DB, T>(
        self,
        [postgres, mysql, mysql_arguments]: [&str; 3],
        table: &'b T,
        name: &'b str,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend + HasSqlType<Text>,
        T: QueryFragment<DB>,
        str: ToSql<Text, DB>,
    {
        self.push_select(out);
        match self {
            // Names are the database's: of tables of one name in several schemas, each has
            // its own.
            Dialect::PostgreSql => {
                out.push_sql("CASE WHEN ");
                out.push_sql(postgres);
                out.push_sql("(hashtext(concat('diesel_counters/', CAST(");
                out.push_bind_param::<Text, _>(name)?;
                out.push_sql(" AS TEXT))), CAST(CAST($diesel_counters$");
                table.walk_ast(out.reborrow())?;
                out.push_sql(
                    "$diesel_counters$ AS regclass) AS oid)::int4) \
                     THEN CAST(1 AS BIGINT) ELSE 0 END",
                );
            }
            // Names are the server's, not the database's, and have up to 64 characters.
            Dialect::MySql => {
                out.push_sql("CAST(COALESCE(");
                out.push_sql(mysql);
                out.push_sql("(SHA2(CONCAT_WS('/', 'diesel_counters', DATABASE(), ");
                out.push_bind_param::<Text, _>(name)?;
                out.push_sql("), 224)");
                out.push_sql(mysql_arguments);
                out.push_sql("), 0) AS SIGNED)");
            }
            // Its write lock is all that there is.
            Dialect::Sqlite => out.push_sql("1"),
        }
        Ok(())
    }

    /// The sum of a counter over the rows at hand: a BIGINT, and 0 over no rows. The
    /// statement fails where the sum is beyond BIGINT.
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
            // The CAST alone would give the greatest BIGINT, and a warning.
            Dialect::MySql => {
                out.push_sql("CASE WHEN ");
                push_sum_or_zero(counter, out)?;
                out.push_sql(" BETWEEN -9223372036854775808 AND 9223372036854775807 THEN CAST(");
                push_sum_or_zero(counter, out)?;
                out.push_sql(" AS SIGNED) ELSE 9223372036854775807 + COUNT(*) END");
            }
        }
        Ok(())
    }
}

// Names in our SQL, long enough to be nobody else's: a user's table of the same name would
// be taken for them.
const STORED: &str = "diesel_counters_stored";
const WANTED: &str = "diesel_counters_wanted";

/// The number that the session has claimed, or NULL. A setting whose first value was rolled
/// back is an empty text.
const POSTGRES_NUMBER: &str =
    "CAST(NULLIF(current_setting('diesel_counters.number', true), '') AS INTEGER)";

/// Claims the least number that no other session has: the session holds an advisory lock on
/// it until it ends, even where the setting is rolled back. `generate_series` in a `FROM` would
/// make all its rows first.
const POSTGRES_CLAIM: &str = "\
    (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) \
    FROM (SELECT generate_series(0, 32766) AS number) AS numbers \
    WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)";

const MYSQL_NUMBER: &str = "@diesel_counters_number";

/// The least number that no other session of the database has. A `WHERE` might lock them all
/// before a `LIMIT` is looked at. Recursion ends at 1,000 by default. Locks are the server's,
/// and their names have up to 64 characters.
const MYSQL_CLAIM: &str = "\
    (WITH RECURSIVE diesel_counters_numbers (number, claimed) AS (\
    SELECT 0, GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters.number', DATABASE(), 0), 224), 0) UNION ALL \
    SELECT number + 1, \
    GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters.number', DATABASE(), number + 1), 224), 0) \
    FROM diesel_counters_numbers WHERE claimed = 0 AND number < 998) \
    SELECT number FROM diesel_counters_numbers WHERE claimed = 1)";

/// Of the least integer `abs` is an "integer overflow".
const SQLITE_ELSE_ERROR: &str = " ELSE abs(-9223372036854775807 - 1) END";

fn push_sum_or_zero<DB: Backend>(counter: &str, out: &mut AstPass<'_, '_, DB>) -> QueryResult<()> {
    out.push_sql("COALESCE(SUM(");
    out.push_identifier(counter)?;
    out.push_sql("), 0)");
    Ok(())
}

fn push_stored_plus_excluded<DB: Backend>(
    counter: &str,
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    out.push_sql(STORED);
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
