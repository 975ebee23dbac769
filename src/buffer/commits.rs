//! Tracks the COMMITs of a buffer. A batch leaves the backlog when its COMMIT is answered, so a
//! read that overlaps the COMMIT can find the batch twice: in the database and among the pending
//! counts.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::background::lock;

/// How long a read waits for the answer to a COMMIT.
const WAIT_FOR_AN_ANSWER: Duration = Duration::from_secs(1);

/// How long a batch waits for reads: enough for two calls of a second each.
const WAIT_FOR_READS: Duration = Duration::from_secs(2);

/// Tells reads about the COMMITs of a buffer.
#[derive(Default)]
pub(crate) struct Commits {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of COMMITs that have begun.
    begun: u64,
    /// When the COMMIT began that isn't answered yet.
    unanswered_since: Option<Instant>,
    /// The number of reads that the next batch waits for.
    reads: usize,
}

impl Commits {
    /// Begins a COMMIT. Before you drop the result, the batch must have left the backlog, or be
    /// known to be rolled back.
    pub(super) fn begin(&self) -> Unanswered<'_> {
        let mut state = lock(&self.state);
        state.begun += 1;
        state.unanswered_since = Some(Instant::now());
        Unanswered { commits: self }
    }

    /// Returns the number of COMMITs that have begun.
    pub(super) fn begun(&self) -> u64 {
        lock(&self.state).begun
    }

    /// Waits until all COMMITs are answered, and returns the number of COMMITs that have begun.
    /// Returns `None` if one takes too long.
    pub(super) fn wait_until_answered(&self) -> Option<u64> {
        let state = lock(&self.state);
        let passed = state.unanswered_since.map(|since| since.elapsed());
        let wait = WAIT_FOR_AN_ANSWER.saturating_sub(passed.unwrap_or_default());
        let is_unanswered = |state: &mut State| state.unanswered_since.is_some();
        let waited = self.changed.wait_timeout_while(state, wait, is_unanswered);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.unanswered_since.is_none().then_some(state.begun)
    }

    /// Makes the next batch wait until the result is dropped.
    pub(super) fn block_next_batch(&self) -> BatchBlocked<'_> {
        lock(&self.state).reads += 1;
        BatchBlocked { commits: self }
    }

    /// Waits for the reads that hold batches back. Don't call it while you hold a lock that they
    /// could wait for.
    pub(super) fn wait_for_reads(&self) {
        let state = lock(&self.state);
        let has_reads = |state: &mut State| state.reads > 0;
        let waited = self
            .changed
            .wait_timeout_while(state, WAIT_FOR_READS, has_reads);
        // The result holds nothing but the lock.
        drop(waited);
    }
}

/// A COMMIT that isn't answered yet.
pub(super) struct Unanswered<'a> {
    commits: &'a Commits,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        lock(&self.commits.state).unanswered_since = None;
        self.commits.changed.notify_all();
    }
}

/// A read that the next batch waits for.
pub(super) struct BatchBlocked<'a> {
    commits: &'a Commits,
}

impl Drop for BatchBlocked<'_> {
    fn drop(&mut self) {
        lock(&self.commits.state).reads -= 1;
        self.commits.changed.notify_all();
    }
}
