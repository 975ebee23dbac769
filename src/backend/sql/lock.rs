//! Locks, and what a query reads beside other transactions.

use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::query_builder::{AstPass, QueryFragment};

use crate::backend::{Bind, CounterBackend, Dialect};

/// A table's name, of which the lock of a merge is made on MySQL and MariaDB.
pub trait MysqlName {
    /// Returns the table's name in the SQL of MySQL, without quotes, and with its database if it has
    /// one.
    fn mysql_name(&self) -> QueryResult<String>;
}

#[cfg(feature = "mysql")]
impl<F: QueryFragment<diesel::mysql::Mysql>> MysqlName for F {
    fn mysql_name(&self) -> QueryResult<String> {
        use diesel::mysql::{Mysql, MysqlQueryBuilder};
        use diesel::query_builder::QueryBuilder;

        let mut name = MysqlQueryBuilder::new();
        self.to_sql(&mut name, &Mysql)?;
        Ok(name.finish().replace('`', ""))
    }
}

#[cfg(not(feature = "mysql"))]
impl<F> MysqlName for F {
    fn mysql_name(&self) -> QueryResult<String> {
        Ok(String::new())
    }
}

impl Dialect {
    /// Writes an index hint, after the table in a `FROM`: MySQL and MariaDB find the rows by the
    /// primary key, so that they lock no other rows.
    pub(crate) fn push_by_key<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        if self == Dialect::MySql {
            out.push_sql(" FORCE INDEX (PRIMARY)");
        }
    }

    /// Writes the end of a `SELECT` of an entity's rows, so that it reads the latest committed
    /// rows.
    ///
    /// On MySQL and MariaDB, it locks the rows, from the last row of the primary key to the first. A
    /// merge cannot move the counts of a locked row. It moves the counts of other rows towards the
    /// first row, which the query reads later. So the query neither misses a count nor reads it twice.
    ///
    /// PostgreSQL requires nothing here, because a statement reads the rows that were committed when
    /// it began; see [`push_and_not_deleted`](Dialect::push_and_not_deleted) for REPEATABLE READ.
    /// SQLite has one writer.
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

    /// Writes the end of a `SELECT` of rows that are deleted next, so that MySQL and MariaDB read the
    /// latest committed rows, and lock them.
    pub(crate) fn push_read_latest_to_delete<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        if self == Dialect::MySql {
            out.push_sql(" FOR UPDATE");
        }
    }

    /// Writes another condition of a query of an entity's rows, after the entity has been locked. The
    /// query then fails with a serialization failure if one of these rows was deleted after the
    /// snapshot of its transaction. `push_rows` writes the `FROM` of the rows.
    ///
    /// Only PostgreSQL above READ COMMITTED requires it: if the row that is the lock was deleted, the
    /// statement that locks the entity inserts it again, instead of failing, and the query would read
    /// the rows of before. (At SERIALIZABLE, the server notices this only if the deletion was
    /// SERIALIZABLE too.) `FOR KEY SHARE` fails if a row was deleted, and neither fails nor waits if it
    /// was incremented. At READ COMMITTED, a query with it could read a part of a merge.
    pub(crate) fn push_and_not_deleted<'b, DB: Backend>(
        self,
        and: &str,
        push_rows: impl FnOnce(&mut AstPass<'_, 'b, DB>) -> QueryResult<()>,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        if self == Dialect::PostgreSql {
            out.push_sql(and);
            out.push_sql(
                "CASE WHEN current_setting('transaction_isolation') \
                 IN ('repeatable read', 'serializable') THEN (SELECT COUNT(*) FROM (SELECT 1",
            );
            push_rows(out)?;
            out.push_sql(" FOR KEY SHARE) AS diesel_counters_locked) > 0 ELSE TRUE END");
        }
        Ok(())
    }

    /// Returns whether a query in a transaction can read a snapshot from the first query of the
    /// transaction, instead of one from its own beginning.
    pub(crate) fn reads_old_snapshots(self) -> bool {
        self == Dialect::MySql
    }

    /// Writes a statement that reads and changes nothing. Only a connection to any database runs it.
    pub(crate) fn push_nothing<DB: Backend>(self, out: &mut AstPass<'_, '_, DB>) {
        out.push_sql(match self {
            Dialect::PostgreSql | Dialect::Sqlite => "SELECT 1",
            // A `SELECT` has a result, which the client would have to read.
            Dialect::MySql => "DO 0",
        });
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

    /// Writes a query that takes the table's advisory lock for the session, without waiting for it, or
    /// releases it. The query returns 1, or 0 if another session has the lock.
    pub(crate) fn push_session_lock<'b, DB, T>(
        self,
        takes: bool,
        table: &'b T,
        mysql_name: &'b str,
        out: &mut AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: CounterBackend,
        T: QueryFragment<DB>,
    {
        let [postgres, mysql, mysql_arguments] = match takes {
            true => ["pg_try_advisory_lock", "GET_LOCK", ", 0"],
            false => ["pg_advisory_unlock", "RELEASE_LOCK", ""],
        };
        self.push_select(out);
        match self {
            // Advisory locks belong to the database. The table's oid is the same with and without its
            // schema.
            Dialect::PostgreSql => {
                out.push_sql("CASE WHEN ");
                out.push_sql(postgres);
                out.push_sql("(hashtext('diesel_counters/merge'), CAST(CAST($diesel_counters$");
                table.walk_ast(out.reborrow())?;
                out.push_sql(
                    "$diesel_counters$ AS regclass) AS oid)::int4) \
                     THEN CAST(1 AS BIGINT) ELSE 0 END",
                );
            }
            // Locks belong to the server, so the database's name is part of the lock. A server can
            // ignore the case of names. The name of a lock has up to 64 characters. A text has other
            // bytes on a connection that writes its literals in UCS-2, UTF-16 or UTF-32, and MariaDB
            // takes the bytes of a name.
            Dialect::MySql => {
                out.push_sql("CAST(COALESCE(");
                out.push_sql(mysql);
                out.push_sql("(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', ");
                if !mysql_name.contains('.') {
                    out.push_sql("REPLACE(DATABASE(), '`', ''), '.', ");
                }
                DB::push_bind(Bind::Text(mysql_name), out)?;
                out.push_sql(") USING utf8mb4)), 224) USING utf8mb4)");
                out.push_sql(mysql_arguments);
                out.push_sql("), 0) AS SIGNED)");
            }
            // SQLite has no advisory locks, only its write lock.
            Dialect::Sqlite => out.push_sql("1"),
        }
        Ok(())
    }
}
