//! Holds each statement of a connection until it may run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender};

use diesel::connection::{Instrumentation, InstrumentationEvent};

use super::outcome::Ended;

/// What a connection tells the thread that chooses.
#[derive(Debug)]
pub enum Event {
    /// It runs a statement whose place in the order has no effect.
    Runs(usize, String),
    /// It has a statement to run, and waits.
    Ready(usize, String),
    /// It has run all that it was given.
    Ended(usize, Vec<Ended>),
}

/// The instrumentation of a connection.
pub struct Gate {
    pub connection: usize,
    /// Whether statements are held.
    pub is_closed: Arc<AtomicBool>,
    pub events: Sender<Event>,
    /// Each lets the statement run that is held.
    pub grants: Receiver<()>,
    /// Whether a `BEGIN` is held too: on SQLite, it takes the write lock.
    pub holds_begin: bool,
}

impl Instrumentation for Gate {
    fn on_connection_event(&mut self, event: InstrumentationEvent<'_>) {
        let InstrumentationEvent::StartQuery { query, .. } = event else {
            return;
        };
        if !self.is_closed.load(Relaxed) {
            return;
        }
        let sql = query.to_string();
        // If a channel is closed, the thread that chooses has ended, and nothing is left to order.
        if self.has_no_effect(&sql) {
            let _ = self.events.send(Event::Runs(self.connection, sql));
        } else if self.events.send(Event::Ready(self.connection, sql)).is_ok() {
            let _ = self.grants.recv();
        }
    }
}

impl Gate {
    /// Whether the statement neither locks nor reads what others write: it begins a transaction, or
    /// sets its level or another setting, or begins or ends a savepoint.
    fn has_no_effect(&self, sql: &str) -> bool {
        let begins = ["BEGIN", "START TRANSACTION"];
        // A buffer says how long it waits for locks on MySQL and MariaDB.
        let limits = ["SET SESSION", "SET @diesel_counters_row_wait"];
        let others = ["SAVEPOINT", "RELEASE", "SET TRANSACTION", "SET LOCAL"];
        let is_one_of = |verbs: &[&str]| verbs.iter().any(|verb| sql.starts_with(verb));
        is_one_of(&others) || is_one_of(&limits) || !self.holds_begin && is_one_of(&begins)
    }
}
