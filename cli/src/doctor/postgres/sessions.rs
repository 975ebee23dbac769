//! Who the sessions are, and what they have locked.

use std::collections::HashMap;

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{Array, BigInt, Bool, Double, Nullable, Text};

use super::Postgres;
use crate::doctor::report::{NotSeen, Session};

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
    #[diesel(sql_type = Bool)]
    has_counted: bool,
    #[diesel(sql_type = Array<Text>)]
    locked: Vec<String>,
}

const ACTIVITY: &str = "
    WITH locks AS MATERIALIZED (
        SELECT * FROM pg_locks WHERE granted AND locktype = 'relation'
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ), tables AS MATERIALIZED (
        SELECT CAST($2 AS regclass) AS id UNION SELECT relid FROM pg_partition_tree(CAST($2 AS regclass))
    )
    SELECT CAST(pid AS bigint) AS pid, CAST(usename AS text) AS usename,
        coalesce(nullif(application_name, ''), host(client_addr)) AS application,
        coalesce(state, 'unknown')
            || coalesce(', waits for ' || nullif(wait_event_type, 'Client') || ' ' || wait_event, '') AS state,
        coalesce(state LIKE 'idle in transaction%', false) AS idle_in_transaction,
        CASE WHEN state LIKE 'idle in transaction%'
            THEN CAST(extract(epoch FROM clock_timestamp() - state_change) AS float8) END AS idle_seconds,
        CAST(extract(epoch FROM clock_timestamp() - xact_start) AS float8) AS transaction_seconds,
        CASE WHEN query <> '<insufficient privilege>' THEN nullif(query, '') END AS query,
        coalesce(query = '<insufficient privilege>', false) AS hidden,
        EXISTS (SELECT FROM locks l WHERE l.pid = a.pid AND l.mode = 'RowExclusiveLock'
            AND l.relation IN (SELECT id FROM tables)) AS has_counted,
        ARRAY(SELECT DISTINCT CAST(CAST(c.oid AS regclass) AS text)
            FROM locks l JOIN pg_class c ON c.oid = l.relation
            WHERE l.pid = a.pid AND l.mode <> 'AccessShareLock' AND c.relkind IN ('r', 'p')
                AND c.oid NOT IN (SELECT id FROM tables) ORDER BY 1) AS locked
    FROM pg_stat_activity a WHERE pid = ANY(CAST($1 AS int[]))";

impl Postgres<'_> {
    pub(super) fn sessions(&mut self, pids: Vec<i64>) -> Result<HashMap<i64, Session>> {
        if pids.is_empty() {
            return Ok(HashMap::new());
        }
        let found: Vec<Activity> = sql_query(ACTIVITY)
            .bind::<Array<BigInt>, _>(pids)
            .bind::<Text, _>(&self.target.sql_name)
            .load(self.conn)?;
        if found.iter().any(|session| session.hidden) {
            let user = self.user()?;
            self.miss(NotSeen {
                grant: Some(format!("GRANT pg_read_all_stats TO {user}")),
                ..NotSeen::of(
                    "the statements and states of other users' sessions",
                    "PostgreSQL shows a user its own only",
                )
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
            prepared_transaction: None,
            has_counted: Some(found.has_counted),
            locked: found.locked,
        }
    }
}
