//! What a buffer reports: its writes, the keys that the database refused, and errors.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use chrono::NaiveDate;
use diesel::r2d2::PoolError;
use diesel::result::Error;

/// A write of a [`CounterBuffer`](crate::CounterBuffer).
#[derive(Debug)]
#[non_exhaustive]
pub struct Write {
    /// The number of rows that were written. A row is a key on a day.
    pub written: usize,
    /// The keys that the database refused. Their counts are not written again.
    pub refused: Vec<Refused>,
    /// The error of rows that are still pending. The next write tries them again.
    pub error: Option<WriteError>,
    /// What is pending after the write.
    pub pending: Pending,
    /// How long the write took.
    pub took: Duration,
}

impl Write {
    /// Nothing was written.
    pub(crate) fn of(pending: Pending) -> Self {
        Write {
            written: 0,
            refused: Vec::new(),
            error: None,
            pending,
            took: Duration::ZERO,
        }
    }
}

/// A key whose counts could not be written: its row was deleted, for example, or the count would
/// overflow.
#[derive(Debug)]
#[non_exhaustive]
pub struct Refused {
    /// The name of the counter table.
    pub table: &'static str,
    /// The key, as `{:?}` prints it.
    pub key: String,
    /// The day that it was counted on.
    pub day: NaiveDate,
    /// The names of the counters, and the amounts that were not added to them.
    pub amounts: Vec<(&'static str, i128)>,
    /// The error of the database.
    pub error: Error,
}

/// The error of a write of a [`CounterBuffer`](crate::CounterBuffer). Its
/// [`source`](std::error::Error::source) is the error of the pool or of the database.
#[derive(Debug)]
#[non_exhaustive]
pub enum WriteError {
    /// The pool did not return a connection.
    Pool(PoolError),
    /// The number of the batch could not be stored.
    Batches(Error),
    /// The database returned an error.
    Database(Error),
    /// This process is a fork of the one that started the buffer. It writes nothing, because the
    /// other process does.
    Forked,
    /// The write panicked, with this message: in Diesel's instrumentation, for example. What is pending
    /// is written the next time.
    Panicked(String),
}

/// What a [`CounterBuffer`](crate::CounterBuffer) has counted, and not written yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Pending {
    /// The number of keys of all tables, as
    /// [`max_keys`](crate::dsl::CounterBufferBuilder::max_keys) counts them.
    pub keys: usize,
    /// The sum of all amounts, or the nearest `i64`.
    pub amount: i64,
    /// The age of the oldest count.
    pub oldest: Option<Duration>,
    /// The time since the last write without an error.
    pub last_write: Option<Duration>,
    /// The number of writes that failed since then.
    pub failures: u32,
    /// The number of calls of [`count`](crate::CounterBuffer::count) that failed because the buffer
    /// was full, since it was started.
    pub refused: u64,
}

/// Why a [`CounterBuffer`](crate::CounterBuffer) does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BufferError {
    /// As many keys of the table are pending as
    /// [`max_keys`](crate::dsl::CounterBufferBuilder::max_keys) allows.
    #[allow(missing_docs)]
    Full { max_keys: usize },
    /// The table's `today` panicked. It is called again every second.
    NoDay,
    /// This process is a fork of the one that started the buffer.
    Forked,
}

/// What to do with a batch of which nobody knows whether it was written, because the connection broke
/// during the COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfUnknown {
    /// Write it again. If it was written, it is counted twice.
    WriteAgain,
    /// Report its rows as [refused](Write::refused). If it was not written, it is not counted.
    Discard,
}

impl fmt::Display for Write {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (written, took) = (self.written, self.took.as_secs_f64());
        let s = if written == 1 { "" } else { "s" };
        write!(f, "{written} row{s} written in {took:.3} s")?;
        match self.refused.len() {
            0 => {}
            number => write!(f, ", {number} refused")?,
        }
        for refused in self.refused.iter().take(3) {
            write!(f, "; {refused}")?;
        }
        match self.pending.keys {
            0 => {}
            keys => write!(f, ", {keys} pending")?,
        }
        match self.pending.refused {
            0 => {}
            calls => write!(f, ", {calls} counts refused because the buffer was full")?,
        }
        let Some(error) = &self.error else {
            return Ok(());
        };
        write!(f, ": {error}")?;
        error
            .source()
            .map_or(Ok(()), |source| write!(f, ": {source}"))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} on {}:", self.table, self.key, self.day)?;
        for (name, amount) in &self.amounts {
            write!(f, " {name} {amount:+}")?;
        }
        write!(f, ": {}", self.error)
    }
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WriteError::Pool(_) => "could not get a connection from the pool",
            WriteError::Batches(_) => {
                "could not store the number of the batch in the table counter_buffers; \
                 its migration is migrations/…/create_counter_buffers"
            }
            WriteError::Database(_) => "the write failed",
            WriteError::Forked => FORKED,
            WriteError::Panicked(message) => return write!(f, "panicked: {message}"),
        })
    }
}

impl StdError for WriteError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            WriteError::Pool(error) => Some(error),
            WriteError::Batches(error) | WriteError::Database(error) => Some(error),
            WriteError::Forked | WriteError::Panicked(_) => None,
        }
    }
}

const FORKED: &str =
    "this process is a fork of the one that started the buffer; start the buffer after the fork";

impl fmt::Display for BufferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BufferError::Full { max_keys } => write!(
                f,
                "the buffer is full: {max_keys} keys of the table are not written yet; \
                 on_write reports why the database does not take them"
            ),
            BufferError::NoDay => f.write_str("the table's `today` panicked"),
            BufferError::Forked => f.write_str(FORKED),
        }
    }
}

impl StdError for BufferError {}
