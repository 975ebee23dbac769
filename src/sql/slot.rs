//! The slot of a connection, and the number that it claims.

use diesel::backend::Backend;

use super::{Dialect, Sql, sql};
use crate::shape::Name;
use crate::slot::{Partition, SlotRange};

impl Dialect {
    /// Returns an SQL expression for the number of the current connection. On PostgreSQL, it claims one.
    #[doc(hidden)]
    pub fn connection_number(self) -> String {
        match self {
            Dialect::PostgreSql => {
                format!("COALESCE({POSTGRES_NUMBER}, {POSTGRES_CLAIM}, pg_backend_pid())")
            }
            Dialect::MySql => MYSQL_NUMBER_OR_ID.to_owned(),
            Dialect::Sqlite => "0".to_owned(),
        }
    }

    /// The slot of a row: one of `slots`, chosen by the number of the connection. The first row of a
    /// statement claims the number, if the connection has none. On PostgreSQL, it is an error there if the
    /// database has another partition.
    pub(crate) fn slot<'a, DB: Backend>(
        self,
        slots: &'a SlotRange,
        is_first_row: bool,
    ) -> Sql<'a, DB> {
        let (first, count, of) = (&slots.first, &slots.count, &slots.partition.of);
        match self {
            Dialect::PostgreSql if is_first_row => {
                // With one slot to choose from, the session does not need a number.
                let number = sql!(
                    "CASE WHEN {count} > 1 THEN \
                     COALESCE({POSTGRES_NUMBER}, {POSTGRES_CLAIM}, pg_backend_pid()) ELSE 0 END"
                );
                let number = in_own_partition(&slots.partition, number);
                sql!("{first} + {of} * ({number} % {count})")
            }
            Dialect::PostgreSql => {
                sql!("{first} + {of} * (COALESCE({POSTGRES_NUMBER}, pg_backend_pid()) % {count})")
            }
            // CONNECTION_ID() is unsigned, and the slot can be negative.
            Dialect::MySql => {
                sql!("{first} + CAST({MYSQL_NUMBER_OR_ID} % {count} AS SIGNED) * {of}")
            }
            // SQLite has one writer at a time: more slots would gain nothing.
            Dialect::Sqlite => sql!("0"),
        }
    }

    /// This slot of a partition. On PostgreSQL, it is an error if the database has another one.
    pub(crate) fn own_slot<'a, DB: Backend>(
        self,
        partition: &'a Partition,
        slot: &'a i16,
    ) -> Sql<'a, DB> {
        match self {
            Dialect::PostgreSql => in_own_partition(partition, sql!("{slot}")),
            _ => sql!("{slot}"),
        }
    }

    /// A condition that is true for the rows of a partition. There is none for the only node.
    pub(crate) fn is_own<'a, DB: Backend>(
        self,
        partition: &'a Partition,
        slot: Name<'a>,
    ) -> Option<Sql<'a, DB>> {
        if partition.is_whole() || self == Dialect::Sqlite {
            return None;
        }
        let (merged, of, index) = (&partition.merged, &partition.of, &partition.index);
        Some(sql!(
            "({slot} = {merged} OR {slot} > 0 AND ({slot} - 1) % {of} = {index})"
        ))
    }

    /// A statement that claims a number for the session, unless it has one.
    pub(crate) fn claim<'a, DB: Backend>(self) -> Sql<'a, DB> {
        match self {
            Dialect::PostgreSql => sql!("SELECT COALESCE({POSTGRES_NUMBER}, {POSTGRES_CLAIM})"),
            Dialect::MySql => {
                sql!("SET {MYSQL_NUMBER} = COALESCE({MYSQL_NUMBER}, {MYSQL_CLAIM})")
            }
            Dialect::Sqlite => sql!("SELECT (1)"),
        }
    }
}

/// An expression for PostgreSQL. It is an error if the database or role has another partition than the
/// statement, and otherwise the value.
fn in_own_partition<'a, DB: Backend>(partition: &'a Partition, value: Sql<'a, DB>) -> Sql<'a, DB> {
    let Partition { index, of, .. } = partition;
    sql!("{POSTGRES_OTHER_PARTITION}{index}, {of}{POSTGRES_PARTITION_ERROR}{value} END")
}

/// The beginning of a comparison of a partition with the setting of a PostgreSQL database or role: `1/3`
/// is the second of three partitions. Numbers are compared, because triggers read `01/3` too.
const POSTGRES_OTHER_PARTITION: &str = "\
    CASE WHEN (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) \
    AS INTEGER), \
    CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) \
    AS INTEGER)) <> (";

const POSTGRES_PARTITION_ERROR: &str = "\
    ) THEN CAST('the partition of this statement is not that of the database, \
    diesel_counters.partition = ' || current_setting('diesel_counters.partition') || \
    ': call set_default_slot at the start of main' AS INTEGER) ELSE ";

/// The number that the session has claimed, or NULL. If the transaction that set it for the first
/// time was rolled back, the setting is an empty text. Whoever has used the session before, through a
/// pooler, can have set it to anything: what is no number is claimed again.
const POSTGRES_NUMBER: &str = "\
    CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER)";

/// Claims the least number that no other session has. The session holds an advisory lock on the
/// number until the session ends, even if the setting is rolled back. `generate_series` is in a
/// `SELECT`, because in a `FROM` it would make all its rows first.
const POSTGRES_CLAIM: &str = "\
    (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) \
    FROM (SELECT generate_series(0, 32766) AS number) AS numbers \
    WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1)";

const MYSQL_NUMBER: &str = "@diesel_counters_number";

/// The number of the session, or its id. The session can have set the variable to anything.
const MYSQL_NUMBER_OR_ID: &str = "IF(@diesel_counters_number REGEXP '^[0-9]{1,9}$', \
    @diesel_counters_number, CONNECTION_ID())";

/// Claims the least number that no other session of the database has. It is a recursion, because
/// a `WHERE` could lock all numbers before a `LIMIT` ends the query. MySQL and MariaDB end a
/// recursion after 1,000 steps by default. The names of the locks are made as in
/// [`session_lock`](Dialect::session_lock).
const MYSQL_CLAIM: &str = "\
    (WITH RECURSIVE diesel_counters_numbers (number, claimed) AS (\
    SELECT 0, GET_LOCK(CONVERT(SHA2(CONVERT(CONCAT_WS(\
    '/', 'diesel_counters.number', DATABASE(), 0) USING utf8mb4), 224) USING utf8mb4), 0) \
    UNION ALL \
    SELECT number + 1, GET_LOCK(CONVERT(SHA2(CONVERT(CONCAT_WS(\
    '/', 'diesel_counters.number', DATABASE(), number + 1) USING utf8mb4), 224) USING utf8mb4), 0) \
    FROM diesel_counters_numbers WHERE claimed = 0 AND number < 998) \
    SELECT number FROM diesel_counters_numbers WHERE claimed = 1)";
