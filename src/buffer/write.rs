//! What a buffer reports: its writes, the keys that it has dropped, and errors.

use std::fmt;
use std::time::Duration;

use chrono::NaiveDate;
use diesel::result::Error;

use crate::background::{BackgroundError, FORKED, WithSource};

/// A write of a [`CounterBuffer`](crate::CounterBuffer). Its `Display` is for a log.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Write {
    /// The number of rows that were written. A row is a key on a day. One whose amounts sum to 0
    /// is not written.
    pub written: usize,
    /// The keys that the database refused. Their counts are not stored, and not written again.
    pub refused: Vec<Dropped>,
    /// The keys of a batch whose COMMIT was not answered, or was answered with an error that the
    /// database does not define as a rollback. Either all of their counts are stored or none,
    /// and they are not written again. Behind a gate that commits on one shard after the
    /// other, a part can be stored.
    pub unknown: Vec<Dropped>,
    /// The error of the write. Rows that were not written are still pending, and the next write
    /// tries them again: also rows whose reason may pass, such as a lock that is held for more
    /// than a second.
    pub error: Option<BackgroundError>,
    /// The number of keys that are pending after the write, as
    /// [`max_keys`](crate::buffer::CounterBufferBuilder::max_keys) counts them.
    pub pending: usize,
    /// How long the write took.
    pub took: Duration,
}

/// A key whose counts were [refused](Write::refused), or of which it is [unknown](Write::unknown)
/// whether they are stored.
#[derive(Debug)]
#[non_exhaustive]
pub struct Dropped {
    /// The name of the counter table.
    pub table: &'static str,
    /// The key, as `{:?}` prints it.
    pub key: String,
    /// The day that it was counted on.
    pub day: NaiveDate,
    /// The names of the counters, and the amounts.
    pub amounts: Vec<(&'static str, i128)>,
    /// The error of the database, or of the COMMIT.
    pub error: Error,
}

/// Why a [`CounterBuffer`](crate::CounterBuffer) does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferError {
    /// The increment has keys that this thread has not counted since the last write, and more keys
    /// would be pending than
    /// [`max_keys`](crate::buffer::CounterBufferBuilder::max_keys) allows.
    #[allow(missing_docs, reason = "the variant says what it is")]
    Full { max_keys: usize },
    /// This process is a fork of the one that started the buffer.
    Forked,
    /// The buffer was [stopped](crate::CounterBuffer::stop).
    Stopped,
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = self.written;
        let took = self.took.as_secs_f64();
        let s = if written == 1 { "" } else { "s" };
        write!(f, "{written} row{s} written in {took:.3} s")?;
        let unknown = "written or lost, because the answer to the COMMIT does not say which";
        for (dropped, what) in [(&self.refused, "refused"), (&self.unknown, unknown)] {
            if !dropped.is_empty() {
                write!(f, ", {} {what}", dropped.len())?;
            }
            for dropped in dropped.iter().take(3) {
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
                "the buffer is full: {max_keys} keys are not written yet; on_write reports why the \
                 database does not take them"
            ),
            BufferError::Forked => f.write_str(FORKED),
            BufferError::Stopped => f.write_str(
                "the buffer was stopped, and counts nothing more; stop it when nothing counts any longer",
            ),
        }
    }
}

impl std::error::Error for BufferError {}
