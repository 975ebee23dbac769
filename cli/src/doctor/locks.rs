//! What a database knows of its locks.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use diesel::QueryResult;

use super::report::{Deadlock, Look, NotSeen, Row};
use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;

/// What a database knows of its locks, and what the report says differently for it.
pub struct Locks {
    /// An expression: the product and its version.
    pub version: &'static str,
    /// Who waits for rows of the table.
    pub look: fn(&mut AnyConnection, &CounterTable, &mut Notes) -> Result<Look>,
    pub last_deadlock:
        fn(&mut AnyConnection, &CounterTable, &mut Notes) -> Result<Option<Deadlock>>,
    /// Where deadlocks are found, if `last_deadlock` finds none.
    pub no_deadlock: Option<&'static str>,
    /// Where it shows who has locked a whole table.
    pub table_locks: &'static str,
    /// Ends each statement that takes longer.
    pub limit_statements: fn(&mut AnyConnection, Duration) -> QueryResult<()>,
    pub end_session: fn(i64) -> String,
    /// What a connection needs before its slot is certain to be its own.
    pub claim_slots: &'static str,
}

/// What is kept from one look to the next.
#[derive(Default)]
pub struct Notes {
    pub not_seen: Vec<NotSeen>,
    /// The rows that a transaction of PostgreSQL has locked.
    pub rows_of: HashMap<String, Vec<Row>>,
    /// The time that was spent on the search for them.
    pub time_spent: Duration,
}

impl Notes {
    pub fn miss(&mut self, what: &str, why: &str, grant: Option<String>) {
        let missed = NotSeen {
            what: what.to_owned(),
            why: why.to_owned(),
            grant,
        };
        if !self.not_seen.contains(&missed) {
            self.not_seen.push(missed);
        }
    }
}

/// What is missed when nothing is known about waits.
pub const WHO_WAITS: &str = "who waits for whom";
