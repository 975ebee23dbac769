//! Locks, and which rows a query sees while other transactions run.

use super::{Bind, CounterBackend, Dialect, Part, Sql, sql};
use crate::shape::{Name, TableName};

impl Dialect {
    /// An index hint, which follows the table in a `FROM`: it makes MySQL and MariaDB find rows by
    /// the primary key, so that they lock no others.
    pub(crate) fn by_key(self) -> &'static str {
        match self {
            Dialect::MySql => " FORCE INDEX (PRIMARY)",
            _ => "",
        }
    }

    /// The end of a `SELECT` of an entity's rows, which makes it read the latest committed rows.
    ///
    /// On MySQL and MariaDB, it locks the rows, from the last one in the primary key to the first.
    /// A merge can't move the counts of a locked row. It moves other counts towards the first row,
    /// which the query reads later. So the query neither misses a count nor reads it twice.
    ///
    /// On PostgreSQL, a statement reads the rows that were committed when it began; see
    /// [`keep_rows`](crate::correct::keep_rows) for REPEATABLE READ. SQLite has one writer.
    pub(crate) fn read_latest<'a, DB: CounterBackend>(
        self,
        day: Name<'a>,
        slot: Name<'a>,
    ) -> Option<Sql<'a, DB>> {
        let is_mysql = self == Dialect::MySql;
        is_mysql.then(|| sql!(" ORDER BY {day} DESC, {slot} DESC LOCK IN SHARE MODE"))
    }

    /// The end of a `SELECT` of rows that this transaction has locked or will change next. It makes
    /// MySQL and MariaDB read the latest committed rows, and lock them. Without it, a query can
    /// still read a row as it was when the transaction began, even if an `UPDATE` that changed
    /// nothing has locked it.
    pub(crate) fn read_latest_to_change(self) -> &'static str {
        match self {
            Dialect::MySql => " FOR UPDATE",
            _ => "",
        }
    }

    /// A statement that reads and changes nothing. It only runs on a `MultiConnection`, which has
    /// to run something to find out its database.
    pub(crate) fn nothing<'a, DB: CounterBackend>(self) -> Sql<'a, DB> {
        match self {
            // A `SELECT` has a result, which the client would have to read. In a session of one
            // shard, Vitess doesn't prepare a `DO`.
            Dialect::MySql => sql!("SET @diesel_counters_nothing = NULL"),
            _ => sql!("SELECT 1"),
        }
    }

    /// A sum of the latest rows. If the transaction `is_later` than its first query, MySQL and
    /// MariaDB read old rows above READ COMMITTED, so there it's the maximum BIGINT instead. This
    /// goes by the session's level: MySQL runs the first comment, and MariaDB the second one.
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

    /// The end of a `SELECT` that locks its rows.
    pub(crate) fn lock_rows(self) -> &'static str {
        match self {
            Dialect::Sqlite => "",
            _ => " FOR UPDATE",
        }
    }

    /// The end of a `SELECT` that locks its rows, and skips rows that another transaction has
    /// locked.
    pub(crate) fn lock_free_rows(self) -> &'static str {
        match self {
            // The transaction has the write lock of the whole database.
            Dialect::Sqlite => "",
            _ => " FOR UPDATE SKIP LOCKED",
        }
    }

    /// A query that takes a table's advisory lock for merges without waiting, or releases it. It
    /// returns true if it did, and false or NULL if it didn't. The lock belongs to the session.
    /// `quoted` is the table's quoted name.
    pub(crate) fn merge_lock<'a, DB: CounterBackend>(
        self,
        takes: bool,
        table: TableName<'a>,
        quoted: &'a str,
    ) -> Sql<'a, DB> {
        let select = self.select();
        match self {
            Dialect::PostgreSql => {
                let lock = if takes {
                    "pg_try_advisory_lock"
                } else {
                    "pg_advisory_unlock"
                };
                let name = Bind::Text(quoted);
                sql!(
                    "{select}{lock}(hashtext('diesel_counters/merge'), {name}::regclass::oid::int)"
                )
            }
            // All databases of a server share its locks, so the name includes the database's. It
            // can have at most 64 characters.
            Dialect::MySql => {
                let (lock, wait) = if takes {
                    ("GET_LOCK", ", 0")
                } else {
                    ("RELEASE_LOCK", "")
                };
                let database = match table.schema {
                    Some(schema) => sql!("{Bind::Text(schema.0)}"),
                    None => sql!("DATABASE()"),
                };
                let name = Bind::Text(table.name.0);
                sql!(
                    "{select}{lock}(SHA2(CONCAT_WS('/', 'diesel_counters', {database}, {name}), 224){wait})"
                )
            }
            // SQLite has no advisory locks.
            Dialect::Sqlite => sql!("{select}1"),
        }
    }
}
