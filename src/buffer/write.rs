//! What a buffer reports: its writes, the keys that it dropped, and errors.

use std::fmt;
use std::time::Duration;

use chrono::NaiveDate;
use diesel::result::Error;

use crate::background::{BackgroundError, FORKED, WithSource};

/// A report of one write by a [`CounterBuffer`](crate::CounterBuffer). Its `Display` is a line for
/// a log.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Write {
    /// The number of rows that were written. A row is one key on one day. A row whose amounts add
    /// up to 0 isn't written.
    pub written: usize,
    /// The keys that the database refused. Their counts aren't stored, and won't be written again.
    pub refused: Vec<Dropped>,
    /// The keys of a batch that may or may not be stored: its COMMIT wasn't answered, or was
    /// answered with an error that the database doesn't define as a rollback. Either all of these
    /// counts are stored or none, and they won't be written again. Behind a proxy that commits on
    /// one shard after the other, such as Vitess, only a part may be stored.
    pub unknown: Vec<Dropped>,
    /// The error, if there was one. Rows that weren't written are still pending, and the next write
    /// tries them again. That includes rows that failed for a reason that may pass, for example a
    /// lock that was held for more than a second.
    pub error: Option<BackgroundError>,
    /// The number of keys that are still pending after the write.
    /// [`max_keys`](crate::buffer::CounterBufferBuilder::max_keys) says how they are counted.
    pub pending: usize,
    /// How long the write took.
    pub took: Duration,
}

/// A key whose counts were [refused](Write::refused), or whose counts may or may not be stored,
/// because the result of the COMMIT is [unknown](Write::unknown).
#[derive(Debug)]
#[non_exhaustive]
pub struct Dropped {
    /// The name of the counter table.
    pub table: &'static str,
    /// The key, as `{:?}` prints it.
    pub key: String,
    /// The day on which it was counted.
    pub day: NaiveDate,
    /// The names of the counters, and the amounts.
    pub amounts: Vec<(&'static str, i128)>,
    /// The error from the database, or from the COMMIT.
    pub error: Error,
}

/// Why a [`CounterBuffer`](crate::CounterBuffer) didn't count an increment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferError {
    /// The increment has keys that this thread hasn't counted since the last write, and with them,
    /// more keys would be pending than [`max_keys`](crate::buffer::CounterBufferBuilder::max_keys)
    /// allows.
    #[allow(missing_docs, reason = "the variant says what it is")]
    Full { max_keys: usize },
    /// This process is a fork of the one that started the buffer.
    Forked,
    /// The buffer was [stopped](crate::CounterBuffer::stop).
    Stopped,
}

/// How many refused rows, and how many of unknown state, are printed.
const MAX_PRINTED: usize = 3;

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.written;
        let took = self.took.as_secs_f64();
        let plural = if written == 1 { "" } else { "s" };
        write!(f, "{written} row{plural} written in {took:.3} s")?;
        let unknown = "written or lost, because the answer to the COMMIT does not say which";
        for (dropped, what) in [(&self.refused, "refused"), (&self.unknown, unknown)] {
            if !dropped.is_empty() {
                write!(f, ", {} {what}", dropped.len())?;
            }
            for dropped in dropped.iter().take(MAX_PRINTED) {
                write!(f, "; {dropped}")?;
            }
        }
        if self.pending > 0 {
            write!(f, ", {} pending", self.pending)?;
        }
        match &self.error {
            Some(error) => write!(f, ": {}", WithSource(error)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} on {}:", self.table, self.key, self.day)?;
        for (name, amount) in &self.amounts {
            write!(f, " {name} {amount:+}")?;
        }
        write!(f, ": {}", self.error)
    }
}

impl fmt::Display for BufferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BufferError::Full { max_keys } => write!(
                f,
                "the buffer is full: {max_keys} keys haven't been written yet; `on_write` reports why"
            ),
            BufferError::Forked => f.write_str(FORKED),
            BufferError::Stopped => f.write_str(
                "the buffer was stopped and no longer counts; stop it only when nothing counts any more",
            ),
        }
    }
}

impl std::error::Error for BufferError {}
