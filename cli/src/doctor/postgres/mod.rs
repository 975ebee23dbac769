//! What PostgreSQL tells.

mod history;
mod prepared;
mod rows;
mod sessions;

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{Array, BigInt, Double, Nullable, Text};

use super::Observed;
use super::report::{Elsewhere, History, NotSeen, Row, Session, Wait};
use super::target::Target;
use prepared::NO_SESSION;

pub struct Postgres<'a> {
    conn: &'a mut PgConnection,
    target: &'a Target,
    foreign_keys: Vec<ForeignKey>,
    /// By transaction.
    rows_held: HashMap<String, Vec<Row>>,
    time_left: Duration,
    not_seen: Vec<NotSeen>,
}

impl<'a> Postgres<'a> {
    pub fn new(conn: &'a mut PgConnection, target: &'a Target) -> Result<Self> {
        let foreign_keys = sql_query(FOREIGN_KEYS).bind::<Text, _>(&target.sql_name);
        Ok(Postgres {
            foreign_keys: foreign_keys.load(conn)?,
            conn,
            target,
            rows_held: HashMap::new(),
            time_left: rows::LOOK_FOR_ROWS,
            not_seen: Vec::new(),
        })
    }
}

#[derive(QueryableByName)]
struct ForeignKey {
    #[diesel(sql_type = Text)]
    parent: String,
    #[diesel(sql_type = Text)]
    name: String,
}

const FOREIGN_KEYS: &str = "
    SELECT CAST(CAST(confrelid AS regclass) AS text) AS parent, CAST(conname AS text) AS name
    FROM pg_constraint WHERE contype = 'f' AND conrelid = CAST($1 AS regclass)";

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
    /// Of the row; the table itself where it has none.
    #[diesel(sql_type = Nullable<BigInt>)]
    partition: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    other_table: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    xid: Option<String>,
    #[diesel(sql_type = Double)]
    seconds: f64,
    #[diesel(sql_type = Array<BigInt>)]
    blockers: Vec<i64>,
}

/// Who waits for a row is seen waiting for the transaction that holds it, and only the
/// second in a queue may be seen waiting for the row. So what counts is that it has
/// written to the table, and (below) that its statement names it. The first in a queue
/// has locked the place of the row that it waits for, unless that is not committed yet.
///
/// `waitstart` is read as JSON because there is none before PostgreSQL 14.
const WAITING: &str = "
    WITH locks AS MATERIALIZED (SELECT * FROM pg_locks), tables AS MATERIALIZED (
        SELECT CAST($1 AS regclass) AS id UNION SELECT relid FROM pg_partition_tree(CAST($1 AS regclass))
    ), here AS MATERIALIZED (
        SELECT * FROM locks WHERE relation IN (SELECT id FROM tables)
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
    SELECT CAST(w.pid AS bigint) AS pid,
        w.locktype || ' ' || w.mode AS lock,
        (SELECT '(' || r.page || ',' || r.tuple || ')' FROM here r
            WHERE r.pid = w.pid AND r.locktype = 'tuple' LIMIT 1) AS ctid,
        (SELECT CAST(r.relation AS bigint) FROM here r
            WHERE r.pid = w.pid AND r.locktype = 'tuple' LIMIT 1) AS partition,
        (SELECT CAST(CAST(r.relation AS regclass) AS text) FROM locks r
            WHERE r.pid = w.pid AND r.locktype = 'tuple' AND r.relation NOT IN (SELECT id FROM tables)
            LIMIT 1) AS other_table,
        CAST(w.transactionid AS text) AS xid,
        CAST(greatest(0, extract(epoch FROM clock_timestamp() - coalesce(
            CAST(to_jsonb(w) ->> 'waitstart' AS timestamptz), a.query_start, now()
        ))) AS float8) AS seconds,
        CAST(pg_blocking_pids(w.pid) AS bigint[]) AS blockers
    FROM locks w LEFT JOIN pg_stat_activity a USING (pid)
    WHERE NOT w.granted AND w.pid <> pg_backend_pid() AND (
        w.locktype IN ('transactionid', 'spectoken', 'tuple')
            AND EXISTS (SELECT FROM here h WHERE h.pid = w.pid AND h.granted AND h.mode LIKE 'Row%Lock')
        OR (w.pid, w.locktype) IN (SELECT h.pid, h.locktype FROM here h WHERE NOT h.granted)
    )
    ORDER BY seconds DESC";

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
        let prepared = self.prepared(&waiting)?;
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
            let mut holders: Vec<_> = holders
                .filter_map(|pid| sessions.get(pid).cloned())
                .collect();
            if wait.blockers.contains(&NO_SESSION) {
                let prepared = prepared.iter().filter(|prepared| prepared.blocks(&wait));
                holders.extend(prepared.map(Session::from));
            }
            let whole_table = wait.lock.starts_with("relation ");
            let elsewhere = if whole_table || wait.ctid.is_some() {
                None
            } else {
                self.elsewhere(wait.other_table.as_deref(), &holders)
            };
            // Another table's row may be waited for by whoever does not count.
            if elsewhere.is_some() && waiter.statement_counts != Some(true) {
                continue;
            }
            let rows = match elsewhere {
                Some(_) => Vec::new(),
                None => self.rows(&wait)?,
            };
            waits.push(Wait {
                waiter: waiter.clone(),
                seconds: wait.seconds,
                rows,
                elsewhere,
                whole_table,
                lock: wait.lock,
                holders,
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
    /// The other table that is waited for: the one with the row that the waiter has queued for,
    /// or one that holders have locked that have not counted.
    fn elsewhere(&self, queued_for: Option<&str>, holders: &[Session]) -> Option<Elsewhere> {
        let foreign_key = |table: &str| self.foreign_keys.iter().find(|key| key.parent == table);
        let counted = holders.iter().any(|h| h.has_counted == Some(true));
        let mut locked = holders.iter().flat_map(|h| &h.locked).filter(|_| !counted);
        let table = queued_for.or_else(|| {
            let parent = locked.clone().find(|table| foreign_key(table).is_some());
            parent.or_else(|| locked.next()).map(String::as_str)
        })?;
        Some(Elsewhere {
            foreign_key: foreign_key(table).map(|key| key.name.clone()),
            table: table.to_owned(),
        })
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
