//! A connection's slot, and the number that it claims.

use super::{CounterBackend, Dialect, Number, Part, Sql, part, sql};
use crate::shape::Shape;
use crate::slot::Slot;

impl Dialect {
    /// Returns an SQL expression for the current connection's number. On PostgreSQL, the expression
    /// claims one.
    #[doc(hidden)]
    pub fn connection_number(self) -> &'static str {
        match self {
            Dialect::PostgreSql => POSTGRES_NUMBER,
            Dialect::MySql => MYSQL_NUMBER,
            Dialect::Sqlite => "0",
        }
    }

    /// The slot that this connection counts in, as SQL: `1 + CONNECTION_ID() % 32`, for example. On
    /// SQLite, which has one writer at a time, it's always slot 0.
    pub(crate) fn slot<'a, DB: CounterBackend>(
        self,
        shape: &Shape<'_>,
    ) -> impl Part<'a, DB> + Copy + use<'a, DB> {
        let slots = Number(shape.slots.max(1) as usize);
        let has_one_slot = shape.slots <= 1;
        let choice = shape.choice;
        part!(match (self, choice) {
            (Dialect::Sqlite, _) => "0",
            _ if has_one_slot => "1",
            (Dialect::PostgreSql, Slot::Connection) => "1 + {POSTGRES_NUMBER} % {slots}",
            (Dialect::PostgreSql, Slot::Random) => "1 + floor(random() * {slots})::int",
            (Dialect::MySql, Slot::Connection) => "1 + {MYSQL_NUMBER} % {slots}",
            (Dialect::MySql, Slot::Random) => "1 + FLOOR(RAND() * {slots})",
        })
    }

    /// A statement that claims a number for the session, unless it already has one. On SQLite,
    /// there are no numbers, so the statement does nothing.
    pub(crate) fn claim<'a, DB: CounterBackend>(self) -> Sql<'a, DB> {
        match self {
            Dialect::PostgreSql => sql!("SELECT {POSTGRES_NUMBER}"),
            Dialect::MySql => sql!(
                "SET @diesel_counters_number = COALESCE(@diesel_counters_number, {MYSQL_CLAIM})"
            ),
            Dialect::Sqlite => sql!("SELECT (1)"),
        }
    }
}

/// The session's number. If it has none, it claims the lowest free one: it holds an advisory lock
/// on the number until the session ends, and keeps the number in a setting. If the transaction that
/// claimed it rolls back, the setting is an empty text, and the next statement claims a number
/// again, because a session can take its own lock twice. If all 1,000 numbers are taken, this is
/// the process ID of the backend.
const POSTGRES_NUMBER: &str = "\
    COALESCE(NULLIF(current_setting('diesel_counters.number', true), '')::int, \
    (SELECT set_config('diesel_counters.number', n::text, false)::int \
    FROM generate_series(0, 999) AS n \
    WHERE pg_try_advisory_lock(hashtext('diesel_counters'), n) LIMIT 1), pg_backend_pid())";

const MYSQL_NUMBER: &str = "COALESCE(@diesel_counters_number, CONNECTION_ID())";

/// Claims the lowest number that no other session of the database has. It's a recursion, because a
/// `WHERE` could lock all numbers before a `LIMIT` ends the query. MySQL and MariaDB end a
/// recursion after 1,000 steps by default. A lock's name can have at most 64 characters.
const MYSQL_CLAIM: &str = "\
    (WITH RECURSIVE numbers (n, is_claimed) AS (\
    SELECT 0, GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters.number', DATABASE(), 0), 224), 0) \
    UNION ALL \
    SELECT n + 1, GET_LOCK(SHA2(CONCAT_WS('/', 'diesel_counters.number', DATABASE(), n + 1), 224), 0) \
    FROM numbers WHERE is_claimed = 0 AND n < 998) \
    SELECT n FROM numbers WHERE is_claimed = 1)";
