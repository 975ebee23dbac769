//! Who waits for whom, from `pg_locks` and `pg_stat_activity`.

use std::time::{Duration, Instant};

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::dsl;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Bool, Double, Nullable, Text};
use diesel_counters::Dialect;

use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::doctor::counts_in;
use crate::doctor::database::{Database, Notes};
use crate::doctor::report::{Activity, Look, ParentRow, Row, Session, Wait};
use crate::entity::as_text;
use crate::sql::{quoted, sql};

pub const DATABASE: Database = Database {
    dialect: Dialect::PostgreSql,
    version: "'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1)",
    double: "DOUBLE PRECISION",
    look,
    last_deadlock: |_, _, _| Ok(None),
    no_deadlock: Some(
        "PostgreSQL writes deadlocks to the server's log: search it for \"deadlock detected\"",
    ),
    table_locks: "pg_locks shows which one",
    limit_statements,
    end_session: |id| format!("SELECT pg_terminate_backend({id})"),
    claim_slots: "",
};

const CLIENTS: &str = "
    (SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND coalesce(backend_type, 'client backend') = 'client backend')";

/// What stands in place of a statement that the user may not see.
const HIDDEN: &str = "<insufficient privilege>";

/// A session that waits, or that blocks one that does.
#[derive(QueryableByName)]
struct Seen {
    #[diesel(sql_type = BigInt)]
    pid: i64,
    #[diesel(sql_type = Nullable<Text>)]
    usename: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    application: Option<String>,
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = Nullable<Double>)]
    idle_seconds: Option<f64>,
    #[diesel(sql_type = Nullable<Double>)]
    transaction_seconds: Option<f64>,
    #[diesel(sql_type = Nullable<Text>)]
    query: Option<String>,
    #[diesel(sql_type = Bool)]
    has_written: bool,
    /// In which it waits for a row, or has locked rows.
    #[diesel(sql_type = Nullable<Text>)]
    parent: Option<String>,
    /// What follows is null where it does not wait.
    #[diesel(sql_type = Nullable<Text>)]
    lock: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    ctid: Option<String>,
    /// The table of the row, or its partition.
    #[diesel(sql_type = Nullable<BigInt>)]
    relation: Option<i64>,
    #[diesel(sql_type = Bool)]
    is_here: bool,
    #[diesel(sql_type = Nullable<Text>)]
    xid: Option<String>,
    #[diesel(sql_type = Double)]
    seconds: f64,
    /// Separated by commas.
    #[diesel(sql_type = Text)]
    blockers: String,
}

/// A session that waits for a row is seen waiting for the transaction that holds it; only the
/// second one in a queue may be seen waiting for the row. So a session is looked at if it has
/// locked rows of the table, and (below) if its statement names the table. The first one in the
/// queue has locked the place of the row (its tuple), unless the row is not committed yet or
/// it has met the row in an index, as ON CONFLICT does.
///
/// `waitstart` is read as JSON because there is none before PostgreSQL 14.
const SESSIONS: [&str; 2] = [
    "WITH locks AS MATERIALIZED (
        SELECT * FROM pg_locks WHERE database IS NULL OR database IN (
            0, (SELECT oid FROM pg_database WHERE datname = current_database()))
    ), target AS (SELECT CAST(",
    " AS regclass) AS id), tables AS MATERIALIZED (
        SELECT id FROM target UNION SELECT relid FROM target, pg_partition_tree(id)
    ), parents AS MATERIALIZED (
        SELECT confrelid AS id FROM pg_constraint JOIN target ON conrelid = id WHERE contype = 'f'
    ), waiting AS MATERIALIZED (
        SELECT w.pid, w.locktype || ' ' || w.mode AS lock,
            t.ctid, t.relation, coalesce(t.is_here, true) AS is_here,
            CAST(w.transactionid AS text) AS xid,
            CAST(greatest(0, extract(epoch FROM clock_timestamp() - coalesce(
                CAST(to_jsonb(w) ->> 'waitstart' AS timestamptz), a.query_start, now()
            ))) AS float8) AS seconds,
            pg_blocking_pids(w.pid) AS blockers
        FROM locks w LEFT JOIN pg_stat_activity a USING (pid)
        LEFT JOIN LATERAL (
            SELECT '(' || r.page || ',' || r.tuple || ')' AS ctid, r.relation,
                r.relation IN (SELECT id FROM tables) AS is_here
            FROM locks r WHERE r.pid = w.pid AND r.locktype = 'tuple' ORDER BY is_here DESC LIMIT 1
        ) t ON true
        WHERE NOT w.granted AND w.pid <> pg_backend_pid() AND (
            w.locktype = 'relation' AND w.relation IN (SELECT id FROM tables)
            OR w.locktype IN ('transactionid', 'spectoken', 'tuple') AND EXISTS (
                SELECT FROM locks h WHERE h.pid = w.pid AND h.granted AND h.mode LIKE 'Row%Lock'
                    AND h.relation IN (SELECT id FROM tables)))
    )
    SELECT CAST(a.pid AS bigint) AS pid, CAST(usename AS text) AS usename,
        coalesce(nullif(application_name, ''), host(client_addr)) AS application,
        coalesce(state, 'unknown')
            || coalesce(', waits for ' || nullif(wait_event_type, 'Client') || ' ' || wait_event, '') AS state,
        CASE WHEN state LIKE 'idle in transaction%'
            THEN CAST(extract(epoch FROM clock_timestamp() - state_change) AS float8) END AS idle_seconds,
        CAST(extract(epoch FROM clock_timestamp() - xact_start) AS float8) AS transaction_seconds,
        nullif(query, '') AS query,
        EXISTS (SELECT FROM locks l WHERE l.pid = a.pid AND l.granted AND l.mode = 'RowExclusiveLock'
            AND l.relation IN (SELECT id FROM tables)) AS has_written,
        (SELECT CAST(CAST(r.id AS regclass) AS text) FROM parents r JOIN locks l ON l.relation = r.id
            WHERE l.pid = a.pid AND (l.locktype = 'tuple'
                OR w.pid IS NULL AND l.mode <> 'AccessShareLock') LIMIT 1) AS parent,
        w.lock, w.ctid, CAST(w.relation AS bigint) AS relation,
        coalesce(w.is_here, false) AS is_here, w.xid, coalesce(w.seconds, 0) AS seconds,
        coalesce(array_to_string(w.blockers, ','), '') AS blockers
    FROM pg_stat_activity a LEFT JOIN waiting w USING (pid)
    WHERE a.pid IN (SELECT pid FROM waiting UNION SELECT unnest(blockers) FROM waiting)
    ORDER BY seconds DESC, a.pid",
];

fn look(conn: &mut AnyConnection, counters: &CounterTable, notes: &mut Notes) -> Result<Look> {
    let [before, after] = SESSIONS;
    let table = counters.sql_name(Dialect::PostgreSql);
    let sessions: Vec<Seen> = sql(before).bind(&*table).sql(after).load(conn)?;
    let clients = diesel::select(dsl::sql::<BigInt>(CLIENTS)).get_result(conn)?;
    let mut look = Look {
        clients: Some(clients),
        ..Look::default()
    };
    if sessions
        .iter()
        .any(|session| session.query.as_deref() == Some(HIDDEN))
    {
        let what = "the statements and states of other users' sessions";
        let grant = format!("GRANT pg_read_all_stats TO {}", user(conn)?);
        notes.miss(what, "PostgreSQL shows a user its own only", Some(grant));
    }
    for waiter in &sessions {
        let Some(lock) = waiter.lock.clone() else {
            continue;
        };
        if lock.starts_with("relation") {
            look.table_waits += 1;
            continue;
        }
        let blockers: Vec<&str> = waiter.blockers.split(',').collect();
        let holders: Vec<&Seen> = sessions
            .iter()
            .filter(|session| blockers.contains(&&*session.pid.to_string()))
            .collect();
        let parent = match &waiter.ctid {
            Some(_) if waiter.is_here => None,
            Some(_) => waiter.parent.as_ref(),
            // Without a place, the row may be one that the holder has locked in the parent table.
            None if holders.iter().any(|holder| holder.has_written) => None,
            None => holders.iter().find_map(|holder| holder.parent.as_ref()),
        };
        // A session that does not count may wait for a row of any table.
        let counts = waiter.counts_in(counters);
        let is_ours = match (parent, &waiter.ctid) {
            (Some(_), _) => counts == Some(true),
            (None, Some(_)) => waiter.is_here,
            (None, None) => counts != Some(false),
        };
        if !is_ours {
            continue;
        }
        // PostgreSQL names 0 as the blocker for each prepared transaction.
        if blockers.contains(&"0") {
            let what = "the prepared transaction that holds a row";
            notes.miss(what, "pg_prepared_xacts shows it", None);
        }
        let holds_counter = |holder: &&&Seen| holder.has_written && parent.is_none();
        look.waits.push(Wait {
            waiter: waiter.session(counters, false),
            seconds: waiter.seconds,
            lock,
            rows: match parent {
                Some(_) => Vec::new(),
                None => rows(conn, counters, waiter, notes)?,
            },
            parent_row: parent.and_then(|table| ParentRow::of(counters, table)),
            holders: holders
                .iter()
                .map(|holder| holder.session(counters, holds_counter(&holder)))
                .collect(),
        });
    }
    Ok(look)
}

impl Seen {
    fn statement(&self) -> Option<&str> {
        self.query.as_deref().filter(|query| *query != HIDDEN)
    }

    fn counts_in(&self, counters: &CounterTable) -> Option<bool> {
        counts_in(counters, self.statement())
    }

    fn session(&self, counters: &CounterTable, has_counted: bool) -> Session {
        let runs_another = self.counts_in(counters) == Some(false);
        Session {
            id: self.pid,
            user: self.usename.clone(),
            application: self.application.clone(),
            idle_seconds: self.idle_seconds,
            transaction_seconds: self.transaction_seconds,
            activity: Activity {
                state: self.state.clone(),
                statement: self.statement().map(str::to_owned),
                counted_earlier: has_counted && (self.idle_seconds.is_some() || runs_another),
            },
        }
    }
}

/// The row that a session waits for, or those that the transaction it waits for has locked.
fn rows(
    conn: &mut AnyConnection,
    counters: &CounterTable,
    waiter: &Seen,
    notes: &mut Notes,
) -> Result<Vec<Row>> {
    if let (Some(ctid), Some(relation)) = (&waiter.ctid, waiter.relation) {
        let place = format!("tableoid = {relation} AND ctid = CAST(");
        return search(conn, counters, [&place, ctid, " AS tid)"], notes);
    }
    let Some(xid) = &waiter.xid else {
        return Ok(Vec::new());
    };
    if let Some(rows) = notes.rows_of.get(xid) {
        return Ok(rows.clone());
    }
    let holder = ["CAST(", xid, " AS xid) IN (xmax, xmin)"];
    let rows = search(conn, counters, holder, notes)?;
    // A row that the holder has inserted is not seen before it commits.
    if !rows.is_empty() {
        notes.rows_of.insert(xid.clone(), rows.clone());
    }
    Ok(rows)
}

/// Reads the whole table, as there is no index for it; so long as there is time left.
fn search(
    conn: &mut AnyConnection,
    counters: &CounterTable,
    [before, value, after]: [&str; 3],
    notes: &mut Notes,
) -> Result<Vec<Row>> {
    let dialect = Dialect::PostgreSql;
    let table = counters.sql_name(dialect);
    // 0 would be no limit.
    if notes.time_left.as_millis() == 0 {
        return Ok(Vec::new());
    }
    limit_statements(conn, notes.time_left)?;
    let begun = Instant::now();
    let entity = counters.entity.as_ref();
    let found = sql(format!(
        "SELECT {} AS entity, CAST({} AS text) AS day, CAST({} AS bigint) AS slot FROM {table} WHERE {before}",
        entity.map_or("CAST(NULL AS text)".to_owned(), |key| as_text(dialect, key)),
        quoted(dialect, &counters.day.name),
        quoted(dialect, &counters.slot.name),
    ))
    .bind(value)
    .sql(after)
    .sql(" ORDER BY 1, 2, 3 LIMIT 20")
    .load(conn);
    notes.time_left = notes.time_left.saturating_sub(begun.elapsed());
    limit_statements(conn, Duration::ZERO)?;
    let why = match found {
        Err(Error::DatabaseError(_, why)) => why.message().to_owned(),
        found => return Ok(found?),
    };
    let mut grant = None;
    if why.contains("denied") {
        notes.time_left = Duration::ZERO;
        grant = Some(format!("GRANT SELECT ON {table} TO {}", user(conn)?));
    }
    notes.miss("which rows are waited for", &why, grant);
    Ok(Vec::new())
}

fn user(conn: &mut AnyConnection) -> QueryResult<String> {
    diesel::select(dsl::sql::<Text>("quote_ident(current_user)")).get_result(conn)
}

fn limit_statements(conn: &mut AnyConnection, time: Duration) -> QueryResult<()> {
    conn.batch_execute(&format!("SET statement_timeout = {}", time.as_millis()))
}
