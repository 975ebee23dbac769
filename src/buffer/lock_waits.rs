//! The time that a statement waits for a lock, and the language of its errors.

use diesel::QueryResult;
use diesel::connection::Connection;

use crate::sql::{CounterBackend, Dialect, execute, sql};

/// Limits how long a statement waits for a lock to a second: on PostgreSQL in this transaction, on MySQL
/// and MariaDB until [`restore_lock_waits`]. On SQLite, it is the connection's own time.
///
/// On MySQL and MariaDB, errors are in English, because some are recognized by their text. On
/// PostgreSQL, only a superuser can choose their language.
pub(crate) fn limit_lock_waits<Conn>(conn: &mut Conn) -> QueryResult<()>
where
    Conn: Connection<Backend: CounterBackend>,
{
    execute(conn, |db| match db {
        Dialect::PostgreSql => sql!("SET LOCAL lock_timeout = '1s'"),
        // MySQL takes no text for the variable, and a user variable that is NULL is a text.
        Dialect::MySql => sql!(
            "SET @diesel_counters_lock_wait = CAST(COALESCE(@diesel_counters_lock_wait, \
             @@SESSION.innodb_lock_wait_timeout) AS SIGNED), \
             SESSION innodb_lock_wait_timeout = 1, \
             @diesel_counters_lc_messages = COALESCE(@diesel_counters_lc_messages, \
             @@SESSION.lc_messages), SESSION lc_messages = 'en_US'"
        ),
        Dialect::Sqlite => db.nothing(),
    })
    .map(drop)
}

/// Undoes [`limit_lock_waits`].
pub(crate) fn restore_lock_waits<Conn>(conn: &mut Conn) -> QueryResult<()>
where
    Conn: Connection<Backend: CounterBackend>,
{
    execute(conn, |db| match db {
        Dialect::MySql => sql!(
            "SET SESSION innodb_lock_wait_timeout = CAST(COALESCE(@diesel_counters_lock_wait, \
             @@SESSION.innodb_lock_wait_timeout) AS SIGNED), @diesel_counters_lock_wait = NULL, \
             SESSION lc_messages = COALESCE(@diesel_counters_lc_messages, \
             @@SESSION.lc_messages), @diesel_counters_lc_messages = NULL"
        ),
        _ => db.nothing(),
    })
    .map(drop)
}
