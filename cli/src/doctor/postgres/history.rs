//! What PostgreSQL has added up.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::Postgres;
use crate::doctor::report::{Deadlocks, History, Isolation, RowUpdates};

#[derive(QueryableByName)]
struct Statistics {
    #[diesel(sql_type = BigInt)]
    deadlocks: i64,
    #[diesel(sql_type = Text)]
    since: String,
    #[diesel(sql_type = BigInt)]
    sessions: i64,
    #[diesel(sql_type = Text)]
    session_isolation: String,
    #[diesel(sql_type = Text)]
    global_isolation: String,
    #[diesel(sql_type = BigInt)]
    partitions: i64,
    #[diesel(sql_type = BigInt)]
    updates: i64,
    #[diesel(sql_type = BigInt)]
    hot_updates: i64,
    #[diesel(sql_type = BigInt)]
    live_rows: i64,
    #[diesel(sql_type = BigInt)]
    dead_rows: i64,
    #[diesel(sql_type = Nullable<Text>)]
    last_vacuum: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    last_autovacuum: Option<String>,
}

/// Statistics that were never reset began with the server, as far as it knows.
const STATISTICS: &str = "
    SELECT d.deadlocks, CAST(date_trunc('second', coalesce(d.stats_reset, pg_postmaster_start_time())) AS text) AS since,
        (SELECT count(*) FROM pg_stat_activity a
            WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
                AND coalesce(a.backend_type, 'client backend') = 'client backend') AS sessions,
        current_setting('default_transaction_isolation') AS session_isolation,
        (SELECT coalesce(reset_val, boot_val) FROM pg_settings
            WHERE name = 'default_transaction_isolation') AS global_isolation,
        t.*
    FROM pg_stat_database d, (
        SELECT (SELECT count(*) FROM pg_partition_tree(CAST($1 AS regclass)) WHERE isleaf AND level > 0) AS partitions,
            CAST(coalesce(sum(n_tup_upd), 0) AS bigint) AS updates,
            CAST(coalesce(sum(n_tup_hot_upd), 0) AS bigint) AS hot_updates,
            CAST(coalesce(sum(n_live_tup), 0) AS bigint) AS live_rows,
            CAST(coalesce(sum(n_dead_tup), 0) AS bigint) AS dead_rows,
            CAST(date_trunc('second', max(last_vacuum)) AS text) AS last_vacuum,
            CAST(date_trunc('second', max(last_autovacuum)) AS text) AS last_autovacuum
        FROM pg_stat_all_tables WHERE relid = CAST($1 AS regclass)
            OR relid IN (SELECT relid FROM pg_partition_tree(CAST($1 AS regclass)))
    ) t
    WHERE d.datname = current_database()";

impl Postgres<'_> {
    pub(super) fn read_history(&mut self) -> Result<History> {
        let found: Statistics = sql_query(STATISTICS)
            .bind::<Text, _>(&self.target.sql_name)
            .get_result(self.conn)?;
        Ok(History {
            deadlocks: Some(Deadlocks {
                count: Some(found.deadlocks),
                scope: "this database",
                since: Some(found.since.clone()),
                last: None,
            }),
            row_updates: Some(RowUpdates {
                since: Some(found.since),
                partitions: found.partitions,
                updates: found.updates,
                hot_updates: found.hot_updates,
                live_rows: found.live_rows,
                dead_rows: found.dead_rows,
                last_vacuum: found.last_vacuum,
                last_autovacuum: found.last_autovacuum,
            }),
            isolation: Some(Isolation {
                session: found.session_isolation,
                global: found.global_isolation,
            }),
            sessions: Some(found.sessions),
            ..History::default()
        })
    }
}
