//! Who waits for whom, from the views of MySQL and of MariaDB.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};
use diesel::sql_types::{BigInt, Double, Nullable, Text};
use diesel_counters::Dialect;

use super::lock_data;
use crate::catalogue::{CounterTable, Parent};
use crate::connection::AnyConnection;
use crate::doctor::counts_in;
use crate::doctor::database::{Notes, WHO_WAITS, Words};
use crate::doctor::report::{Look, ParentRow, Session, Wait};
use crate::sql::{quoted, sql};

pub const WORDS: Words = Words {
    double: "DOUBLE",
    no_deadlock: Some("the server's last deadlock is not known to be one of this table"),
    table_locks: "performance_schema.metadata_locks shows which one",
    parent_row: [
        "Change its rows last in a transaction, and commit at once.",
        "a transaction that changes it or has locked it FOR UPDATE holds it",
    ],
    end_session: |id| format!("KILL {id}"),
    claim_slots: " Run claim_slot() on each new connection, as ClaimSlots does in a pool.",
};

#[derive(QueryableByName)]
struct Server {
    #[diesel(sql_type = Text)]
    version: String,
    #[diesel(sql_type = BigInt)]
    performance_schema: i64,
}

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

#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
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

const SERVER: &str = "SELECT CAST(VERSION() AS CHAR) AS version,
    CAST(@@performance_schema AS SIGNED) AS performance_schema";

pub fn version(conn: &mut AnyConnection) -> Result<String> {
    let server: Server = sql(SERVER).get_result(conn)?;
    let number = server.version.split('-').next().unwrap_or_default();
    Ok(match server.is_mariadb() {
        true => format!("MariaDB {number}"),
        false => format!("MySQL {number}"),
    })
}

impl Server {
    fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }
}

pub fn look(conn: &mut AnyConnection, counters: &CounterTable, notes: &mut Notes) -> Result<Look> {
    let server: Server = sql(SERVER).get_result(conn)?;
    let views = match server.is_mariadb() {
        true => MARIADB,
        false => MYSQL,
    };
    if !server.is_mariadb() && server.performance_schema == 0 {
        let why = "performance_schema is off: start the server with performance_schema = ON";
        notes.miss(WHO_WAITS, why, None);
        return Ok(Look::default());
    }
    let waiting = sql(views.waiting).load(conn);
    let waiting: Vec<Waiting> = allowed(conn, notes, WHO_WAITS, waiting)?.unwrap_or_default();
    let parent = counters.parent.as_ref();
    let of_parent = |wait: &Waiting| parent.filter(|p| wait.is_of(&p.in_schema, &p.table));
    let table = &counters.table;
    let waiting = waiting
        .into_iter()
        .filter(|wait| wait.is_of(&table.in_schema, &table.name) || of_parent(wait).is_some());
    let waiting: Vec<_> = waiting.collect();
    let sessions = sessions(conn, counters, &views, &waiting, notes)?;

    let mut look = Look::default();
    for wait in &waiting {
        let Some(waiter) = sessions.get(&wait.waiter) else {
            continue;
        };
        let parent = of_parent(wait);
        // A session that does not count may wait for the parent's row, too.
        if parent.is_some() && counts_in(counters, waiter.statement.as_deref()) != Some(true) {
            continue;
        }
        if look
            .waits
            .last()
            .is_none_or(|last| last.waiter.id != waiter.id)
        {
            let entity = counters.entity.as_ref().map(|entity| entity.kind);
            let data = wait.lock_data.as_ref().filter(|_| parent.is_none());
            let row = data.and_then(|data| lock_data::row(data, entity));
            look.waits.push(Wait {
                waiter: waiter.clone(),
                seconds: wait.seconds.unwrap_or_default(),
                lock: wait.lock_name.clone(),
                rows: row.into_iter().collect(),
                parent_row: parent.map(|p| parent_row(conn, counters, p)).transpose()?,
                holders: Vec::new(),
            });
        }
        if let (Some(last), Some(holder)) = (look.waits.last_mut(), sessions.get(&wait.holder)) {
            if server.is_mariadb() && holder.statement.is_none() {
                let what = "the last statement of a session that runs none";
                notes.miss(what, "MariaDB does not show it", None);
            }
            last.holders.push(Session {
                counted_earlier: parent.is_none() && holder.counted_earlier,
                ..holder.clone()
            });
        }
    }

    let [before, after] = views.clients;
    let clients = sql(before).bind(table.name.as_str()).sql(after);
    let clients = clients.bind(table.in_schema.as_str()).get_result(conn);
    let clients: Option<Clients> = allowed(conn, notes, "how many clients are connected", clients)?;
    // Without the right to see who waits, MariaDB shows a user only its own sessions.
    if let Some(clients) = clients.filter(|_| !notes.is_blind()) {
        look.clients = Some(clients.clients);
        look.table_waits = clients.table_waits as usize;
    }
    Ok(look)
}

impl Waiting {
    /// MariaDB writes the partition behind the name.
    fn is_of(&self, schema: &str, table: &str) -> bool {
        let sql = |name| quoted(Dialect::MySql, name);
        let name = self.lock_table.split(" /*").next();
        name == Some(&format!("{}.{}", sql(schema), sql(table)))
    }
}

const FOREIGN_KEY: &str = "
    SELECT CAST(constraint_name AS CHAR) AS name FROM information_schema.key_column_usage
    WHERE table_schema = ";

fn parent_row(
    conn: &mut AnyConnection,
    counters: &CounterTable,
    parent: &Parent,
) -> Result<ParentRow> {
    let foreign_key: Name = sql(FOREIGN_KEY)
        .bind(counters.table.in_schema.as_str())
        .sql(" AND table_name = ")
        .bind(counters.table.name.as_str())
        .sql(" AND referenced_table_schema = ")
        .bind(parent.in_schema.as_str())
        .sql(" AND referenced_table_name = ")
        .bind(parent.table.as_str())
        .sql(" LIMIT 1")
        .get_result(conn)?;
    Ok(ParentRow {
        table: parent.table.clone(),
        foreign_key: foreign_key.name,
    })
}

fn sessions(
    conn: &mut AnyConnection,
    counters: &CounterTable,
    views: &Views,
    waiting: &[Waiting],
    notes: &mut Notes,
) -> Result<HashMap<i64, Session>> {
    if waiting.is_empty() {
        return Ok(HashMap::new());
    }
    let ids: Vec<_> = waiting
        .iter()
        .flat_map(|wait| [wait.waiter.to_string(), wait.holder.to_string()])
        .collect();
    let found = sql(views.sessions)
        .bind(ids.join(",").as_str())
        .sql(")")
        .load(conn);
    let found: Option<Vec<Connected>> = allowed(conn, notes, "who the sessions are", found)?;
    let sessions = found.unwrap_or_default().into_iter();
    Ok(sessions.map(|s| (s.id, s.session(counters))).collect())
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
        Session {
            id: self.id,
            user: self.user,
            application: self.application,
            state: state.to_owned(),
            idle_seconds: self.state_seconds.filter(|_| idle_in_transaction),
            transaction_seconds: self.transaction_seconds,
            // A session that holds a counter's row has counted.
            counted_earlier: idle_in_transaction
                || counts_in(counters, self.statement.as_deref()) == Some(false),
            statement: self.statement,
        }
    }
}

/// What was found; or None, when the account lacks a right, or a lock was waited for.
pub fn allowed<T>(
    conn: &mut AnyConnection,
    notes: &mut Notes,
    what: &str,
    found: QueryResult<T>,
) -> Result<Option<T>> {
    let why = match found {
        Err(Error::DatabaseError(_, why)) if why.message().contains("Lock wait timeout") => {
            notes.miss(what, why.message(), None);
            return Ok(None);
        }
        Err(Error::DatabaseError(DatabaseErrorKind::Unknown, why))
            if why.message().contains("denied") =>
        {
            why.message().to_owned()
        }
        found => return Ok(Some(found?)),
    };
    let right = match why.contains("PROCESS") {
        true => "PROCESS ON *.*",
        false => "SELECT ON performance_schema.*",
    };
    let account =
        "SELECT CONCAT('`', REPLACE(CAST(CURRENT_USER() AS CHAR), '@', '`@`'), '`') AS name";
    let account: Name = sql(account).get_result(conn)?;
    notes.miss(
        what,
        &why,
        Some(format!("GRANT {right} TO {}", account.name)),
    );
    Ok(None)
}

/// The second one is MariaDB's name for it.
pub fn limit_statements(conn: &mut AnyConnection, time: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!(
        "SET SESSION max_execution_time = {}",
        time.as_millis()
    ))
    .or_else(|_| {
        conn.batch_execute(&format!(
            "SET SESSION max_statement_time = {}",
            time.as_secs()
        ))
    })
}
