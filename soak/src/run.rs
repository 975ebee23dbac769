//! What all threads of a run share: its settings, and what it has done so far.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use diesel::result::Error;

use crate::fault::Fault;

/// How long a server may be away.
pub const PATIENCE: Duration = Duration::from_secs(300);

#[derive(Debug, Default)]
pub struct Run {
    pub fault: Option<Fault>,
    /// The server is killed now and then, so connections can be lost.
    pub kills: bool,
    /// Runs neither reads nor corrections nor merges.
    pub only_counts: bool,
    /// On a cluster, also does what makes its nodes conflict.
    pub conflicts: bool,
    /// Never rolls back to a savepoint.
    pub keeps_savepoints: bool,
    /// Runs the steps of a savepoint without it.
    pub no_savepoints: bool,
    /// This process is killed. What it did is known from the table `counted` alone.
    pub is_client: bool,
    pub tally: Tally,
    next_id: AtomicI64,
    /// The round has ended, because a thread has failed.
    stopped: AtomicBool,
    ended: Mutex<bool>,
    end: Condvar,
}

#[derive(Debug, Default)]
pub struct Tally {
    pub transactions: AtomicU64,
    pub increments: AtomicU64,
    pub rollbacks: AtomicU64,
    pub retries: AtomicU64,
    pub reads: AtomicU64,
    pub not_checked: AtomicU64,
    pub lost_answers: AtomicU64,
    pub servers_killed: AtomicU64,
    pub clients_killed: AtomicU64,
}

impl Tally {
    pub fn retried(&self) {
        self.retries.fetch_add(1, Relaxed);
    }
}

impl Run {
    pub fn new() -> Self {
        let run = Run::default();
        // Processes count in the same tables.
        run.next_id
            .store(rand::random_range(1..1 << 30) << 32, Relaxed);
        run
    }

    /// Most planted faults are in merges and corrections.
    pub fn often(&self) -> u32 {
        if self.fault.is_some() { 8 } else { 1 }
    }

    pub fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Relaxed)
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Ends the round: a thread has failed.
    pub fn stop(&self) {
        self.stopped.store(true, Relaxed);
    }

    pub fn go_on(&self) {
        self.stopped.store(false, Relaxed);
    }

    /// Ends the run.
    pub fn end(&self) {
        *self.ended.lock().expect("no thread panics") = true;
        self.end.notify_all();
    }

    /// Waits for this time. Returns whether the run has not ended by then.
    pub fn goes_on_for(&self, time: Duration) -> bool {
        let ended = self.ended.lock().expect("no thread panics");
        let waited = self.end.wait_timeout_while(ended, time, |ended| !*ended);
        !*waited.expect("no thread panics").0
    }
}

/// Why a round failed.
#[derive(Debug)]
pub enum Failure {
    /// A count is wrong.
    Wrong(String),
    /// Something else failed.
    Other(String),
}

impl Failure {
    pub fn new(error: impl fmt::Display) -> Self {
        Failure::Other(error.to_string())
    }

    pub fn database(by: &str, error: Error) -> Self {
        Failure::Other(format!("{by} failed: {error:?}"))
    }

    pub fn is_wrong(&self) -> bool {
        matches!(self, Failure::Wrong(_))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Wrong(text) | Failure::Other(text) => f.write_str(text),
        }
    }
}
