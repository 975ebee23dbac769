//! What is kept from one look to the next.

use std::collections::HashMap;
use std::time::Duration;

use super::report::{NotSeen, Row};

/// What is kept from one look to the next.
#[derive(Default)]
pub struct Notes {
    pub not_seen: Vec<NotSeen>,
    /// The rows that a transaction of PostgreSQL has locked.
    pub rows_of: HashMap<String, Vec<Row>>,
    /// The time that the search for them has taken.
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

/// Noted as not seen if nothing is known about waits.
pub const WHO_WAITS: &str = "who waits for whom";
