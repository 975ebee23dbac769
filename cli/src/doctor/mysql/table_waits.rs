//! Who waits for the whole table, as behind LOCK TABLES or ALTER TABLE.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Double, Nullable, Text};

use super::Mysql;
use crate::doctor::report::{NotSeen, Wait};

const WHAT: &str = "waits for the whole table, as behind LOCK TABLES and ALTER TABLE";

#[derive(QueryableByName)]
struct TableWait {
    #[diesel(sql_type = BigInt)]
    waiter: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    holder: Option<i64>,
    #[diesel(sql_type = Text)]
    lock_name: String,
    #[diesel(sql_type = Nullable<Double>)]
    seconds: Option<f64>,
}

/// Who counts waits for those only that keep everybody out; who changes the table waits for all.
const TABLE_WAITS: &str = "
    SELECT CAST(w.processlist_id AS SIGNED) AS waiter, CAST(h.processlist_id AS SIGNED) AS holder,
        CAST(p.lock_type AS CHAR) AS lock_name, 1e0 * w.processlist_time AS seconds
    FROM performance_schema.metadata_locks p
    JOIN performance_schema.threads w ON w.thread_id = p.owner_thread_id
    LEFT JOIN performance_schema.metadata_locks g
        ON g.object_type = 'TABLE' AND g.object_schema = p.object_schema AND g.object_name = p.object_name
        AND g.lock_status = 'GRANTED' AND g.owner_thread_id <> p.owner_thread_id
        AND (p.lock_type NOT IN ('SHARED_READ', 'SHARED_WRITE', 'SHARED_WRITE_LOW_PRIO')
            OR g.lock_type IN ('SHARED_READ_ONLY', 'SHARED_NO_WRITE', 'SHARED_NO_READ_WRITE', 'EXCLUSIVE'))
    LEFT JOIN performance_schema.threads h
        ON h.thread_id = g.owner_thread_id AND h.processlist_id <> CONNECTION_ID()
    WHERE p.object_type = 'TABLE' AND p.lock_status = 'PENDING' AND p.object_schema = ? AND p.object_name = ?
        AND w.processlist_id <> CONNECTION_ID()
    ORDER BY seconds DESC, waiter";

const IS_ENABLED: &str = "
    SELECT COUNT(*) AS value FROM performance_schema.setup_instruments
    WHERE name = 'wait/lock/metadata/sql/mdl' AND enabled = 'YES'";

impl Mysql<'_> {
    pub(super) fn table_waits(&mut self) -> Result<Vec<Wait>> {
        if !self.tells_table_waits()? {
            return Ok(Vec::new());
        }
        let query = sql_query(TABLE_WAITS)
            .bind::<Text, _>(&self.schema)
            .bind::<Text, _>(self.target.name());
        let found: QueryResult<Vec<TableWait>> = query.load(self.conn);
        let found = self.allowed(WHAT, found)?.unwrap_or_default();
        let ids = found
            .iter()
            .flat_map(|w| w.holder.into_iter().chain([w.waiter]));
        let sessions = self.sessions(ids)?;
        let mut waits: Vec<Wait> = Vec::new();
        for wait in &found {
            let Some(waiter) = sessions.get(&wait.waiter) else {
                continue;
            };
            if waits
                .last()
                .is_none_or(|last| last.waiter.id != wait.waiter)
            {
                waits.push(Wait {
                    waiter: waiter.clone(),
                    seconds: wait.seconds.unwrap_or_default(),
                    whole_table: true,
                    lock: format!("metadata lock {}", wait.lock_name),
                    rows: Vec::new(),
                    elsewhere: None,
                    holders: Vec::new(),
                });
            }
            // The others are in the queue, as this one is.
            let is_waiter = |id: &i64| found.iter().any(|wait| wait.waiter == *id);
            let holder = wait.holder.filter(|id| !is_waiter(id));
            let holder = holder.and_then(|id| sessions.get(&id));
            if let (Some(last), Some(holder)) = (waits.last_mut(), holder) {
                if last.holders.iter().all(|known| known.id != holder.id) {
                    last.holders.push(holder.clone());
                }
            }
        }
        Ok(waits)
    }

    /// Once is enough.
    fn tells_table_waits(&mut self) -> Result<bool> {
        if let Some(tells) = self.tells_table_waits {
            return Ok(tells);
        }
        let mut enabled = None;
        if self.performance_schema {
            let found: QueryResult<Enabled> = sql_query(IS_ENABLED).get_result(self.conn);
            enabled = self.allowed(WHAT, found)?;
        }
        let tells = enabled.is_some_and(|enabled| enabled.value > 0);
        // A missing right has been named already.
        if !tells && self.not_seen.iter().all(|missed| missed.what != WHAT) {
            let why = "performance_schema, or its instrument wait/lock/metadata/sql/mdl, is off";
            self.miss(NotSeen::of(WHAT, why));
        }
        self.tells_table_waits = Some(tells);
        Ok(tells)
    }
}

#[derive(QueryableByName)]
struct Enabled {
    #[diesel(sql_type = BigInt)]
    value: i64,
}
