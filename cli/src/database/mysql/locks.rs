//! Who waits for whom, from the views of MySQL and of MariaDB.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::dsl;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Bool, Double, Nullable, Text};
use diesel_counters::Dialect;

use super::lock_data;
use crate::catalogue::{CounterTable, Parent};
use crate::connection::AnyConnection;
use crate::doctor::counts_in;
use crate::doctor::database::{Database, Notes, WHO_WAITS};
use crate::doctor::report::{Activity, Look, ParentRow, Session, Wait};
use crate::sql::{quoted, sql};

pub const DATABASE: Database = Database {
    dialect: Dialect::MySql,
    version: "CONCAT(IF(VERSION() LIKE '%MariaDB%', 'MariaDB ', 'MySQL '), SUBSTRING_INDEX(VERSION(), '-', 1))",
    double: "DOUBLE",
    look,
    last_deadlock: super::deadlock::last_deadlock,
    no_deadlock: Some("none of this table is known; the server keeps only its last one"),
    table_locks: "performance_schema.metadata_locks shows which one",
    limit_statements,
    end_session: |id| format!("KILL {id}"),
    claim_slots: " Run claim_slot() on each new connection, as ClaimSlots does in a pool.",
};

#[derive(QueryableByName)]
struct Waiting {
    #[diesel(sql_type = BigInt)]
    waiter: i64,
    #[diesel(sql_type = BigInt)]
    holder: i64,
    #[diesel(sql_type = Text)]
    lock_name: String,
    /// Both of its names are quoted.
    #[diesel(sql_type = Text)]
    lock_table: String,
    #[diesel(sql_type = Nullable<Text>)]
    lock_data: Option<String>,
    #[diesel(sql_type = Nullable<Double>)]
    seconds: Option<f64>,
}

#[derive(QueryableByName)]
struct Connected {
    #[diesel(sql_type = BigInt)]
    id: i64,
    #[diesel(sql_type = Nullable<Text>)]
    user: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    application: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    command: Option<String>,
    #[diesel(sql_type = Nullable<Double>)]
    state_seconds: Option<f64>,
    #[diesel(sql_type = Nullable<Double>)]
    transaction_seconds: Option<f64>,
    #[diesel(sql_type = Nullable<Text>)]
    statement: Option<String>,
}

#[derive(QueryableByName)]
struct Clients {
    #[diesel(sql_type = BigInt)]
    clients: i64,
    #[diesel(sql_type = BigInt)]
    table_waits: i64,
}

/// Where the two differ: MariaDB has kept the views that MySQL 8 has moved.
struct Views {
    waiting: &'static str,
    sessions: &'static str,
    clients: [&'static str; 2],
}

/// InnoDB's times are in whole seconds, and by the clock of the system: not the session's,
/// which Diesel has set to UTC.
const MYSQL: Views = Views {
    waiting: "
        SELECT CAST(r.trx_mysql_thread_id AS SIGNED) AS waiter,
            CAST(b.trx_mysql_thread_id AS SIGNED) AS holder,
            CONCAT(l.lock_type, ' ', l.lock_mode, COALESCE(CONCAT(' on ', l.index_name), '')) AS lock_name,
            CASE l.index_name WHEN 'PRIMARY' THEN CAST(l.lock_data AS CHAR) END AS lock_data,
            CONCAT('`', REPLACE(l.object_schema, '`', '``'), '`.`', REPLACE(l.object_name, '`', '``'), '`') AS lock_table,
            1e0 * TIMESTAMPDIFF(SECOND, r.trx_wait_started,
                CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) AS seconds
        FROM performance_schema.data_lock_waits w
        JOIN performance_schema.data_locks l ON l.engine_lock_id = w.requesting_engine_lock_id
        JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_engine_transaction_id
        JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_engine_transaction_id
        ORDER BY seconds DESC, waiter",
    sessions: "
        SELECT CAST(t.processlist_id AS SIGNED) AS id, CAST(t.processlist_user AS CHAR) AS user,
            CAST(COALESCE((SELECT a.attr_value FROM performance_schema.session_connect_attrs a
                WHERE a.processlist_id = t.processlist_id AND a.attr_name = 'program_name' LIMIT 1),
                t.processlist_host) AS CHAR) AS application,
            CAST(t.processlist_command AS CHAR) AS command, 1e0 * t.processlist_time AS state_seconds,
            1e0 * TIMESTAMPDIFF(SECOND, x.trx_started,
                CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) AS transaction_seconds,
            CAST(COALESCE(t.processlist_info,
                (SELECT h.sql_text FROM performance_schema.events_statements_history h
                WHERE h.thread_id = t.thread_id AND h.sql_text IS NOT NULL
                ORDER BY h.event_id DESC LIMIT 1)) AS CHAR) AS statement
        FROM performance_schema.threads t
        LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = t.processlist_id
        WHERE FIND_IN_SET(t.processlist_id, ",
    clients: ["
        SELECT COUNT(*) AS clients, CAST(COALESCE(SUM(processlist_state LIKE 'Waiting for table%'
            AND LOCATE(LOWER(",
        "), LOWER(processlist_info))), 0) AS SIGNED) AS table_waits
        FROM performance_schema.threads
        WHERE type = 'FOREGROUND' AND processlist_id <> CONNECTION_ID() AND processlist_db = "],
};

const MARIADB: Views = Views {
    waiting: "
        SELECT CAST(r.trx_mysql_thread_id AS SIGNED) AS waiter,
            CAST(b.trx_mysql_thread_id AS SIGNED) AS holder,
            CONCAT(l.lock_type, ' ', l.lock_mode, COALESCE(CONCAT(' on ', l.lock_index), '')) AS lock_name,
            CASE l.lock_index WHEN 'PRIMARY' THEN CAST(l.lock_data AS CHAR) END AS lock_data,
            CAST(l.lock_table AS CHAR) AS lock_table,
            1e0 * TIMESTAMPDIFF(SECOND, r.trx_wait_started,
                CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) AS seconds
        FROM information_schema.innodb_lock_waits w
        JOIN information_schema.innodb_locks l ON l.lock_id = w.requested_lock_id
        JOIN information_schema.innodb_trx r ON r.trx_id = w.requesting_trx_id
        JOIN information_schema.innodb_trx b ON b.trx_id = w.blocking_trx_id
        ORDER BY seconds DESC, waiter",
    // It does not have what a session ran last.
    sessions: "
        SELECT CAST(p.id AS SIGNED) AS id, CAST(p.user AS CHAR) AS user,
            CAST(p.host AS CHAR) AS application, CAST(p.command AS CHAR) AS command,
            1e0 * p.time AS state_seconds,
            1e0 * TIMESTAMPDIFF(SECOND, x.trx_started,
                CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) AS transaction_seconds,
            CAST(p.info AS CHAR) AS statement
        FROM information_schema.processlist p
        LEFT JOIN information_schema.innodb_trx x ON x.trx_mysql_thread_id = p.id
        WHERE FIND_IN_SET(p.id, ",
    clients: ["
        SELECT COUNT(*) AS clients, CAST(COALESCE(SUM(state LIKE 'Waiting for table%'
            AND LOCATE(LOWER(",
        "), LOWER(info))), 0) AS SIGNED) AS table_waits
        FROM information_schema.processlist
        WHERE id <> CONNECTION_ID() AND db = "],
};

fn look(conn: &mut AnyConnection, counters: &CounterTable, notes: &mut Notes) -> Result<Look> {
    let is_mariadb = dsl::sql::<Bool>("VERSION() LIKE '%MariaDB%'");
    let is_on = dsl::sql::<Bool>("@@performance_schema");
    let (is_mariadb, is_on): (bool, bool) = diesel::select((is_mariadb, is_on)).get_result(conn)?;
    if !is_mariadb && !is_on {
        let why = "performance_schema is off: start the server with performance_schema = ON";
        notes.miss(WHO_WAITS, why, None);
        return Ok(Look::default());
    }
    let views = if is_mariadb { MARIADB } else { MYSQL };
    let table = &counters.table;
    let parent_of = |wait: &Waiting| {
        let is_parent = |p: &&Parent| wait.is_of(&p.in_schema, &p.table);
        counters.parent.as_ref().filter(is_parent)
    };
    let waiting = sql(views.waiting).load(conn);
    let mut waiting: Vec<Waiting> = allowed(conn, notes, WHO_WAITS, waiting)?.unwrap_or_default();
    waiting.retain(|wait| wait.is_of(&table.in_schema, &table.name) || parent_of(wait).is_some());
    let ids = waiting.iter().flat_map(|wait| [wait.waiter, wait.holder]);
    let ids: Vec<_> = ids.map(|id| id.to_string()).collect();
    let found = sql(views.sessions)
        .bind(&*ids.join(","))
        .sql(")")
        .load(conn);
    let found: Option<Vec<Connected>> = allowed(conn, notes, "who the sessions are", found)?;
    let sessions = found.unwrap_or_default().into_iter();
    let sessions: HashMap<i64, Session> = sessions.map(|s| (s.id, s.session(counters))).collect();

    let mut look = Look::default();
    for wait in &waiting {
        let Some(waiter) = sessions.get(&wait.waiter) else {
            continue;
        };
        let parent = parent_of(wait);
        let statement = waiter.activity.statement.as_deref();
        // A session that does not count may wait for the parent's row, too.
        if parent.is_some() && counts_in(counters, statement) != Some(true) {
            continue;
        }
        let is_new = look
            .waits
            .last()
            .is_none_or(|last| last.waiter.id != waiter.id);
        if is_new {
            let data = wait.lock_data.as_ref().filter(|_| parent.is_none());
            let kind = counters.entity.as_ref().map(|entity| entity.kind);
            let row = data.and_then(|data| lock_data::row(data, kind));
            look.waits.push(Wait {
                waiter: waiter.clone(),
                seconds: wait.seconds.unwrap_or_default(),
                lock: wait.lock_name.clone(),
                rows: row.into_iter().collect(),
                parent_row: parent.and_then(|parent| ParentRow::of(counters, &parent.table)),
                holders: Vec::new(),
            });
        }
        if let (Some(last), Some(holder)) = (look.waits.last_mut(), sessions.get(&wait.holder)) {
            let mut holder = holder.clone();
            holder.activity.counted_earlier &= parent.is_none();
            if is_mariadb && holder.activity.statement.is_none() {
                let what = "the last statement of a session that runs none";
                notes.miss(what, "MariaDB does not show it", None);
            }
            last.holders.push(holder);
        }
    }

    let [before, after] = views.clients;
    let clients = sql(before)
        .bind(&*table.name)
        .sql(after)
        .bind(&*table.in_schema);
    let clients = clients.get_result::<Clients>(conn);
    // Without the right to see who waits, MariaDB shows a user only its own sessions.
    match allowed(conn, notes, "how many clients are connected", clients)? {
        Some(found) if notes.not_seen.iter().all(|missed| missed.what != WHO_WAITS) => Ok(Look {
            clients: Some(found.clients),
            table_waits: found.table_waits,
            ..look
        }),
        _ => Ok(look),
    }
}

impl Waiting {
    /// MariaDB writes the partition behind the name.
    fn is_of(&self, schema: &str, table: &str) -> bool {
        let sql = |name| quoted(Dialect::MySql, name);
        let name = self.lock_table.split(" /*").next();
        name == Some(&format!("{}.{}", sql(schema), sql(table)))
    }
}

impl Connected {
    fn session(self, counters: &CounterTable) -> Session {
        let sleeps = self.command.as_deref() == Some("Sleep");
        let idle_in_transaction = sleeps && self.transaction_seconds.is_some();
        let state = match (idle_in_transaction, sleeps) {
            (true, _) => "idle in transaction",
            (false, true) => "idle",
            (false, false) => "active",
        };
        let runs_another = counts_in(counters, self.statement.as_deref()) == Some(false);
        Session {
            id: self.id,
            user: self.user,
            application: self.application,
            idle_seconds: self.state_seconds.filter(|_| idle_in_transaction),
            transaction_seconds: self.transaction_seconds,
            activity: Activity {
                state: state.to_owned(),
                statement: self.statement,
                // A session that holds a counter's row has counted.
                counted_earlier: idle_in_transaction || runs_another,
            },
        }
    }
}

/// What was found; or None, when the account lacks a right.
pub fn allowed<T>(
    conn: &mut AnyConnection,
    notes: &mut Notes,
    what: &str,
    found: QueryResult<T>,
) -> Result<Option<T>> {
    let why = match found {
        Err(Error::DatabaseError(_, why)) if why.message().contains("denied") => why,
        found => return Ok(Some(found?)),
    };
    let account =
        dsl::sql::<Text>("CONCAT('`', REPLACE(CAST(CURRENT_USER() AS CHAR), '@', '`@`'), '`')");
    let account: String = diesel::select(account).get_result(conn)?;
    let right = match why.message().contains("PROCESS") {
        true => "PROCESS ON *.*",
        false => "SELECT ON performance_schema.*",
    };
    notes.miss(
        what,
        why.message(),
        Some(format!("GRANT {right} TO {account}")),
    );
    Ok(None)
}

/// The second one is MariaDB's name for it.
fn limit_statements(conn: &mut AnyConnection, time: Duration) -> QueryResult<()> {
    let (milliseconds, seconds) = (time.as_millis(), time.as_secs());
    conn.batch_execute(&format!("SET SESSION max_execution_time = {milliseconds}"))
        .or_else(|_| conn.batch_execute(&format!("SET SESSION max_statement_time = {seconds}")))
}
