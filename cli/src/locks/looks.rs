//! The looks at a table, and what is kept from one to the next.

use std::collections::HashMap;
use std::time::Duration;

use super::seen::{NotSeen, Row};
use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;

/// The looks at a table, and what is kept from one to the next.
pub struct Looks<'a> {
    pub conn: &'a mut AnyConnection,
    pub counters: &'a CounterTable,
    pub not_seen: Vec<NotSeen>,
    /// The rows that a transaction of PostgreSQL has locked.
    pub rows_of: HashMap<String, Vec<Row>>,
    /// The time that the search for them has taken.
    pub time_spent: Duration,
}

impl<'a> Looks<'a> {
    pub fn at(counters: &'a CounterTable, conn: &'a mut AnyConnection) -> Self {
        Looks {
            conn,
            counters,
            not_seen: Vec::new(),
            rows_of: HashMap::new(),
            time_spent: Duration::ZERO,
        }
    }

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

/// Noted as not seen if nothing is known about waits.
pub const WHO_WAITS: &str = "which sessions wait, and who holds their rows";
