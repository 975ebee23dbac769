//! Counting without a connection.

use std::error::Error as StdError;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use chrono::Utc;
use diesel::connection::Connection;

use crate::add::countable::Countable;
use crate::add::gathered::Gathered;
use crate::background::{Background, BackgroundError, Source, lock};
use crate::buffer::read::Pending;
use crate::buffer::shared::{OnWrite, Shared};
use crate::buffer::write::{BufferError, Write};
use crate::key::OwnedKey;
use crate::sql::CounterBackend;
use crate::typed::counters::{Counters, KeyType};

/// Counts in memory, and writes the counts from a background thread: for counts that need not be in
/// the caller's transaction, such as page views and downloads.
///
/// [`count`](CounterBuffer::count) takes nanoseconds and no connection, on any thread or task.
/// Every second, the thread writes what was counted, in few statements, in the order of the keys.
/// [The guide](crate::guide::counting#a-buffer) has a buffer in the struct of a program, and what
/// it does if something fails.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use diesel::r2d2::{ConnectionManager, Pool};
/// use diesel_counters::CounterBuffer;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// # let pool = Pool::builder().max_size(1).build(ConnectionManager::<SqliteConnection>::new(":memory:"))?;
/// # *pool.get()? = establish_connection();
/// let connect = { let pool = pool.clone(); move || pool.get() };
/// let buffer = CounterBuffer::builder(connect).on_write(|write| println!("{write}")).start()?;
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
/// - A process that is killed loses what it has counted since its last write. [`stop`] writes what
///   is pending, and so does dropping a buffer that was not stopped. A buffer in a `static` is
///   never dropped: call [`stop`] at the end of `main`.
/// - If a COMMIT is not answered, or is answered with an error, the batch of up to 2,500 rows can
///   have been written, also if the connection still works. It is not written again, so that
///   nothing is counted twice: it is [unknown](Write::unknown). A batch is written again only after
///   an error that the database defines as a rollback, such as a serialization failure.
///
/// While the database is away, counts are pending, up to [`max_keys`] keys. A row that the database
/// refuses, such as that of an article that was deleted, is [dropped](Write::refused), and the
/// others are written. So count a new article after the COMMIT that inserts it.
///
/// # Days, forks, asynchronous programs
///
/// A count is stored under the day on which it was counted. A thread calls the table's `today` at
/// its first count of a second, and at its first count after a write. All counts are in the slot of the connection that writes them.
///
/// Start the buffer after a `fork`. In a child of the process that started it, it writes nothing,
/// and [`count`](CounterBuffer::count) fails, for a key that was pending at the fork within 64
/// calls.
///
/// Whatever is written, is written on the buffer's own thread, which also calls `connect` and
/// [`on_write`]. [`flush`], [`stop`] and the drop of a buffer that was not stopped wait for it. So
/// in an asynchronous program, call `flush` and `stop` in `spawn_blocking`, and `stop` before the
/// runtime ends: if connections need the runtime, a task that waits for the thread on the only
/// thread of the runtime waits forever. [`pending_of`](CounterBuffer::pending_of) waits while a
/// write sorts what was counted, which can take seconds for a million texts. Other methods do not
/// block.
///
/// [`max_keys`]: CounterBufferBuilder::max_keys
/// [`on_write`]: CounterBufferBuilder::on_write
/// [`flush`]: CounterBuffer::flush
/// [`stop`]: CounterBuffer::stop
#[must_use = "a buffer stops when it is dropped"]
pub struct CounterBuffer<Conn: Connection<Backend: CounterBackend> + 'static> {
    shared: Arc<Shared<Conn>>,
    thread: Background<Write>,
    clock: Background,
}

/// The settings of a [`CounterBuffer`]; made by [`CounterBuffer::builder`].
#[must_use = "a buffer does nothing until `start` is called"]
pub struct CounterBufferBuilder<Conn> {
    source: Box<Source<Conn>>,
    every: Duration,
    max_keys: usize,
    on_write: Box<OnWrite>,
}

/// At each such call, and for each new key, `count` asks whether this is a fork.
const CALLS: u8 = 64;

const A_SECOND: Duration = Duration::from_secs(1);

impl<Conn: Connection<Backend: CounterBackend> + 'static> CounterBuffer<Conn> {
    /// Begins to build a buffer. `connect` returns a connection for each write: `move ||
    /// pool.get()` makes a `CounterBuffer<PooledConnection<ConnectionManager<PgConnection>>>`,
    /// and `move || PgConnection::establish(&url)` a `CounterBuffer<PgConnection>`.
    pub fn builder<E: Into<Box<dyn StdError + Send + Sync>>>(
        connect: impl Fn() -> Result<Conn, E> + Send + Sync + 'static,
    ) -> CounterBufferBuilder<Conn> {
        CounterBufferBuilder {
            source: Box::new(move || connect().map_err(Into::into)),
            every: A_SECOND,
            max_keys: 1_000_000,
            on_write: Box::new(|_| ()),
        }
    }

    /// Counts an increment, of one entity, of many (all or none), or without an entity. It runs no
    /// statement.
    ///
    /// # Errors
    ///
    /// Those of [`BufferError`]. After an error, nothing is counted.
    ///
    /// # Panics
    ///
    /// If the table's `today` panics.
    #[inline]
    pub fn count<I: Countable<Conn, Of>, Of>(&self, increment: I) -> Result<(), BufferError> {
        let shared = &self.shared;
        let max_keys = self.shared.max_keys;
        let room = max_keys.saturating_sub(self.pending());
        let second = Some(shared.second.load(Ordering::Relaxed));
        let (calls, counted) = &mut *lock(shared.shard());
        // In the lock, so that the last write, which locks it later, has all counts.
        if shared.is_stopped.load(Ordering::Relaxed) {
            return Err(BufferError::Stopped);
        }
        let new = counted.count(increment, second, room);
        let new = new.ok_or(BufferError::Full { max_keys })?;
        *calls = calls.wrapping_add(1);
        if new == 0 && *calls % CALLS != 0 {
            return Ok(());
        }
        if self.thread.is_forked() {
            // So that the next key is new, and this is asked again.
            *counted = Gathered::default();
            return Err(BufferError::Forked);
        }
        // Before a write can see the keys, and subtract them again.
        shared.keys.fetch_add(new, Ordering::Relaxed);
        Ok(())
    }

    /// Returns what was counted for this entity and is not written yet, on all days: an `i64`, or a
    /// tuple. Give the key as the Rust type that is counted. Out of the range of an `i64`, it returns
    /// the nearest one.
    ///
    /// To show a total with what is pending, call [`read`](CounterBuffer::read).
    pub fn pending_of<C, K>(&self, _counters: C, key: &K) -> C::Value
    where
        C: Counters<Table: 'static>,
        K: OwnedKey<KeyType<C>, Conn::Backend> + Hash + Send + 'static,
    {
        C::value(self.shared.pending_of::<C, K>(key))
    }

    /// Reads what is written and what is pending as of one moment: a page shows each view, and
    /// none of them twice.
    ///
    /// `read` runs the queries, and adds what [`pending.of(…)`](Pending::of) returns:
    ///
    /// ```
    /// # include!("../../docs/doctest_setup.rs");
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use diesel_counters::CounterBuffer;
    /// # use diesel_counters::prelude::*;
    /// # use schema::article_counters::views;
    /// # let conn = &mut establish_connection();
    /// # let buffer = CounterBuffer::builder(|| SqliteConnection::establish(":memory:")).start()?;
    /// buffer.count(increment(views).of(1_i64))?;
    ///
    /// let n: i64 = buffer.read(|pending| {
    ///     let written: i64 = counter_value(views).of(1_i64).get_result(conn)?;
    ///     QueryResult::Ok(written + pending.of(views, &1_i64))
    /// })?;
    /// assert_eq!(n, 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// If the buffer commits meanwhile, `read` is called again, so let it do nothing but read. While
    /// a COMMIT is not answered, it waits. From the fourth call on, the buffer begins no batch until
    /// `read` has returned. So the fifth call is exact, even if the buffer writes all the time.
    ///
    /// This takes no longer than it must: if a COMMIT is not answered within a second, or the last
    /// two calls take more than two seconds, `read` is called once more, and what is pending is left
    /// out: [`of`](Pending::of) returns 0. A view is then shown a little later, but never twice.
    ///
    /// `read` must see what the buffer has committed:
    ///
    /// - Ask the server that the buffer writes to. A replica is a bit behind.
    /// - Don't call it in a transaction above READ COMMITTED, which reads what was there when it
    ///   began.
    ///
    /// Only this buffer's counts are pending. If there are several, also in other processes, what
    /// they count is seen once they have written it.
    ///
    /// In an asynchronous program, call it on a thread that may block. Take the connection before
    /// the call: the buffer needs one too. A [`flush`](CounterBuffer::flush) in `read` makes it
    /// start again.
    ///
    /// # Errors
    ///
    /// Returns the error of `read`, and does not call it again.
    pub fn read<T, E>(&self, read: impl FnMut(&Pending<'_, Conn>) -> Result<T, E>) -> Result<T, E> {
        self.shared.read(read)
    }

    /// Returns the number of keys that are counted and not written yet, as
    /// [`max_keys`](CounterBufferBuilder::max_keys) counts them.
    pub fn pending(&self) -> usize {
        self.shared.keys.load(Ordering::Relaxed)
    }

    /// Has the thread write all that was counted before the call, and waits for it. Returns the
    /// result, which [`on_write`](CounterBufferBuilder::on_write) gets too, unless there was nothing
    /// to write.
    pub fn flush(&self) -> Write {
        if self.thread.is_forked() {
            return self.shared.unwritten(Some(BackgroundError::Forked));
        }
        if self.thread.is_current() {
            // In `on_write`, which cannot wait for its own thread.
            return self.shared.write();
        }
        self.thread.ask().unwrap_or_else(|| {
            let message = "the thread of the buffer has ended".to_owned();
            self.shared
                .unwritten(Some(BackgroundError::Panicked(message)))
        })
    }

    /// Refuses further counts, and has the thread write what is pending, as
    /// [`flush`](CounterBuffer::flush) does. Returns the last write: its
    /// [`pending`](Write::pending) is what is lost, unless another `stop` or `flush` writes it.
    ///
    /// After it, [`count`](CounterBuffer::count) fails with [`BufferError::Stopped`], and the drop
    /// writes nothing. Dropping a buffer that was not stopped stops it.
    pub fn stop(&self) -> Write {
        self.shared.is_stopped.store(true, Ordering::Relaxed);
        self.flush()
    }
}

impl<Conn: Connection<Backend: CounterBackend> + 'static> Drop for CounterBuffer<Conn> {
    fn drop(&mut self) {
        if !self.shared.is_stopped.load(Ordering::Relaxed) {
            self.stop();
        }
        self.thread.stop();
        self.clock.stop();
    }
}

impl<Conn: Connection<Backend: CounterBackend>> fmt::Debug for CounterBuffer<Conn> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CounterBuffer")
            .field("pending", &self.shared.keys)
            .finish_non_exhaustive()
    }
}

impl<Conn: Connection<Backend: CounterBackend> + 'static> CounterBufferBuilder<Conn> {
    /// Writes when this time has passed since the end of each write. Defaults to a second. A time
    /// below one millisecond is replaced by one millisecond. After a write that failed, it
    /// waits for a second at least.
    pub fn every(mut self, time: Duration) -> Self {
        self.every = time.max(Duration::from_millis(1));
        self
    }

    /// Sets the greatest number of pending keys, of all tables together. Defaults to 1,000,000,
    /// which is about 120 MB of keys that are numbers, less than 500 MB of short texts, and twice as
    /// much during a write.
    ///
    /// A key counts once for each day. Until the next write, it also counts once for each thread
    /// that counts it. How long a key is doesn't matter: if your keys come from visitors, limit
    /// their length. Threads that count at the same time can exceed the number by the keys of one
    /// call each.
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.max_keys = keys;
        self
    }

    /// Calls `f` after each write, on the buffer's thread, unless there was nothing to write. If
    /// `f` panics, the message is printed, and the thread goes on. The [`Write`] has a
    /// `Display`, for a log.
    pub fn on_write(mut self, f: impl Fn(&Write) + Send + Sync + 'static) -> Self {
        self.on_write = Box::new(f);
        self
    }

    /// Starts the thread, or returns the error of the operating system. It does not connect.
    pub fn start(self) -> std::io::Result<CounterBuffer<Conn>> {
        let shared = Arc::new(Shared::new(self.source, self.max_keys, self.on_write));
        let writes = Arc::clone(&shared);
        let every = self.every;
        let thread = Background::start("counter-buffer", every, move |_| {
            let write = writes.write();
            let wait = if writes.is_stopped.load(Ordering::Relaxed) {
                Duration::MAX // until it is asked, or ended
            } else if write.error.is_some() {
                every.max(A_SECOND)
            } else {
                every
            };
            (write, wait)
        })?;
        let ticks = Arc::clone(&shared);
        let clock = Background::start("counter-clock", Duration::ZERO, move |_| {
            ticks.second.fetch_add(1, Ordering::Relaxed);
            // Until the next whole second, because a day begins with one.
            let passed = Duration::from_nanos(Utc::now().timestamp_subsec_nanos().into());
            ((), A_SECOND.saturating_sub(passed))
        })?;
        Ok(CounterBuffer {
            shared,
            thread,
            clock,
        })
    }
}

opaque_debug!(CounterBufferBuilder<Conn>);
