//! Counting without a connection.

use std::any::TypeId;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::Utc;
use diesel::connection::Connection;
use diesel::r2d2::{ManageConnection, Pool, PoolError};

use crate::add::gathered::{Sums, sum_of};
use crate::add::increment::Increment;
use crate::add::many::IncrementMany;
use crate::background::{Background, Stop, caught};
use crate::buffer::backlog::Backlog;
use crate::buffer::shards::{BufferKey, OwnedKey, Shards, lock, room};
use crate::buffer::write::{BufferError, IfUnknown, Pending, Write, WriteError};
use crate::buffer::writer::{Done, Writer};
use crate::sql::CounterBackend;
use crate::typed::counters::Counters;
use crate::typed::counters::{KeyType, is_zero};
use crate::typed::key::{BindKey, LoadKey};

/// Counts in memory, and writes the counts from a background thread: for counts that need not be in
/// the caller's transaction, such as page views and downloads.
///
/// [`count`](CounterBuffer::count) takes nanoseconds, no connection, and can be called from any thread
/// or task. Every second, the thread adds up what was counted, sorts it by key, and writes it in few
/// statements, with a connection of the pool. While the database is away, counting goes on.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use diesel::r2d2::{ConnectionManager, Pool};
/// use diesel_counters::CounterBuffer;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// # let pool = Pool::builder().max_size(1).build(ConnectionManager::<SqliteConnection>::new(":memory:"))?;
/// # *pool.get()? = establish_connection();
/// let buffer = CounterBuffer::of(pool.clone())
///     .on_write(|write| println!("{write}"))
///     .start()?;
///
/// buffer.count(increment(views).of(1_i64))?;
/// buffer.count(increment(views).of(1_i64))?;
/// assert_eq!(buffer.pending_of(views, &1_i64), 2);
///
/// buffer.flush(); // in a test; the thread does it every second
/// let n: i64 = counter_value(views).of(1_i64).get_result(&mut pool.get()?)?;
/// assert_eq!(n, 2);
/// # Ok(())
/// # }
/// ```
///
/// # What can be lost
///
/// A process that is killed loses what it has counted since its last write: the counts of one
/// [`every`], and those that were being written. Dropping the buffer, or [`stop`], writes what is
/// pending. A buffer in a `static` is never dropped: call [`flush`] at the end of `main`.
///
/// Nothing else is lost. While the database is away, counts are pending, up to [`max_keys`] keys of a
/// table. Then the buffer is full for this table, and [`count`](CounterBuffer::count) fails, also for
/// keys that are pending since an earlier write.
///
/// # What is written twice
///
/// Nothing. If the connection breaks during a COMMIT, nobody knows whether the batch was written. So
/// each transaction stores the number of its batch in the buffer's row of the table `counter_buffers`,
/// and the next one reads there whether the last one has committed. Copy the migration
/// `create_counter_buffers` from the folder `migrations` of the repository into your own migrations.
/// [`without_table`] is for databases in which you cannot create it.
///
/// A killed process leaves its row behind. Delete old rows from time to time:
/// `DELETE FROM counter_buffers WHERE day < '2026-01-01'`. Do not delete the row of a process that
/// runs.
///
/// # Keys that cannot be written
///
/// If the database refuses a row, such as that of an article that was deleted, or a count that would
/// overflow, the others are written. [`on_write`] gets the refused key with its amounts. So count a new
/// article after the COMMIT that inserts it: before it, PostgreSQL refuses its counts. If the reason
/// may pass, such as a lock that another transaction holds for more than a second, the key stays pending
/// and is tried again at each write.
///
/// The refused keys of up to 2,500 rows are found in one transaction, with a savepoint for each. An error
/// that is not known, such as one of your own trigger or in another language, refuses a row if it comes
/// at once, and if the same transaction could write other rows of the table, or the same row with other
/// amounts.
///
/// # Days
///
/// A count is stored under the day on which it was counted, also if it is written on the next one. The
/// buffer reads the table's `today` every second, and not at each count.
///
/// # Concurrency
///
/// Several processes can have buffers of the same tables. A transaction of a buffer writes up to 2,500
/// rows, in the slot of its connection, as [`of_many`](Increment::of_many) does.
///
/// # Reading
///
/// A total does not include what is pending. To add it, see [`pending_of`](CounterBuffer::pending_of).
///
/// # Forks and asynchronous programs
///
/// Start the buffer after a `fork`, as a pool. In a child of the process that started it, it writes
/// nothing, and [`count`](CounterBuffer::count) fails: for a new key at once, and for a key that was
/// pending at the fork within 64 calls, because each call would otherwise ask the operating system.
///
/// [`count`](CounterBuffer::count) and [`pending_of`](CounterBuffer::pending_of) do not block. [`flush`],
/// [`stop`] and the drop wait for the database: in an asynchronous program, call `stop` in
/// `spawn_blocking` before the runtime ends.
///
/// [`every`]: crate::dsl::CounterBufferBuilder::every
/// [`max_keys`]: crate::dsl::CounterBufferBuilder::max_keys
/// [`on_write`]: crate::dsl::CounterBufferBuilder::on_write
/// [`without_table`]: crate::dsl::CounterBufferBuilder::without_table
/// [`flush`]: CounterBuffer::flush
/// [`stop`]: CounterBuffer::stop
#[must_use = "a buffer stops when it is dropped"]
pub struct CounterBuffer<Conn: Connection<Backend: CounterBackend> + 'static> {
    shared: Arc<Shared<Conn>>,
    /// `None` after the end.
    threads: Option<[Background; 2]>,
}

/// The settings of a [`CounterBuffer`]; made by [`CounterBuffer::of`].
#[must_use = "a buffer does nothing until `start` is called"]
pub struct CounterBufferBuilder<Conn> {
    run: Box<Run<Conn>>,
    every: Duration,
    max_keys: usize,
    if_unknown: Option<IfUnknown>,
    on_write: Box<OnWrite>,
}

/// Runs a function with a connection of the pool.
type Run<Conn> = dyn Fn(&mut dyn FnMut(&mut Conn)) -> Result<(), PoolError> + Send + Sync;

type RunOnce<'a, Conn> = dyn FnMut(&mut dyn FnMut(&mut Conn)) -> Result<(), PoolError> + 'a;

type OnWrite = dyn Fn(&Write) + Send + Sync;

struct Shared<Conn> {
    shards: Shards<Conn>,
    /// Lock the writer first, if both are needed.
    backlog: Mutex<Backlog<Conn>>,
    writer: Mutex<Writer<Conn>>,
    last: Mutex<Last>,
    run: Box<Run<Conn>>,
    on_write: Box<OnWrite>,
}

/// When the last write without an error ended, and how many have failed since.
#[derive(Default)]
struct Last {
    write: Option<Instant>,
    failures: u32,
}

/// How often the days are read.
const A_SECOND: Duration = Duration::from_secs(1);

impl<Conn> CounterBuffer<Conn>
where
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    /// Begins to build a buffer that writes with connections of this pool, one at a time.
    pub fn of<M: ManageConnection<Connection = Conn>>(pool: Pool<M>) -> CounterBufferBuilder<Conn> {
        CounterBufferBuilder {
            run: Box::new(move |write| pool.get().map(|mut conn| write(&mut conn))),
            every: A_SECOND,
            max_keys: 1_000_000,
            if_unknown: None,
            on_write: Box::new(|_| ()),
        }
    }

    /// Counts an increment: of an entity, such as `increment(views).of(id)`,
    /// [`of_many`](Increment::of_many), or without an entity. It runs no statement. Of many entities, it
    /// counts all or none.
    ///
    /// A key is owned, such as an `i64` or a `String`, or a reference, such as a `&str`, which is copied
    /// only if it is new. Give all keys of a table as one Rust type.
    ///
    /// # Errors
    ///
    /// - [`BufferError::Full`], if as many keys are pending as
    ///   [`max_keys`](crate::dsl::CounterBufferBuilder::max_keys) allows for the table, and the increment
    ///   needs room for another one. One of many entities needs room for all of them.
    /// - [`BufferError::NoDay`], if the table's `today` panicked when it was called last.
    /// - [`BufferError::Forked`], in a child of the process that started the buffer.
    ///
    /// After an error, nothing is counted.
    pub fn count<I: Bufferable<Conn, Of>, Of>(&self, increment: I) -> Result<(), BufferError> {
        increment.count_in(self)
    }

    /// Returns what was counted for this entity and is not written yet, on all days: an `i64`, or a
    /// tuple. Give the key as the Rust type that is counted.
    ///
    /// To show a total with what is pending, call this first, and then read the total. A count that is
    /// written in between is in both. In the other order, it would be in neither.
    ///
    /// Out of the range of an `i64`, it returns the nearest one.
    pub fn pending_of<C, K>(&self, _counters: C, key: &K) -> C::Value
    where
        C: Counters<Table: 'static>,
        K: BufferKey + BindKey<KeyType<C>, Conn::Backend>,
    {
        let table = TypeId::of::<(C::Table, K)>();
        let mut sums = Sums::new();
        // Counts move from the shards to the backlog while it is locked.
        let backlog = lock(&self.shared.backlog);
        backlog.add_pending(table, key, &mut sums);
        self.shared.shards.add_pending(table, key, &mut sums);
        drop(backlog);
        let mut amounts = C::ZERO;
        for (amount, name) in amounts.as_mut().iter_mut().zip(C::NAMES) {
            *amount = nearest(sum_of(&sums, name.0));
        }
        C::value(amounts)
    }

    /// Returns what is pending in all, and how the last writes went. It takes some time for each
    /// pending key.
    pub fn pending(&self) -> Pending {
        self.shared.pending()
    }

    /// Writes all that was counted before the call, on this thread. Returns the result, which
    /// [`on_write`](crate::dsl::CounterBufferBuilder::on_write) gets too.
    ///
    /// It waits for a connection as long as the pool allows.
    pub fn flush(&self) -> Write {
        self.shared.write()
    }

    /// Stops the thread, and writes what is pending. Returns the last write: its
    /// [`pending`](Write::pending) is what is lost. Dropping the buffer does the same.
    pub fn stop(mut self) -> Write {
        self.end()
    }

    fn end(&mut self) -> Write {
        let Some(threads) = self.threads.take() else {
            return Write::of(self.shared.pending());
        };
        if self.shared.shards.is_forked() {
            // There are no threads to wait for.
            std::mem::forget(threads);
            return self.shared.write();
        }
        for mut thread in threads {
            thread.stop();
        }
        let write = self.shared.write();
        let mut writer = lock(&self.shared.writer);
        if write.error.is_none() && writer.has_row() {
            // Without it, an old row stays in the table.
            let _ = (self.shared.run)(&mut |conn| drop(writer.end(conn)));
        }
        drop(writer);
        write
    }
}

impl<Conn> Drop for CounterBuffer<Conn>
where
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    fn drop(&mut self) {
        self.end();
    }
}

impl<Conn> fmt::Debug for CounterBuffer<Conn>
where
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CounterBuffer")
            .field("pending_keys", &self.shared.shards.keys())
            .finish_non_exhaustive()
    }
}

impl<Conn> CounterBufferBuilder<Conn>
where
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    /// Writes when this time has passed since the end of each write. Defaults to a second. A time below
    /// one millisecond is replaced by one millisecond. After a write that failed, it waits for a second
    /// at least.
    pub fn every(mut self, time: Duration) -> Self {
        self.every = time.max(Duration::from_millis(1));
        self
    }

    /// Sets the greatest number of pending keys of each table, so that a flood of keys of one table leaves
    /// room for the others. Defaults to 1,000,000, which is about 100 MB of keys that are numbers, and
    /// less than 500 MB of any others.
    ///
    /// A key takes room once for each day. Until the next write, it also does for each thread that counts
    /// it, and for each tuple of counters: `views`, `likes`, and `(views, likes)` are three. A key of text
    /// or bytes takes the room of one more key for each 256 bytes that `{:?}` prints.
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.max_keys = keys;
        self
    }

    /// Calls `f` after each write, on the thread that has written. It is not called if there was
    /// nothing to write. If `f` panics on the buffer's thread, the message is printed, and the thread goes
    /// on.
    ///
    /// The [`Write`] has a `Display`, for a log: `tracing::info!("{write}")`.
    pub fn on_write(mut self, f: impl Fn(&Write) + Send + Sync + 'static) -> Self {
        self.on_write = Box::new(f);
        self
    }

    /// Does not use the table `counter_buffers`. If the connection breaks during a COMMIT, the batch is
    /// counted twice or not at all, as `if_unknown` says.
    pub fn without_table(mut self, if_unknown: IfUnknown) -> Self {
        self.if_unknown = Some(if_unknown);
        self
    }

    /// Starts the threads: one that writes, and one that reads the day. It does not connect.
    ///
    /// # Errors
    ///
    /// It returns an error if the operating system cannot create a thread.
    pub fn start(self) -> std::io::Result<CounterBuffer<Conn>> {
        let every = self.every;
        let mut buffer = self.without_threads();
        let shared = &buffer.shared;
        let writes = Arc::clone(shared);
        let reads_days = Arc::clone(shared);
        let threads = [
            Background::start("counter-buffer", move |stop| {
                writes.write_every(every, stop);
            })?,
            Background::start("counter-buffer-day", move |stop| {
                while !stop.is_now() {
                    reads_days.shards.read_days();
                    // At the next whole second, so that the day is new when it begins.
                    let passed = Duration::from_nanos(Utc::now().timestamp_subsec_nanos().into());
                    stop.wait(A_SECOND.saturating_sub(passed));
                }
            })?,
        ];
        buffer.threads = Some(threads);
        Ok(buffer)
    }

    fn without_threads(self) -> CounterBuffer<Conn> {
        let shared = Shared {
            shards: Shards::new(self.max_keys),
            backlog: Mutex::default(),
            writer: Mutex::new(Writer::new(self.if_unknown)),
            last: Mutex::default(),
            run: self.run,
            on_write: self.on_write,
        };
        CounterBuffer {
            shared: Arc::new(shared),
            threads: None,
        }
    }
}

impl<Conn> fmt::Debug for CounterBufferBuilder<Conn> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CounterBufferBuilder")
            .field("every", &self.every)
            .field("max_keys", &self.max_keys)
            .field("if_unknown", &self.if_unknown)
            .finish_non_exhaustive()
    }
}

/// Counts an increment, and writes it on this connection, for the enumerator of the repository.
pub fn write_once<I, Of, Conn>(increment: I, conn: &mut Conn) -> Write
where
    I: Bufferable<Conn, Of>,
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    let builder = CounterBufferBuilder {
        run: Box::new(|_| Ok(())),
        every: A_SECOND,
        max_keys: usize::MAX,
        if_unknown: None,
        on_write: Box::new(|_| ()),
    };
    let buffer = builder.without_threads();
    // It is not full.
    let _ = buffer.count(increment);
    let write = buffer.shared.write_on(&mut |write| {
        write(conn);
        Ok(())
    });
    write.unwrap_or_else(|| Write::of(Pending::default()))
}

impl<Conn> Shared<Conn>
where
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    fn write_every(&self, every: Duration, stop: &Stop) {
        stop.wait(every);
        while !stop.is_now() {
            let write = self.write_on(&mut |write| (self.run)(write));
            let failed = write.is_some_and(|write| {
                let _ = caught(|| (self.on_write)(&write));
                write.error.is_some()
            });
            stop.wait(if failed { every.max(A_SECOND) } else { every });
        }
    }

    fn is_empty(&self) -> bool {
        self.shards.keys() == 0
    }

    fn write(&self) -> Write {
        let Some(write) = self.write_on(&mut |write| (self.run)(write)) else {
            // In a fork, another thread may have locked what is pending.
            let is_forked = self.shards.is_forked();
            let pending = (!is_forked).then(|| self.pending());
            return Write::of(pending.unwrap_or_default());
        };
        (self.on_write)(&write);
        write
    }

    /// Writes with the connection that `run` gives. Returns `None` if there is nothing to write.
    fn write_on(&self, run: &mut RunOnce<'_, Conn>) -> Option<Write> {
        let begun = Instant::now();
        if self.is_empty() {
            return None;
        }
        if self.shards.is_forked() {
            // A thread of the other process may have locked what is locked here.
            let mut write = Write::of(Pending {
                keys: self.shards.keys(),
                ..Pending::default()
            });
            write.error = Some(WriteError::Forked);
            return Some(write);
        }
        let mut done = Done::default();
        let result = caught(|| self.write_pending(run, &mut done));
        let result = result.unwrap_or_else(|text| Some(Err(WriteError::Panicked(text))));
        let error = result?.err().or(done.held.map(WriteError::Database));
        {
            let mut last = lock(&self.last);
            if error.is_some() {
                last.failures = last.failures.saturating_add(1);
            } else {
                last.write = Some(Instant::now());
                last.failures = 0;
            }
        }
        Some(Write {
            written: done.written,
            refused: done.refused,
            error,
            pending: self.pending(),
            took: begun.elapsed(),
        })
    }

    fn write_pending(
        &self,
        run: &mut RunOnce<'_, Conn>,
        done: &mut Done,
    ) -> Option<Result<(), WriteError>> {
        let mut writer = lock(&self.writer);
        // Another thread may have written it meanwhile.
        if self.is_empty() {
            return None;
        }
        if !writer.is_unknown() {
            // So that a key takes room once only, also if there is no connection.
            self.shards.drain(&mut lock(&self.backlog));
        }
        let mut result = Ok(());
        let ran = run(&mut |conn| {
            result = writer.write(&self.shards, &self.backlog, conn, done);
        });
        Some(ran.map_err(WriteError::Pool).and(result))
    }

    fn pending(&self) -> Pending {
        let backlog = lock(&self.backlog);
        let (amount, oldest) = self.shards.pending();
        let amount = backlog.amount() + amount;
        let oldest = [backlog.oldest(), oldest].into_iter().flatten().min();
        drop(backlog);
        let last = lock(&self.last);
        Pending {
            keys: self.shards.keys(),
            amount: nearest(amount),
            oldest: oldest.map(|oldest| oldest.elapsed()),
            last_write: last.write.map(|write| write.elapsed()),
            failures: last.failures,
            refused: self.shards.refused(),
        }
    }
}

fn nearest(sum: i128) -> i64 {
    sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// An increment that a [`CounterBuffer`] counts: an [`Increment`] of an entity or without one, or an
/// [`IncrementMany`]. Do not implement it yourself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an increment that a buffer can count",
    label = "this requires an increment with the key of its entity, such as `increment(views).of(id)`",
    note = "a key is `Hash + Ord + Clone + Debug + Send`, and can be loaded; of several columns, it is owned: `(i64, String)`"
)]
pub trait Bufferable<Conn: Connection<Backend: CounterBackend> + 'static, Of> {
    #[doc(hidden)]
    fn count_in(self, buffer: &CounterBuffer<Conn>) -> Result<(), BufferError>;
}

/// An increment of an entity whose key is owned.
#[derive(Debug)]
pub struct OfOwned;

/// An increment of an entity whose key is a reference.
#[derive(Debug)]
pub struct OfBorrowed;

/// An increment of many entities.
#[derive(Debug)]
pub struct OfMany;

// A reference cannot be loaded, so the compiler infers which of the two impls is meant.
#[diagnostic::do_not_recommend]
impl<C, K, Conn> Bufferable<Conn, OfOwned> for Increment<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: BufferKey + BindKey<KeyType<C>, Conn::Backend> + LoadKey<KeyType<C>, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    #[inline]
    fn count_in(self, buffer: &CounterBuffer<Conn>) -> Result<(), BufferError> {
        if is_zero(&self.amounts) {
            return Ok(());
        }
        let day = self.day.get().map(|day| day.0);
        let count = std::iter::once((OwnedKey(self.id.0), self.amounts));
        buffer.shared.shards.count::<C, K>(day, count, 0)
    }
}

#[diagnostic::do_not_recommend]
impl<C, Q, Conn> Bufferable<Conn, OfBorrowed> for Increment<C, &Q>
where
    C: Counters<Table: 'static> + 'static,
    Q: ToOwned + Hash + Eq + ?Sized,
    Q::Owned: BufferKey + BindKey<KeyType<C>, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    #[inline]
    fn count_in(self, buffer: &CounterBuffer<Conn>) -> Result<(), BufferError> {
        if is_zero(&self.amounts) {
            return Ok(());
        }
        let day = self.day.get().map(|day| day.0);
        let count = std::iter::once((self.id.0, self.amounts));
        buffer.shared.shards.count::<C, Q::Owned>(day, count, 0)
    }
}

impl<C, K, Conn> Bufferable<Conn, OfMany> for IncrementMany<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: BufferKey + BindKey<KeyType<C>, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    fn count_in(self, buffer: &CounterBuffer<Conn>) -> Result<(), BufferError> {
        let day = self.increment.day.get().map(|day| day.0);
        let mut counts = Vec::with_capacity(self.counts.len());
        let mut all = 0;
        for (key, amounts) in self.counts {
            if !is_zero(&amounts) {
                all += room(&key);
                counts.push((OwnedKey(key), amounts));
            }
        }
        // A single one that is known needs no room.
        let room = if counts.len() > 1 { all } else { 0 };
        buffer
            .shared
            .shards
            .count::<C, K>(day, counts.into_iter(), room)
    }
}
