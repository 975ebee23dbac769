//! Locks, and what a query reads beside other transactions.

use super::{Bind, CounterBackend, Dialect, Part, Sql, list, sql};
use crate::shape::{Name, TableName};

impl Dialect {
    /// An index hint, after the table in a `FROM`: MySQL and MariaDB find the rows by the primary
    /// key, so that they lock no other rows.
    pub(crate) fn by_key(self) -> &'static str {
        match self {
            Dialect::MySql => " FORCE INDEX (PRIMARY)",
            _ => "",
        }
    }

    /// The end of a `SELECT` of an entity's rows, so that it reads the latest committed rows.
    ///
    /// On MySQL and MariaDB, it locks the rows, from the last row of the primary key to the first.
    /// A merge cannot move the counts of a locked row. It moves the counts of other rows
    /// towards the first row, which the query reads later. So the query neither misses a count
    /// nor reads it twice.
    ///
    /// On PostgreSQL, a statement reads the rows that were committed when it began; see
    /// [`is_not_deleted`](Dialect::is_not_deleted) for REPEATABLE READ. SQLite has one writer.
    pub(crate) fn read_latest<'a, DB: CounterBackend>(
        self,
        day: Name<'a>,
        slot: Name<'a>,
    ) -> Option<Sql<'a, DB>> {
        let is_mysql = self == Dialect::MySql;
        is_mysql.then(|| sql!(" ORDER BY {day} DESC, {slot} DESC LOCK IN SHARE MODE"))
    }

    /// The end of a `SELECT` of rows that this transaction has locked, or changes next, so that
    /// MySQL and MariaDB read the latest committed rows, and lock them. An `UPDATE` that
    /// changes nothing locks a row, and a query of the transaction still reads what the row was
    /// when the transaction began.
    pub(crate) fn read_latest_to_change(self) -> &'static str {
        match self {
            Dialect::MySql => " FOR UPDATE",
            _ => "",
        }
    }

    /// A condition of a query of an entity's rows, after the entity has been locked. The query then
    /// fails with a serialization failure if one of these rows was deleted after the snapshot
    /// of its transaction. `rows` is the `FROM` of the rows.
    ///
    /// Only PostgreSQL above READ COMMITTED requires it: if the row that is the lock was deleted,
    /// the statement that locks the entity inserts it again, and the query would read the rows
    /// of before. (At SERIALIZABLE, the server notices this only if the deletion was
    /// SERIALIZABLE too.) `FOR KEY SHARE` fails if a row was deleted, and neither fails nor
    /// waits if it was incremented. At READ COMMITTED, a query with it could read a part of a
    /// merge.
    pub(crate) fn is_not_deleted<'a, DB: CounterBackend>(
        self,
        rows: Sql<'a, DB>,
    ) -> Option<Sql<'a, DB>> {
        (self == Dialect::PostgreSql).then(|| {
            sql!(
                "CASE WHEN current_setting('transaction_isolation') \
                 IN ('repeatable read', 'serializable') THEN (SELECT COUNT(*) FROM (SELECT 1\
                 {rows} FOR KEY SHARE) AS diesel_counters_locked) > 0 ELSE TRUE END"
            )
        })
    }

    /// A query of the number of PostgreSQL's policies that apply to the caller, and depend on more
    /// than these columns of the table.
    pub(crate) fn policies_of_rows<'a, DB: CounterBackend>(
        self,
        table: TableName<'a>,
        columns: &[Name<'a>],
    ) -> Sql<'a, DB> {
        let select = self.select();
        if self != Dialect::PostgreSql {
            // It reads no table: SQLite would begin to read, and could then not write beside
            // others.
            return sql!("{select}0");
        }
        let columns = columns.iter().map(|name| Bind::Text(name.0));
        let columns = list(", ", columns.chain([Bind::Text("")]));
        // The columns of its table that a policy reads are dependencies. The row as a whole is
        // none: it stands in the tree of the condition. A policy for INSERT hides no row,
        // and nor does one of another role.
        sql!(
            "{select}COUNT(*) FROM pg_policy \
             WHERE polrelid = CAST($diesel_counters${table}$diesel_counters$ AS regclass) \
             AND polcmd <> 'a' AND row_security_active(polrelid) AND EXISTS (\
             SELECT 1 FROM unnest(polroles) AS role \
             WHERE CASE WHEN role = 0 THEN TRUE ELSE pg_has_role(role, 'USAGE') END) \
             AND (CAST(polqual AS TEXT) LIKE '%:varattno 0 %' OR EXISTS (\
             SELECT 1 FROM pg_depend WHERE classid = CAST('pg_policy' AS regclass) \
             AND objid = pg_policy.oid AND refobjid = polrelid AND deptype = 'n' AND refobjsubid NOT IN (\
             SELECT attnum FROM pg_attribute WHERE attrelid = polrelid AND attname IN ({columns}))))"
        )
    }

    /// A statement that reads and changes nothing. Only a connection to any database runs it.
    pub(crate) fn nothing<'a, DB: CounterBackend>(self) -> Sql<'a, DB> {
        match self {
            // A `SELECT` has a result, which the client would have to read.
            // Vitess does not prepare a `DO` in a session of one shard.
            Dialect::MySql => sql!("SET @diesel_counters_nothing = NULL"),
            _ => sql!("SELECT 1"),
        }
    }

    /// A sum of the latest rows, in a transaction that `is_later` than its first query. On MySQL
    /// and MariaDB, whose queries then read old rows above READ COMMITTED, it is the greatest
    /// BIGINT there. The level is the session's: MySQL runs the first comment, and MariaDB the
    /// second one.
    pub(crate) fn sum_of_latest<'a, DB: CounterBackend>(
        self,
        sum: impl Part<'a, DB>,
        is_later: bool,
    ) -> Sql<'a, DB> {
        if self != Dialect::MySql || !is_later {
            return sql!("{sum}");
        }
        sql!(
            "CASE WHEN /*!80000 @@transaction_isolation */ /*M! @@tx_isolation */ = 'READ-COMMITTED' \
             THEN {sum} ELSE 9223372036854775807 END"
        )
    }

    /// The end of a `SELECT`: it locks its rows.
    pub(crate) fn lock_rows(self) -> &'static str {
        match self {
            Dialect::Sqlite => "",
            _ => " FOR UPDATE",
        }
    }

    /// The end of a `SELECT`: it locks its rows, and skips rows that another transaction has
    /// locked.
    pub(crate) fn lock_free_rows(self) -> &'static str {
        match self {
            // The transaction has the write lock of the whole database.
            Dialect::Sqlite => "",
            _ => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// A query that takes the table's advisory lock for the session, without waiting for it, or
    /// releases it. The query returns 1, or 0 or NULL if it did not. `name` is the table's, without
    /// quotes, and with its schema if it has one.
    pub(crate) fn session_lock<'a, DB: CounterBackend>(
        self,
        takes: bool,
        table: TableName<'a>,
        name: &'a str,
    ) -> Sql<'a, DB> {
        let select = self.select();
        match self {
            // Advisory locks belong to the database. The table's oid is the same with and without
            // its schema.
            Dialect::PostgreSql => {
                let lock = match takes {
                    true => "pg_try_advisory_lock",
                    false => "pg_advisory_unlock",
                };
                sql!(
                    "{select}CASE WHEN {lock}(hashtext('diesel_counters/merge'), \
                     CAST(CAST($diesel_counters${table}$diesel_counters$ AS regclass) AS oid)::int4) \
                     THEN CAST(1 AS BIGINT) ELSE 0 END"
                )
            }
            // Locks belong to the server, so the database's name is part of the lock. A server can
            // ignore the case of names. The name of a lock has up to 64 characters. A text has
            // other bytes on a connection that writes its literals in UCS-2, UTF-16 or
            // UTF-32, and MariaDB takes the bytes of a name. Vitess refuses a lock in
            // an expression. In a session of one shard, it runs a query to prepare it,
            // with NULL for the name, which no lock can have.
            Dialect::MySql => {
                let (lock, wait) = match takes {
                    true => ("GET_LOCK", ", 0"),
                    false => ("RELEASE_LOCK", ""),
                };
                let database = match table.schema {
                    Some(_) => "",
                    None => "REPLACE(DATABASE(), '`', ''), ",
                };
                let name = Bind::Text(name);
                sql!(
                    "{select}{lock}(CONVERT(SHA2(LOWER(CONVERT(CONCAT('diesel_counters/', \
                     CONCAT_WS('.', {database}{name})) USING utf8mb4)), 224) USING utf8mb4){wait})"
                )
            }
            // SQLite has no advisory locks, only its write lock.
            Dialect::Sqlite => sql!("{select}1"),
        }
    }
}
