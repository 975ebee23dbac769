//! What the server has added up.

use anyhow::Result;
use chrono::{TimeDelta, Utc};
use diesel::prelude::*;
use diesel::sql_query;
use diesel::sql_types::{BigInt, Double, Nullable, Text};

use super::{Mysql, innodb_status};
use crate::doctor::report::{Deadlock, Deadlocks, History, Isolation, RowLocks, TableIo};

#[derive(QueryableByName)]
struct Named {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    value: String,
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    value: i64,
}

#[derive(QueryableByName)]
struct Seconds {
    #[diesel(sql_type = Nullable<Double>)]
    value: Option<f64>,
}

#[derive(QueryableByName)]
struct Levels {
    #[diesel(sql_type = Text)]
    session_level: String,
    #[diesel(sql_type = Text)]
    global_level: String,
}

#[derive(QueryableByName)]
struct Io {
    #[diesel(sql_type = BigInt)]
    reads: i64,
    #[diesel(sql_type = BigInt)]
    writes: i64,
    #[diesel(sql_type = Double)]
    read_seconds: f64,
    #[diesel(sql_type = Double)]
    write_seconds: f64,
}

/// Times are in picoseconds.
const TABLE_IO: &str = "
    SELECT CAST(count_read AS SIGNED) AS `reads`, CAST(count_write AS SIGNED) AS writes,
        sum_timer_read / 1e12 AS read_seconds, sum_timer_write / 1e12 AS write_seconds
    FROM performance_schema.table_io_waits_summary_by_table
    WHERE object_schema = ? AND object_name = ? AND count_star > 0";

/// How long ago the clock of the server's system showed this.
const SECONDS_AGO: &str = "
    SELECT 1e0 * TIMESTAMPDIFF(SECOND, ?, CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')) AS value";

impl Mysql<'_> {
    pub(super) fn read_history(&mut self) -> Result<History> {
        let isolation: Levels = sql_query(self.views.isolation).get_result(self.conn)?;
        let sessions = sql_query(self.views.clients).get_result(self.conn);
        let sessions: Option<Number> = self.allowed("how many clients are connected", sessions)?;
        let row_locks = self.row_locks()?;
        Ok(History {
            deadlocks: Some(self.deadlocks(row_locks.since.clone())?),
            row_locks: Some(row_locks),
            table_io: self.table_io()?,
            isolation: Some(Isolation {
                session: level(&isolation.session_level),
                global: level(&isolation.global_level),
            }),
            // Without the right to see who waits, MariaDB shows a user its own ones only.
            sessions: sessions
                .filter(|_| !self.is_blind())
                .map(|sessions| sessions.value),
            ..History::default()
        })
    }

    fn row_locks(&mut self) -> Result<RowLocks> {
        let status: Vec<Named> = sql_query(self.views.status).load(self.conn)?;
        let number = |name: &str| {
            let mut named = status.iter().filter(|s| s.name.eq_ignore_ascii_case(name));
            named.next().and_then(|s| s.value.parse().ok()).unwrap_or(0)
        };
        let since = Utc::now() - TimeDelta::seconds(number("Uptime"));
        Ok(RowLocks {
            since: Some(since.format("%Y-%m-%d %H:%M:%S UTC").to_string()),
            waiting_now: number("Innodb_row_lock_current_waits"),
            waits: number("Innodb_row_lock_waits"),
            average_milliseconds: number("Innodb_row_lock_time_avg"),
            longest_milliseconds: number("Innodb_row_lock_time_max"),
        })
    }

    fn deadlocks(&mut self, since: Option<String>) -> Result<Deadlocks> {
        let count = sql_query(self.views.deadlocks).get_result(self.conn);
        let count: Option<Option<Number>> =
            self.allowed("the number of deadlocks", count.optional())?;
        let status = innodb_status::load(self.conn);
        let status = self.allowed("the last deadlock", status)?;
        let entity_type = self.target.entity.as_ref().map(|e| e.sql_type.as_str());
        let mut last = status.and_then(|status| {
            innodb_status::last_deadlock(&status, &self.schema, self.target.name(), entity_type)
        });
        if let Some(deadlock) = &mut last {
            deadlock.seconds_ago = self.seconds_ago(deadlock)?;
        }
        Ok(Deadlocks {
            count: count.flatten().map(|count| count.value),
            scope: "the server",
            since,
            last,
        })
    }

    fn seconds_ago(&mut self, deadlock: &Deadlock) -> QueryResult<Option<f64>> {
        let query = sql_query(SECONDS_AGO).bind::<Text, _>(&deadlock.at);
        Ok(query.get_result::<Seconds>(self.conn)?.value)
    }

    fn table_io(&mut self) -> Result<Option<TableIo>> {
        if !self.performance_schema {
            return Ok(None);
        }
        let io = sql_query(TABLE_IO)
            .bind::<Text, _>(&self.schema)
            .bind::<Text, _>(self.target.name())
            .get_result::<Io>(self.conn);
        let io = self.allowed("the time spent in this table", io.optional())?;
        Ok(io.flatten().map(|io| TableIo {
            reads: io.reads,
            writes: io.writes,
            read_seconds: io.read_seconds,
            write_seconds: io.write_seconds,
        }))
    }
}

/// `READ-COMMITTED` as it is written in SQL.
fn level(variable: &str) -> String {
    variable.replace('-', " ").to_lowercase()
}
