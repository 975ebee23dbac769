//! The slot of a connection, and the number that it claims.

use super::{Bind, CounterBackend, Dialect, Part, Sql, part, sql};
use crate::shape::{Name, Shape};
use crate::slot::{Partition, SessionSlot, SlotRange};

impl Dialect {
    /// Returns an SQL expression for the number of the current connection. On PostgreSQL, it claims
    /// one.
    #[doc(hidden)]
    pub fn connection_number(self) -> String {
        match self {
            Dialect::PostgreSql => {
                format!("COALESCE({POSTGRES_CLAIMED}, pg_backend_pid())")
            }
            Dialect::MySql => MYSQL_NUMBER_OR_ID.to_owned(),
            Dialect::Sqlite => "0".to_owned(),
        }
    }

    /// One of `slots`, chosen by the number of the connection. On PostgreSQL, it is the length of a
    /// setting of the session. The first statement of the session claims a number and makes the
    /// setting. It is an error then if the database has another partition.
    ///
    /// The query that makes the setting is a bind value: `pg_stat_activity` shows no more than 1 kB
    /// of a statement. Each increment therefore sends 1 kB. `ts_rewrite` runs the text of a
    /// query. It is in an argument, so that it runs before the setting is read, and `IS NULL`
    /// is false. As a subquery, each statement would initialize its plan.
    pub(crate) fn slot<'a, DB: CounterBackend>(
        self,
        shape: &'a Shape<'_>,
        slots: &'a SlotRange,
    ) -> impl Part<'a, DB> + Copy {
        let SlotRange {
            first,
            before,
            span,
            count,
            partition,
            ..
        } = slots;
        let of = &partition.of;
        let is_postgres = self == Dialect::PostgreSql;
        let session = is_postgres.then(|| slots.session(&shape.first_slots, postgres_session));
        let setting = session.map(|session| Bind::Text(&session.setting));
        let make = session.map(|session| Bind::Text(&session.make));
        part!(match self {
            Dialect::PostgreSql =>
                "{before} + LEAST(octet_length(COALESCE(NULLIF(current_setting({setting}, true), ''), \
                 current_setting({setting}, pg_catalog.ts_rewrite('a', {make}) IS NULL))), {span})",
            // CONNECTION_ID() is unsigned, and the slot can be negative.
            Dialect::MySql => "{first} + CAST({MYSQL_NUMBER_OR_ID} % {count} AS SIGNED) * {of}",
            Dialect::Sqlite => "0",
        })
    }

    /// This slot of a partition. On PostgreSQL, it is an error if the database has another one.
    pub(crate) fn own_slot<'a, DB: CounterBackend>(
        self,
        partition: &'a Partition,
        slot: &'a i16,
    ) -> impl Part<'a, DB> + Copy {
        let Partition { index, of, .. } = partition;
        part!(match self {
            Dialect::PostgreSql =>
                "CASE WHEN {POSTGRES_PARTITION} <> ({index}, {of}) THEN {POSTGRES_OTHER_PARTITION} \
                 ELSE {slot} END",
            _ => "{slot}",
        })
    }

    /// A condition that is true for the rows of a partition. There is none for the only node.
    pub(crate) fn is_own<'a, DB: CounterBackend>(
        self,
        partition: &'a Partition,
        slot: Name<'a>,
    ) -> Option<Sql<'a, DB>> {
        if partition.is_whole() || self == Dialect::Sqlite {
            return None;
        }
        let merged = &partition.merged;
        let of = &partition.of;
        let index = &partition.index;
        Some(sql!(
            "({slot} = {merged} OR {slot} > 0 AND ({slot} - 1) % {of} = {index})"
        ))
    }

    /// A statement that claims a number for the session, unless it has one.
    pub(crate) fn claim<'a, DB: CounterBackend>(self) -> Sql<'a, DB> {
        match self {
            Dialect::PostgreSql => sql!("SELECT {POSTGRES_CLAIMED}"),
            Dialect::MySql => {
                sql!(
                    "SET @diesel_counters_length = \
                     COALESCE(NULLIF(@diesel_counters_length, ''), REPEAT('x', 1 + {MYSQL_CLAIM}))"
                )
            }
            Dialect::Sqlite => sql!("SELECT (1)"),
        }
    }
}

/// The setting of a PostgreSQL database or role: `1/3` is the second of three partitions. Numbers
/// are compared, because triggers read `01/3` too.
const POSTGRES_PARTITION: &str = "\
    (CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 1) AS INTEGER), \
    CAST(split_part(NULLIF(current_setting('diesel_counters.partition', true), ''), '/', 2) AS INTEGER))";

const POSTGRES_OTHER_PARTITION: &str = "\
    CAST('the partition of this statement is not that of the database, \
    diesel_counters.partition = ' || current_setting('diesel_counters.partition') || \
    ': call set_default_slot at the start of main' AS INTEGER)";

/// The number that the session has claimed, or one that this claims: the least that no other
/// session has. The session holds an advisory lock on the number until it ends, even if the setting
/// is rolled back, and is an empty text then. Whoever has used the session before, through a
/// pooler, can have set it to anything: what is no number is claimed again. `generate_series` is in
/// a `SELECT`, because in a `FROM` it would make all its rows first.
const POSTGRES_CLAIMED: &str = "COALESCE(\
    CAST(substring(current_setting('diesel_counters.number', true) from '^[0-9]{1,9}$') AS INTEGER), \
    (SELECT CAST(set_config('diesel_counters.number', CAST(number AS TEXT), false) AS INTEGER) \
    FROM (SELECT generate_series(0, 32766) AS number) AS numbers \
    WHERE pg_try_advisory_lock(hashtext('diesel_counters'), number) LIMIT 1))";

/// The setting of these slots, and a query that makes it and returns no row. Only the first
/// statement of a session runs the query. It has numbers and fixed texts only. Any text has a
/// length, whoever has set the setting.
fn postgres_session(slots: &SlotRange) -> SessionSlot {
    let SlotRange {
        count, partition, ..
    } = slots;
    let Partition { index, of, .. } = partition;
    let setting = format!("diesel_counters.slot_{count}_{index}_{of}");
    let make = format!(
        "SELECT CAST(NULL AS pg_catalog.tsquery), CAST(NULL AS pg_catalog.tsquery) \
         WHERE set_config('{setting}', repeat('x', 1 + {of} * (\
         CASE WHEN {POSTGRES_PARTITION} <> ({index}, {of}) THEN {POSTGRES_OTHER_PARTITION} \
         WHEN {count} > 1 THEN COALESCE({POSTGRES_CLAIMED}, pg_backend_pid()) ELSE 0 END \
         % {count})), false) IS NULL"
    );
    SessionSlot { setting, make }
}

/// The number of the session, or its id. The variable has one character more than the number: any
/// text has a length, whoever has set it. A regular expression would be compiled by each statement.
const MYSQL_NUMBER_OR_ID: &str =
    "COALESCE(NULLIF(CHAR_LENGTH(@diesel_counters_length), 0) - 1, CONNECTION_ID())";

/// Claims the least number that no other session of the database has. It is a recursion, because
/// a `WHERE` could lock all numbers before a `LIMIT` ends the query. MySQL and MariaDB end a
/// recursion after 1,000 steps by default. The names are as in
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
