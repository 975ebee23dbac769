//! The SQL that differs by database.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, SmallInt, Text};

use super::Dialect;
use crate::slot::SlotRange;

impl Dialect {
    /// Returns an SQL expression for the slot of the current connection, from 1 to `slots`. It is
    /// 0 on SQLite.
    ///
    /// It is the slot of [`Slot::Connection`](crate::Slot::Connection), for the SQL of triggers.
    /// On PostgreSQL the expression claims a number for the connection, if the connection has none.
    ///
    /// ```
    /// use diesel_counters::Dialect;
    ///
    /// assert_eq!(
    ///     Dialect::MySql.connection_slot(32),
    ///     "1 + COALESCE(@diesel_counters_number, CONNECTION_ID()) % 32"
    /// );
    /// ```
    pub fn connection_slot(self, slots: u16) -> String {
        match self {
            Dialect::Sqlite => "0".to_owned(),
            _ if slots <= 1 => "1".to_owned(),
            Dialect::PostgreSql => format!(
                "1 + COALESCE({POSTGRES_NUMBER}, {POSTGRES_CLAIM}, pg_backend_pid()) % {slots}"
            ),
            Dialect::MySql => {
                format!("1 + COALESCE({MYSQL_NUMBER}, CONNECTION_ID()) % {slots}")
            }
        }
    }

    /// Returns an SQL expression for the slot of a connection that has claimed a number. It is NULL if
    /// the connection has none, and has no subquery, so that PL/pgSQL evaluates it quickly.
    #[doc(hidden)]
    pub fn claimed_slot(self, slots: u16) -> String {
        match self {
            Dialect::PostgreSql if slots > 1 => format!("1 + {POSTGRES_NUMBER} % {slots}"),
            _ => self.connection_slot(slots),
        }
    }

    /// Writes the slot of a row: one of `slots`, chosen by the number of the connection. The first
    /// row of a statement claims the number, if the connection has none.
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
                // With one slot to choose from, the session does not need a number.
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
            // SQLite has one writer at a time: more slots would gain nothing.
            Dialect::Sqlite => out.push_sql("0"),
        }
        Ok(())
    }

    /// Writes a statement that claims a number for the session, unless it has one.
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

    /// Writes `SELECT `, at the beginning of a query.
    ///
    /// On MySQL and MariaDB the query is not cached: MariaDB's client library hangs when it runs a
    /// prepared query again whose rows it could not read, because of a deadlock or a timeout.
    pub(crate) fn push_select<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        if self == Dialect::MySql {
            out.unsafe_to_cache_prepared();
        }
        out.push_sql("SELECT ");
    }

    /// Writes the beginning of an `INSERT` into the counter table, up to the list of columns.
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
            // An alias, because the table's own name could be `excluded`.
            out.push_sql(" AS ");
            out.push_sql(STORED);
        }
        out.push_sql(" (");
        Ok(())
    }

    /// Writes the end of an `INSERT` into a counter table. If a row exists, the values of the
    /// columns `counters` are added to it. Without counters, the row is only locked.
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
            // An update locks the row. The slot keeps its value.
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
                // SQLite's `+` returns a REAL when it overflows.
                Dialect::Sqlite => {
                    out.push_sql("CASE typeof(");
                    push_stored_plus_excluded(name, out)?;
                    out.push_sql(") WHEN 'integer' THEN ");
                    push_stored_plus_excluded(name, out)?;
                    out.push_sql(SQLITE_ELSE_ERROR);
                }
                // MySQL recommends a row alias, which MariaDB does not have.
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

    /// Writes the end of an `INSERT` of rows with zeros. If a row exists, it does not change.
    ///
    /// On MySQL and MariaDB the existing row is locked too. It adds 0, because `INSERT IGNORE` would
    /// turn errors into warnings.
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

    /// Writes the end of a `SELECT` of an entity's rows, so that it reads the latest committed
    /// rows.
    ///
    /// On MySQL and MariaDB, it locks the rows, from the last row of the primary key to the first. A
    /// merge cannot move the counts of a locked row. It moves the counts of other rows towards the
    /// first row, which the query reads later. So the query neither misses a count nor reads it twice.
    ///
    /// PostgreSQL requires nothing, because a statement reads the rows that were committed when it
    /// began. (At REPEATABLE READ, the statement before it, which locks the entity, has failed if
    /// these rows are not the latest.) SQLite has one writer.
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

    /// Writes an index hint, after the table in a `FROM`: MySQL and MariaDB find the rows by the
    /// primary key, so that they lock no other rows.
    pub(crate) fn push_by_key<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        if self == Dialect::MySql {
            out.push_sql(" FORCE INDEX (PRIMARY)");
        }
    }

    /// Writes the beginning of a `DELETE`. [`push_from_rows`](Dialect::push_from_rows) writes the
    /// rest.
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

    /// Writes another condition: the value in the column `day` is a day. SQLite stores any text
    /// there, and sorts it as text.
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

    /// Writes all columns of the counter table, before
    /// [`push_from_rows`](Dialect::push_from_rows).
    pub(crate) fn push_all_columns<'b, DB, T>(
        self,
        table: &'b T,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: Backend,
        T: QueryFragment<DB>,
    {
        // On MySQL the list of keys has columns too. SQLite does not support `schema.table.*`.
        if self == Dialect::MySql {
            table.walk_ast(out.reborrow())?;
            out.push_sql(".");
        }
        out.push_sql("*");
        Ok(())
    }

    /// Writes ` FROM` the counter table, restricted to a list of keys. `rows` is the number of keys,
    /// and `push_values` writes the values of one: `?, ?, ?`.
    ///
    /// MySQL and MariaDB lock every row that they read. With `IN` and a list of keys, they can read
    /// all rows of a small table. With a join, they find each row by its key.
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

    /// Writes ` FROM` a list of keys and their numbers, from 1, joined to the counter table where its
    /// column `entity` is the key. `keys` is the number of keys, and `push_key` writes the value of
    /// one.
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

    /// Writes a list of rows as a table in a `FROM`. `rows` is the number of rows, and `push_row`
    /// writes the values of one. Each of `columns` has two parts: the column of `table` whose type
    /// the list's column has, or `None` for a number; and the name of the list's column.
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
                // MariaDB cannot name the columns of a `VALUES` list. A query of the table without
                // rows gives the list its names and types, and with the types the collations.
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

    /// Returns whether a query in a transaction can read a snapshot from the first query of the
    /// transaction, instead of one from its own beginning.
    pub(crate) fn reads_old_snapshots(self) -> bool {
        self == Dialect::MySql
    }

    /// Writes the end of a `SELECT`: it locks its rows, and skips rows that another transaction has
    /// locked.
    pub(crate) fn push_lock_free_rows<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        match self {
            Dialect::PostgreSql | Dialect::MySql => out.push_sql(" FOR UPDATE SKIP LOCKED"),
            // The transaction has the write lock of the whole database.
            Dialect::Sqlite => {}
        }
    }

    /// Writes a query that takes the table's advisory lock for the session, without waiting for it.
    /// The query returns 1, or 0 if another session has the lock.
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

    /// Writes a query that releases the lock of [`push_try_lock`](Dialect::push_try_lock). The query
    /// returns 1, or 0 if this session does not have the lock.
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
            // Advisory locks belong to the database. The table's oid is part of the lock, so that
            // tables of the same name in several schemas have different locks.
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
            // Locks belong to the server, so the database's name is part of the lock. A name has up
            // to 64 characters.
            Dialect::MySql => {
                out.push_sql("CAST(COALESCE(");
                out.push_sql(mysql);
                out.push_sql("(SHA2(CONCAT_WS('/', 'diesel_counters', DATABASE(), ");
                out.push_bind_param::<Text, _>(name)?;
                out.push_sql("), 224)");
                out.push_sql(mysql_arguments);
                out.push_sql("), 0) AS SIGNED)");
            }
            // SQLite has no advisory locks, only its write lock.
            Dialect::Sqlite => out.push_sql("1"),
        }
        Ok(())
    }

    /// Writes the sum of a counter over the rows of the query. It is a BIGINT, and 0 if there are no
    /// rows. The statement fails if the sum is out of the range of a BIGINT.
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
            // A value that is not an integer was not written by this library: the query fails.
            Dialect::Sqlite => {
                out.push_sql("CASE typeof(");
                push_sum_or_zero(counter, out)?;
                out.push_sql(") WHEN 'integer' THEN ");
                push_sum_or_zero(counter, out)?;
                out.push_sql(SQLITE_ELSE_ERROR);
            }
            // The CAST alone would return the greatest BIGINT, with a warning.
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

// Names in the library's SQL. They are long so that a table or a column of the application does not
// have the same name.
const STORED: &str = "diesel_counters_stored";
pub(crate) const WANTED_KEY: &str = "diesel_counters_key";
pub(crate) const NUMBER: &str = "diesel_counters_number";

/// The number that the session has claimed, or NULL. If the transaction that set it for the first
/// time was rolled back, the setting is an empty text.
const POSTGRES_NUMBER: &str =
    "CAST(NULLIF(current_setting('diesel_counters.number', true), '') AS INTEGER)";

/// Claims the least number that no other session has. The session holds an advisory lock on the
/// number until the session ends, even if the setting is rolled back. `generate_series` is in a
/// `SELECT`, because in a `FROM` it would make all its rows first.
const POSTGRES_CLAIM: &str = "\
    (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) \
    FROM (SELECT generate_series(0, 32766) AS number) AS numbers \
    WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)";

const MYSQL_NUMBER: &str = "@diesel_counters_number";

/// Claims the least number that no other session of the database has. It is a recursion, because
/// a `WHERE` could lock all numbers before a `LIMIT` ends the query. MySQL and MariaDB end a
/// recursion after 1,000 steps by default. Locks belong to the server, so the database's name is
/// part of each lock. A name has up to 64 characters.
const MYSQL_CLAIM: &str = "\
    (WITH RECURSIVE diesel_counters_numbers (number, claimed) AS (\
    SELECT 0, GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters.number', DATABASE(), 0), 224), 0) UNION ALL \
    SELECT number + 1, \
    GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters.number', DATABASE(), number + 1), 224), 0) \
    FROM diesel_counters_numbers WHERE claimed = 0 AND number < 998) \
    SELECT number FROM diesel_counters_numbers WHERE claimed = 1)";

/// `abs` of the least integer fails with "integer overflow".
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
