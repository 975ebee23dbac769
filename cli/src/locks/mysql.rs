//! The waits for rows, from the views of MySQL and of MariaDB.

use std::time::Duration;

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::dsl;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{Bool, Text};

use super::lock_row;
use super::looks::{Looks, WHO_WAITS};
use super::seen::{Look, Session};
use super::waits::{LockWait, ids, waits};
use crate::connection::AnyConnection;
use crate::database::MYSQL;
use crate::sql::sql;

/// Where the two differ: MariaDB has kept the views that MySQL 8 has moved.
struct Views {
    /// The locks that transactions wait for.
    waits: &'static str,
    processlist: &'static str,
}

const OF_MYSQL: Views = Views {
    waits: "
        (SELECT requesting_engine_transaction_id AS waiter, blocking_engine_transaction_id AS holder,
            lock_type, lock_mode, index_name, lock_data,
            CONCAT('`', REPLACE(l.object_schema, '`', '``'), '`.`', REPLACE(l.object_name, '`', '``'), '`') AS lock_table
        FROM performance_schema.data_lock_waits w
        JOIN performance_schema.data_locks l ON l.engine_lock_id = w.requesting_engine_lock_id)",
    // With what an idle session ran last, and with the application's name.
    processlist: "
        (SELECT processlist_id AS id, processlist_user AS user, processlist_db AS db,
            processlist_command AS command, processlist_time AS time, processlist_state AS state,
            COALESCE(processlist_info, (SELECT h.sql_text FROM performance_schema.events_statements_history h
                WHERE h.thread_id = t.thread_id AND h.sql_text IS NOT NULL
                ORDER BY h.event_id DESC LIMIT 1)) AS info,
            COALESCE((SELECT a.attr_value FROM performance_schema.session_connect_attrs a
                WHERE a.processlist_id = t.processlist_id AND a.attr_name = 'program_name' LIMIT 1),
                processlist_host) AS host
        FROM performance_schema.threads t WHERE type = 'FOREGROUND')",
};

const OF_MARIADB: Views = Views {
    // It writes the partition behind the table's name.
    waits: "
        (SELECT requesting_trx_id AS waiter, blocking_trx_id AS holder,
            lock_type, lock_mode, lock_index AS index_name, lock_data,
            SUBSTRING_INDEX(lock_table, ' /*', 1) AS lock_table
        FROM information_schema.innodb_lock_waits
        JOIN information_schema.innodb_locks ON lock_id = requested_lock_id)",
    processlist: "information_schema.processlist",
};

/// InnoDB's times are in whole seconds, and by the clock of the system: not the session's,
/// which Diesel has set to UTC.
const LOCK_WAITS: &str = "
    SELECT CAST(r.trx_mysql_thread_id AS SIGNED) AS waiter, CAST(b.trx_mysql_thread_id AS SIGNED) AS holder,
        COALESCE(1e0 * TIMESTAMPDIFF(SECOND, r.trx_wait_started,
            CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')), 0) AS seconds,
        CONCAT(l.lock_type, ' ', l.lock_mode, COALESCE(CONCAT(' on ', l.index_name), '')) AS lock_name,
        CASE l.index_name WHEN 'PRIMARY' THEN CAST(l.lock_data AS CHAR) END AS place,
        CAST(l.lock_table AS CHAR) AS parent, FALSE AS is_here
    FROM {waits} l
    JOIN information_schema.innodb_trx r ON r.trx_id = l.waiter
    JOIN information_schema.innodb_trx b ON b.trx_id = l.holder
    ORDER BY seconds DESC, waiter, holder";

const SESSIONS: &str = "
    SELECT CAST(p.id AS SIGNED) AS id, CAST(p.user AS CHAR) AS user,
        CAST(p.host AS CHAR) AS application, CAST(p.info AS CHAR) AS statement,
        CASE WHEN COALESCE(p.command, '') <> 'Sleep' THEN 'active'
            WHEN x.trx_id IS NULL THEN 'idle' ELSE 'idle in transaction' END AS state,
        CASE WHEN p.command = 'Sleep' AND x.trx_id IS NOT NULL THEN 1e0 * p.time END AS idle_seconds,
        1e0 * TIMESTAMPDIFF(SECOND, x.trx_started,
            CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) AS transaction_seconds,
        TRUE AS counted_earlier
    FROM {processlist} p LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id
    WHERE FIND_IN_SET(p.id, ";

const CLIENTS: [&str; 2] = [
    "SELECT COUNT(*) AS clients, CAST(COALESCE(SUM(p.state LIKE 'Waiting for table%' AND LOCATE(",
    ", p.info)), 0) AS SIGNED) AS table_waits
    FROM {processlist} p WHERE p.id <> CONNECTION_ID() AND p.db = ",
];

pub fn look(looks: &mut Looks<'_>) -> Result<Look> {
    let counters = looks.counters;
    let is_mariadb = dsl::sql::<Bool>("VERSION() LIKE '%MariaDB%'");
    let is_on = dsl::sql::<Bool>("@@performance_schema");
    let (is_mariadb, is_on): (bool, bool) =
        diesel::select((is_mariadb, is_on)).get_result(looks.conn)?;
    if !is_mariadb && !is_on {
        let why = "performance_schema is off: start the server with performance_schema = ON";
        looks.miss(WHO_WAITS, why, None);
        return Ok(Look::default());
    }
    let views = if is_mariadb { OF_MARIADB } else { OF_MYSQL };
    let table = &counters.table;
    let sql_table = MYSQL.quoted_in(Some(&table.in_schema), &table.name);
    let parent = counters.parent.as_ref();
    let sql_parent = parent.map(|p| MYSQL.quoted_in(Some(&p.in_schema), &p.table));
    let lock_waits = sql(LOCK_WAITS.replace("{waits}", views.waits));
    let lock_waits = allowed(looks, WHO_WAITS, |conn| lock_waits.load(conn))?;
    // Without this right, MariaDB shows a user only its own sessions.
    let Some::<Vec<LockWait>>(mut lock_waits) = lock_waits else {
        return Ok(Look::default());
    };
    for wait in &mut lock_waits {
        let lock_table = wait.parent.take();
        wait.is_here = lock_table.as_ref() == Some(&sql_table);
        let parent = parent.filter(|_| lock_table == sql_parent);
        wait.parent = parent.map(|parent| parent.table.clone());
    }
    lock_waits.retain(|wait| wait.is_here || wait.parent.is_some());
    let sessions = sql(SESSIONS.replace("{processlist}", views.processlist));
    let sessions = sessions.bind(&*ids(&lock_waits)).sql(")");
    let sessions = allowed(looks, WHO_WAITS, |conn| sessions.load(conn))?;
    let sessions: Vec<Session> = sessions.unwrap_or_default();
    let mut statements = sessions.iter().map(|session| &session.activity.statement);
    if is_mariadb && statements.any(Option::is_none) {
        let what = "the last statement of a session that runs none";
        looks.miss(what, "MariaDB does not show it", None);
    }
    let kinds: Vec<_> = counters.entity.iter().map(|entity| entity.kind).collect();
    let row = |wait: &LockWait| lock_row(wait.place.as_ref()?, &kinds);
    let rows = |wait: &LockWait| Ok(row(wait).into_iter().collect());
    let [before, after] = CLIENTS;
    let after = after.replace("{processlist}", views.processlist);
    let clients = sql(before)
        .bind(&*table.name)
        .sql(after)
        .bind(&*table.in_schema);
    let clients = allowed(looks, "who is connected", |conn| clients.get_result(conn))?;
    Ok(Look {
        waits: waits(&lock_waits, &sessions, counters, rows)?,
        clients: clients.unwrap_or_default(),
        write_lock_held: None,
    })
}

/// What a query finds; or None, when the account lacks a right.
pub fn allowed<T>(
    looks: &mut Looks<'_>,
    what: &str,
    query: impl FnOnce(&mut AnyConnection) -> QueryResult<T>,
) -> Result<Option<T>> {
    let why = match query(looks.conn) {
        Err(Error::DatabaseError(_, why)) if why.message().contains("denied") => why,
        found => return Ok(Some(found?)),
    };
    let account =
        dsl::sql::<Text>("CONCAT('`', REPLACE(CAST(CURRENT_USER() AS CHAR), '@', '`@`'), '`')");
    let account: String = diesel::select(account).get_result(looks.conn)?;
    let right = match why.message().contains("PROCESS") {
        true => "PROCESS ON *.*",
        false => "SELECT ON performance_schema.*",
    };
    let grant = format!("GRANT {right} TO {account}");
    looks.miss(what, why.message(), Some(grant));
    Ok(None)
}

/// The second one is MariaDB's name for it.
pub fn limit_statements(time: Duration, conn: &mut AnyConnection) -> QueryResult<()> {
    let (milliseconds, seconds) = (time.as_millis(), time.as_secs());
    conn.batch_execute(&format!("SET SESSION max_execution_time = {milliseconds}"))
        .or_else(|_| conn.batch_execute(&format!("SET SESSION max_statement_time = {seconds}")))
}
