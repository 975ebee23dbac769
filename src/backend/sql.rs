//! The SQL that differs by database.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SmallInt, Text};

use super::Dialect;
use crate::slot::SlotRange;

impl Dialect {
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
    /// MySQL and MariaDB lock the rows that they look at. With a list of keys they can look at all
    /// rows of a small table; with a join they find each row by its key.
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
        out.push_sql(" FROM ");
        if self != Dialect::MySql {
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
        let names: Vec<String> = (0..key.len())
            .map(|i| format!("diesel_counters_wanted_{i}"))
            .collect();
        let columns: Vec<_> = key
            .iter()
            .zip(&names)
            .map(|(column, name)| (Some(*column), name.as_str()))
            .collect();
        self.push_list(table, &columns, rows, push_values, out)?;
        out.push_sql(" STRAIGHT_JOIN ");
        table.walk_ast(out.reborrow())?;
        self.push_by_key(out);
        for (i, (column, name)) in key.iter().zip(&names).enumerate() {
            out.push_sql(if i == 0 { " ON " } else { " AND " });
            out.push_identifier(column)?;
            out.push_sql(" = ");
            out.push_sql(name);
        }
        Ok(())
    }

    /// `FROM` so many keys, whose values `push_key` writes, and their numbers from 1; joined to
    /// the counter table where its column `entity` is the key.
    pub(crate) fn push_from_numbered<'b, DB, T>(
        self,
        table: &'b T,
        entity: &str,
        keys: usize,
        mut push_key: impl FnMut(usize, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        out.push_sql(" FROM ");
        let columns = [(Some(entity), WANTED_KEY), (None, NUMBER)];
        let push_row = |row: usize, out: &mut AstPass<'_, 'b, DB>| {
            push_key(row, out)?;
            out.push_sql(&format!(", {}", row + 1));
            Ok(())
        };
        self.push_list(table, &columns, keys, push_row, out)?;
        out.push_sql(match self {
            Dialect::MySql => " STRAIGHT_JOIN ",
            Dialect::PostgreSql | Dialect::Sqlite => " JOIN ",
        });
        table.walk_ast(out.reborrow())?;
        out.push_sql(" ON ");
        out.push_identifier(entity)?;
        out.push_sql(" = ");
        out.push_sql(WANTED_KEY);
        Ok(())
    }

    /// An `UPDATE` that sets `column` of a table to the last column of a list of so many rows,
    /// which `push_row` writes, where the condition that `push_on` writes is true. `columns` are
    /// those of the list, as in `push_list`. On MySQL and MariaDB a trigger of the table could not
    /// write to another table that the statement names.
    pub(crate) fn push_update_from<'b, DB, T>(
        self,
        (table, column): (&'b T, &str),
        columns: &[(Option<&str>, &str)],
        rows: usize,
        push_row: impl FnMut(usize, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        push_on: impl Fn(&mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        let push_set = |out: &mut AstPass<'_, 'b, DB>| {
            out.push_sql(" SET ");
            out.push_identifier(column)?;
            out.push_sql(" = ");
            out.push_sql(columns.last().map_or("", |(_, name)| name));
            QueryResult::Ok(())
        };
        out.push_sql("UPDATE ");
        if self == Dialect::MySql {
            self.push_list(table, columns, rows, push_row, out)?;
            out.push_sql(" STRAIGHT_JOIN ");
            table.walk_ast(out.reborrow())?;
            out.push_sql(" ON ");
            push_on(out)?;
            return push_set(out);
        }
        table.walk_ast(out.reborrow())?;
        push_set(out)?;
        out.push_sql(" FROM ");
        if self == Dialect::PostgreSql {
            // Rows are locked in the order of the list, so that two such statements do not deadlock.
            out.push_sql("(SELECT diesel_counters_wanted.* FROM ");
        }
        self.push_list(table, columns, rows, push_row, out)?;
        if self == Dialect::PostgreSql {
            out.push_sql(" JOIN ");
            table.walk_ast(out.reborrow())?;
            out.push_sql(" AS diesel_counters_parent ON ");
            push_on(out)?;
            out.push_sql(" ORDER BY ");
            out.push_sql(columns.first().map_or("", |(_, name)| name));
            out.push_sql(" FOR NO KEY UPDATE OF diesel_counters_parent) AS diesel_counters_locked");
        }
        out.push_sql(" WHERE ");
        push_on(out)
    }

    /// A list of so many rows, which `push_row` writes, as a table in a `FROM`. Each of `columns`
    /// is a column of `table` that has the type of the list's column, or `None` for a number; and
    /// the name in the list.
    fn push_list<'b, DB, T>(
        self,
        table: &'b T,
        columns: &[(Option<&str>, &str)],
        rows: usize,
        mut push_row: impl FnMut(usize, &mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        out.push_sql("(SELECT ");
        for (i, (column, name)) in columns.iter().enumerate() {
            out.push_sql(if i == 0 { "" } else { ", " });
            match (self, column) {
                // MariaDB gives its lists no names. The table's columns give the list its types,
                // and so its collations.
                (Dialect::MySql, Some(column)) => out.push_identifier(column)?,
                (Dialect::MySql, None) => out.push_sql("0"),
                (_, Some(_)) => out.push_sql(&format!("column{}", i + 1)),
                (_, None) => out.push_sql(&format!("CAST(column{} AS BIGINT)", i + 1)),
            }
            out.push_sql(" AS ");
            out.push_sql(name);
        }
        out.push_sql(" FROM ");
        if self == Dialect::MySql {
            table.walk_ast(out.reborrow())?;
            out.push_sql(" WHERE 1 = 0");
            for row in 0..rows {
                out.push_sql(" UNION ALL SELECT ");
                push_row(row, out)?;
            }
        } else {
            for row in 0..rows {
                out.push_sql(if row == 0 { "(VALUES (" } else { "), (" });
                push_row(row, out)?;
            }
            out.push_sql(")) AS diesel_counters_listed");
        }
        out.push_sql(") AS diesel_counters_wanted");
        Ok(())
    }

    /// Whether a query in a transaction can return what was true when the transaction began to
    /// read, rather than when the query began.
    pub(crate) fn reads_old_snapshots(self) -> bool {
        self == Dialect::MySql
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
pub(crate) const WANTED_KEY: &str = "diesel_counters_key";
pub(crate) const NUMBER: &str = "diesel_counters_number";

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
