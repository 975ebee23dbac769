//! What a database answers to `doctor`.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Result;
use diesel::QueryResult;
use diesel_counters::Dialect;

use super::report::{Deadlock, Look, NotSeen, Row};
use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::database::{mysql, postgres, sqlite};

pub struct Database {
    /// The product and its version.
    pub version: fn(&mut AnyConnection) -> Result<String>,
    /// Who waits for rows of the table.
    pub look: fn(&mut AnyConnection, &CounterTable, &mut Notes) -> Result<Look>,
    pub last_deadlock:
        fn(&mut AnyConnection, &CounterTable, &mut Notes) -> Result<Option<Deadlock>>,
    /// Ends each statement that takes longer.
    pub limit_statements: fn(&mut AnyConnection, Duration) -> QueryResult<()>,
    pub words: Words,
}

/// What the report says differently for each database.
pub struct Words {
    /// Its 64-bit floating point type.
    pub double: &'static str,
    /// Where deadlocks are found, if `last_deadlock` finds none.
    pub no_deadlock: Option<&'static str>,
    /// Which session has locked a whole table.
    pub table_locks: &'static str,
    /// How to avoid waits for a parent's row, and why they happen.
    pub parent_row: [&'static str; 2],
    pub end_session: fn(i64) -> String,
    /// What a connection needs before its slot is certain to be its own.
    pub claim_slots: &'static str,
}

/// What is kept from one look to the next.
pub struct Notes {
    pub not_seen: Vec<NotSeen>,
    /// The rows that a transaction of PostgreSQL has locked.
    pub rows_of: HashMap<String, Vec<Row>>,
    /// The time that is left to search for them.
    pub time_left: Duration,
}

impl Default for Notes {
    fn default() -> Self {
        Notes {
            not_seen: Vec::new(),
            rows_of: HashMap::new(),
            time_left: Duration::from_secs(2),
        }
    }
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

    /// Whether a right to see who waits is missing.
    pub fn is_blind(&self) -> bool {
        self.not_seen.iter().any(|missed| missed.what == WHO_WAITS)
    }
}

pub const WHO_WAITS: &str = "who waits for whom";

pub fn of(dialect: Dialect) -> Database {
    match dialect {
        Dialect::PostgreSql => Database {
            version: postgres::locks::version,
            look: postgres::locks::look,
            // The server's log has it.
            last_deadlock: |_, _, _| Ok(None),
            limit_statements: postgres::locks::limit_statements,
            words: postgres::locks::WORDS,
        },
        Dialect::MySql => Database {
            version: mysql::locks::version,
            look: mysql::locks::look,
            last_deadlock: mysql::deadlock::last_deadlock,
            limit_statements: mysql::locks::limit_statements,
            words: mysql::locks::WORDS,
        },
        Dialect::Sqlite => Database {
            version: sqlite::locks::version,
            look: sqlite::locks::look,
            last_deadlock: |_, _, _| Ok(None),
            limit_statements: |_, _| Ok(()),
            words: sqlite::locks::WORDS,
        },
    }
}
