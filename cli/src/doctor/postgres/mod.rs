//! What PostgreSQL tells.

mod history;
mod rows;

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{Array, BigInt, Bool, Double, Nullable, Text};

use super::Observed;
use super::report::{History, NotSeen, Row, Session, Wait};
use super::target::Target;

pub struct Postgres<'a> {
    conn: &'a mut PgConnection,
    target: &'a Target,
    /// By transaction.
    rows_held: HashMap<String, Vec<Row>>,
    time_left: Duration,
    not_seen: Vec<NotSeen>,
}

impl<'a> Postgres<'a> {
    pub fn new(conn: &'a mut PgConnection, target: &'a Target) -> Self {
        Postgres {
            conn,
            target,
            rows_held: HashMap::new(),
            time_left: rows::LOOK_FOR_ROWS,
            not_seen: Vec::new(),
        }
    }
}

#[derive(QueryableByName)]
struct Answer {
    #[diesel(sql_type = Text)]
    answer: String,
}

#[derive(QueryableByName)]
struct Waiting {
    #[diesel(sql_type = BigInt)]
    pid: i64,
    #[diesel(sql_type = Text)]
    lock: String,
    #[diesel(sql_type = Nullable<Text>)]
    ctid: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    xid: Option<String>,
    #[diesel(sql_type = Double)]
    seconds: f64,
    #[diesel(sql_type = Array<BigInt>)]
    blockers: Vec<i64>,
}

/// Who waits for a row is seen waiting for the transaction that holds it, and only the
/// second in a queue may be seen waiting for the row. So what counts is that it has
/// written to the table, and (below) that its statement names it.
///
/// `waitstart` is read as JSON because there is none before PostgreSQL 14.
const WAITING: &str = "
    WITH locks AS MATERIALIZED (SELECT * FROM pg_locks), here AS MATERIALIZED (
        SELECT * FROM locks WHERE relation = CAST($1 AS regclass)
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
    SELECT CAST(w.pid AS bigint) AS pid,
        w.locktype || ' ' || w.mode AS lock,
        (SELECT '(' || r.page || ',' || r.tuple || ')' FROM here r
            WHERE r.pid = w.pid AND r.locktype = 'tuple' LIMIT 1) AS ctid,
        CAST(w.transactionid AS text) AS xid,
        CAST(greatest(0, extract(epoch FROM clock_timestamp() - coalesce(
            CAST(to_jsonb(w) ->> 'waitstart' AS timestamptz), a.query_start, now()
        ))) AS float8) AS seconds,
        CAST(pg_blocking_pids(w.pid) AS bigint[]) AS blockers
    FROM locks w LEFT JOIN pg_stat_activity a USING (pid)
    WHERE NOT w.granted AND w.pid <> pg_backend_pid() AND (
        w.locktype IN ('transactionid', 'spectoken')
            AND EXISTS (SELECT FROM here h WHERE h.pid = w.pid AND h.granted AND h.mode LIKE 'Row%Lock')
        OR (w.pid, w.locktype) IN (SELECT h.pid, h.locktype FROM here h WHERE NOT h.granted)
    )
    ORDER BY seconds DESC";

#[derive(QueryableByName)]
struct Activity {
    #[diesel(sql_type = BigInt)]
    pid: i64,
    #[diesel(sql_type = Nullable<Text>)]
    usename: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    application: Option<String>,
    #[diesel(sql_type = Text)]
    state: String,
    #[diesel(sql_type = Bool)]
    idle_in_transaction: bool,
    #[diesel(sql_type = Nullable<Double>)]
    idle_seconds: Option<f64>,
    #[diesel(sql_type = Nullable<Double>)]
    transaction_seconds: Option<f64>,
    #[diesel(sql_type = Nullable<Text>)]
    query: Option<String>,
    #[diesel(sql_type = Bool)]
    hidden: bool,
}

const ACTIVITY: &str = "
    SELECT CAST(pid AS bigint) AS pid, CAST(usename AS text) AS usename,
        coalesce(nullif(application_name, ''), host(client_addr)) AS application,
        coalesce(state, 'unknown')
            || coalesce(', waits for ' || nullif(wait_event_type, 'Client') || ' ' || wait_event, '') AS state,
        coalesce(state LIKE 'idle in transaction%', false) AS idle_in_transaction,
        CASE WHEN state LIKE 'idle in transaction%'
            THEN CAST(extract(epoch FROM clock_timestamp() - state_change) AS float8) END AS idle_seconds,
        CAST(extract(epoch FROM clock_timestamp() - xact_start) AS float8) AS transaction_seconds,
        CASE WHEN query <> '<insufficient privilege>' THEN nullif(query, '') END AS query,
        coalesce(query = '<insufficient privilege>', false) AS hidden
    FROM pg_stat_activity WHERE pid = ANY(CAST($1 AS int[]))";

/// Who has the whole table, whatever schema it is in.
const LOCKED_BY: &str = "
    SELECT 'the whole table ' || c.relname || ' is locked by session ' || l.pid || ' ('
        || coalesce(a.usename || ', ' || a.state || ': ' || left(a.query, 160), 'of which there is no more to see')
        || '), and everything that counts waits for it; if nobody is going to end its transaction, '
        || 'SELECT pg_terminate_backend(' || l.pid || ') ends it' AS answer
    FROM pg_locks l JOIN pg_class c ON c.oid = l.relation LEFT JOIN pg_stat_activity a USING (pid)
    WHERE l.granted AND l.mode = 'AccessExclusiveLock' AND c.relname = regexp_replace($1, '^.*[.]', '')
        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    LIMIT 1";

pub fn locked_by(conn: &mut PgConnection, table: &str) -> Result<Option<String>> {
    let query = sql_query(LOCKED_BY).bind::<Text, _>(table);
    let found: Option<Answer> = query.get_result(conn).optional()?;
    Ok(found.map(|found| found.answer))
}

impl Observed for Postgres<'_> {
    fn version(&mut self) -> Result<String> {
        let sql = "SELECT 'PostgreSQL ' || split_part(current_setting('server_version'), ' ', 1) AS answer";
        Ok(sql_query(sql).get_result::<Answer>(self.conn)?.answer)
    }

    fn waits(&mut self) -> Result<Vec<Wait>> {
        // In one transaction the second look at the activity is the first one's.
        self.conn.batch_execute("BEGIN READ ONLY")?;
        let waiting: Vec<Waiting> = sql_query(WAITING)
            .bind::<Text, _>(&self.target.sql_name)
            .load(self.conn)?;
        let pids = waiting
            .iter()
            .flat_map(|w| w.blockers.iter().copied().chain([w.pid]));
        let sessions = self.sessions(pids.collect())?;
        self.conn.batch_execute("COMMIT")?;
        let ids: Vec<i64> = waiting.iter().map(|w| w.pid).collect();
        let mut waits = Vec::new();
        for wait in waiting {
            let Some(waiter) = sessions.get(&wait.pid) else {
                continue;
            };
            if wait.ctid.is_none() && waiter.statement_counts == Some(false) {
                continue;
            }
            // The others are in the queue, as this one is.
            let holders = wait.blockers.iter().filter(|pid| !ids.contains(pid));
            waits.push(Wait {
                waiter: waiter.clone(),
                seconds: wait.seconds,
                rows: self.rows(wait.ctid.as_deref(), wait.xid.as_deref())?,
                whole_table: wait.lock.starts_with("relation "),
                lock: wait.lock,
                holders: holders
                    .filter_map(|pid| sessions.get(pid).cloned())
                    .collect(),
            });
        }
        Ok(waits)
    }

    fn history(&mut self) -> Result<History> {
        self.read_history()
    }

    fn not_seen(&mut self) -> Vec<NotSeen> {
        std::mem::take(&mut self.not_seen)
    }
}

impl Postgres<'_> {
    fn sessions(&mut self, pids: Vec<i64>) -> Result<HashMap<i64, Session>> {
        if pids.is_empty() {
            return Ok(HashMap::new());
        }
        let found: Vec<Activity> = sql_query(ACTIVITY)
            .bind::<Array<BigInt>, _>(pids)
            .load(self.conn)?;
        if found.iter().any(|session| session.hidden) {
            let user = self.user()?;
            self.miss(NotSeen {
                what: "the statements and states of other users' sessions".to_owned(),
                why: "PostgreSQL shows a user its own only".to_owned(),
                grant: Some(format!("GRANT pg_read_all_stats TO {user}")),
            });
        }
        Ok(found
            .into_iter()
            .map(|s| (s.pid, self.session(s)))
            .collect())
    }

    fn session(&self, found: Activity) -> Session {
        Session {
            id: found.pid,
            user: found.usename,
            application: found.application,
            state: found.state,
            idle_in_transaction: found.idle_in_transaction,
            idle_seconds: found.idle_seconds,
            transaction_seconds: found.transaction_seconds,
            statement_counts: found
                .query
                .as_deref()
                .and_then(|query| self.target.is_counted_by(query)),
            statement: found.query,
        }
    }

    fn user(&mut self) -> QueryResult<String> {
        let sql = "SELECT quote_ident(current_user) AS answer";
        Ok(sql_query(sql).get_result::<Answer>(self.conn)?.answer)
    }

    fn miss(&mut self, not_seen: NotSeen) {
        if !self.not_seen.contains(&not_seen) {
            self.not_seen.push(not_seen);
        }
    }
}
