//! Locks, and which rows a query sees while other transactions run.

use super::{Bind, CounterBackend, Dialect, Part, Sql, sql};
use crate::shape::{Name, TableName};

impl Dialect {
    /// An index hint, which follows the table in a `FROM`: it makes MySQL and MariaDB find rows by
    /// the primary key, so that they lock no others.
    pub(crate) fn index_hint(self) -> &'static str {
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

    /// A statement that does nothing. A `MultiConnection` runs it when we only want to know which
    /// database it's connected to. No other connection runs it.
    pub(crate) fn no_op<'a, DB: CounterBackend>(self) -> Sql<'a, DB> {
        match self {
            // This isn't a `SELECT`, because the client would have to read its result. It isn't a
            // `DO`, because Vitess doesn't prepare that in a session of one shard.
            Dialect::MySql => sql!("SET @diesel_counters_nothing = NULL"),
            _ => sql!("SELECT 1"),
        }
    }

    /// The sum, if it's certain that it's a sum of the latest rows. In a transaction above READ
    /// COMMITTED, MySQL and MariaDB can read old rows, so there it's the maximum BIGINT instead.
    ///
    /// MySQL runs what's in the first comment, and MariaDB what's in the second one. Both are the
    /// session's isolation level.
    pub(crate) fn sum_of_latest<'a, DB: CounterBackend>(
        self,
        sum: impl Part<'a, DB>,
        in_transaction: bool,
    ) -> Sql<'a, DB> {
        if self != Dialect::MySql || !in_transaction {
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
            // The transaction has the write lock of the whole database.
            Dialect::Sqlite => "",
            _ => " FOR UPDATE",
        }
    }

    /// The end of a `SELECT` that locks its rows, and skips rows that another transaction has
    /// locked.
    pub(crate) fn lock_unlocked_rows(self) -> &'static str {
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
                let table_id = sql!("{Bind::Text(quoted)}::regclass::oid::int");
                let lock = sql!("hashtext('diesel_counters/merge'), {table_id}");
                if takes {
                    sql!("{select}pg_try_advisory_lock({lock})")
                } else {
                    sql!("{select}pg_advisory_unlock({lock})")
                }
            }
            // All databases of a server share its locks, so the name includes the database's. It
            // can have at most 64 characters.
            Dialect::MySql => {
                let database = match table.schema {
                    Some(schema) => sql!("{Bind::Text(schema.0)}"),
                    None => sql!("DATABASE()"),
                };
                let name = Bind::Text(table.name.0);
                let lock = sql!("SHA2(CONCAT_WS('/', 'diesel_counters', {database}, {name}), 224)");
                if takes {
                    sql!("{select}GET_LOCK({lock}, 0)")
                } else {
                    sql!("{select}RELEASE_LOCK({lock})")
                }
            }
            // SQLite has no advisory locks.
            Dialect::Sqlite => sql!("{select}1"),
        }
    }
}
