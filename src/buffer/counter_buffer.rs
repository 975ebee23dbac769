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
use crate::buffer::shared::{InShard, OnWrite, Shared};
use crate::buffer::write::{BufferError, Write};
use crate::key::OwnedKey;
use crate::sql::CounterBackend;
use crate::typed::counters::{Counters, KeyType};

/// Counts in memory, and writes the counts from a background thread. Use it for counts that don't
/// have to be in your transaction, such as page views and downloads.
///
/// [`count`](CounterBuffer::count) takes nanoseconds and needs no connection. You can call it on
/// any thread or task. Every second, the buffer's thread writes what was counted in a few
/// statements, in the order of the keys. [The guide](crate::guide::counting#a-buffer) shows a
/// buffer in a program's struct, and what it does if something fails.
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
/// - If the process is killed, you lose what it has counted since its last write. [`stop`] writes
///   what is pending, and so does dropping a buffer that wasn't stopped. A buffer in a `static` is
///   never dropped, so call [`stop`] at the end of `main`.
/// - If a COMMIT isn't answered, or is answered with an error, its batch of up to 2,500 rows may
///   have been written, even if the connection still works. It is reported as
///   [unknown](Write::unknown) and isn't written again, so that nothing is counted twice. A batch
///   is only written again after an error that the database defines as a rollback, for example a
///   serialization failure.
///
/// While the database is away, counts stay pending, for up to [`max_keys`] keys. If the database
/// refuses a row, for example because the article was deleted, that row is
/// [dropped](Write::refused), and the others are written. So count a new article only after the
/// COMMIT that inserts it.
///
/// # Days, forks, asynchronous programs
///
/// A count is stored under the day on which it was counted. A thread calls the table's `today` at
/// its first count in a second, and at its first count after a write. All counts go to the slot of
/// the connection that writes them.
///
/// If your program forks, start the buffer after the `fork`. In a child of the process that started
/// it, the buffer writes nothing, and [`count`](CounterBuffer::count) fails: at once for a new key,
/// and within 64 calls for a key that was pending at the fork.
///
/// The buffer writes on its own thread, which also calls `connect` and [`on_write`]. [`flush`],
/// [`stop`], and dropping a buffer that wasn't stopped, wait for this thread. So in an asynchronous
/// program, call `flush` and `stop` in `spawn_blocking`, and call `stop` before the runtime ends.
/// Otherwise, if your connections need the runtime, a task that waits for the thread on the
/// runtime's only thread waits forever. [`pending_of`](CounterBuffer::pending_of) waits while a
/// write sorts what was counted, which can take seconds for a million texts, and
/// [`read`](CounterBuffer::read) waits for COMMITs. The other methods don't block.
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

/// `count` checks for a fork once in this many calls, and for every new key, because it has to ask
/// the operating system.
const CALLS_PER_FORK_CHECK: u8 = 64;

const A_SECOND: Duration = Duration::from_secs(1);

impl<Conn: Connection<Backend: CounterBackend> + 'static> CounterBuffer<Conn> {
    /// Begins to build a buffer. `connect` returns a connection for each write. For example,
    /// `move || pool.get()` makes a
    /// `CounterBuffer<PooledConnection<ConnectionManager<PgConnection>>>`, and
    /// `move || PgConnection::establish(&url)` makes a `CounterBuffer<PgConnection>`.
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

    /// Counts an increment, for one entity, for many (all or none), or without an entity. It runs
    /// no statement.
    ///
    /// # Errors
    ///
    /// Fails with a [`BufferError`]. Nothing is counted then.
    ///
    /// # Panics
    ///
    /// Panics if the table's `today` panics.
    #[inline]
    pub fn count<I: Countable<Conn, Of>, Of>(&self, increment: I) -> Result<(), BufferError> {
        let shared = &self.shared;
        let max_keys = shared.max_keys;
        let room = max_keys.saturating_sub(self.pending());
        let second = Some(shared.second.load(Ordering::Relaxed));
        let InShard { calls, counted } = &mut *lock(shared.shard());
        // Checked while the shard is locked: the last write locks it later, so it gets all counts.
        if shared.is_stopped.load(Ordering::Relaxed) {
            return Err(BufferError::Stopped);
        }
        let new_keys = counted.count(increment, second, room);
        let new_keys = new_keys.ok_or(BufferError::Full { max_keys })?;
        *calls = calls.wrapping_add(1);
        let checks_for_fork = new_keys > 0 || *calls % CALLS_PER_FORK_CHECK == 0;
        if checks_for_fork && self.thread.is_forked() {
            // Without these counts, the next call counts a new key, so it checks again.
            *counted = Gathered::default();
            return Err(BufferError::Forked);
        }
        // The shard is still locked, so a write can't subtract the keys before they are added.
        if new_keys > 0 {
            shared.keys.fetch_add(new_keys, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns what was counted for this entity and isn't written yet, on all days: an `i64`, or a
    /// tuple. Give the key as the same Rust type that you count with. If a sum is out of the range
    /// of an `i64`, it returns the nearest one.
    ///
    /// To show a total together with what is pending, call [`read`](CounterBuffer::read).
    pub fn pending_of<C, K>(&self, _counters: C, key: &K) -> C::Value
    where
        C: Counters<Table: 'static>,
        K: OwnedKey<KeyType<C>, Conn::Backend> + Hash + Send + 'static,
    {
        C::value(self.shared.pending_of::<C, K>(key))
    }

    /// Reads what is written and what is pending as of one moment, so that a page shows every view,
    /// and none of them twice.
    ///
    /// Run your queries in `read`, and add what [`pending.of(…)`](Pending::of) returns:
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
    /// If the buffer commits meanwhile, `read` is called again, so do nothing but read in it. This
    /// method waits while a COMMIT isn't answered. From the fourth call on, the buffer begins no
    /// further batch until `read` has returned. So the fifth call is exact, even if the buffer
    /// writes all the time.
    ///
    /// The wait is limited: if a COMMIT isn't answered within a second, or if the last two calls
    /// take more than two seconds, `read` is called one last time, and what is pending is left out:
    /// [`of`](Pending::of) returns 0. A view is then shown a little later, but never twice.
    ///
    /// `read` must see what the buffer has committed:
    ///
    /// - Ask the server that the buffer writes to. A replica is a bit behind.
    /// - Don't call it in a transaction with an isolation level above READ COMMITTED, which reads
    ///   what was there when it began.
    ///
    /// Only this buffer's counts are included before they're written. If you have other buffers, in
    /// this or other processes, you see their counts once they have written them.
    ///
    /// In an asynchronous program, call it on a thread that may block. Get your connection before
    /// the call, because the buffer needs one too. If you call [`flush`](CounterBuffer::flush) in
    /// `read`, it starts again.
    ///
    /// # Errors
    ///
    /// Returns the error of `read`, and doesn't call it again.
    pub fn read<T, E>(&self, read: impl FnMut(&Pending<'_, Conn>) -> Result<T, E>) -> Result<T, E> {
        self.shared.read(read)
    }

    /// Returns the number of keys that are counted but not written yet.
    /// [`max_keys`](CounterBufferBuilder::max_keys) says how they are counted.
    pub fn pending(&self) -> usize {
        self.shared.keys.load(Ordering::Relaxed)
    }

    /// Makes the thread write everything that was counted before the call, and waits for it.
    /// Returns the result, which is also given to [`on_write`](CounterBufferBuilder::on_write)
    /// unless there was nothing to write.
    pub fn flush(&self) -> Write {
        if self.thread.is_forked() {
            return self.shared.unwritten(Some(BackgroundError::Forked));
        }
        if self.thread.is_current() {
            // We are in `on_write`, which can't wait for its own thread.
            return self.shared.write();
        }
        self.thread.ask().unwrap_or_else(|| {
            let message = "the thread of the buffer has ended".to_owned();
            self.shared
                .unwritten(Some(BackgroundError::Panicked(message)))
        })
    }

    /// Refuses further counts, and makes the thread write what is pending, as
    /// [`flush`](CounterBuffer::flush) does. Returns the last write. The keys that it reports as
    /// [`pending`](Write::pending) are lost, unless another `stop` or `flush` writes them.
    ///
    /// After that, [`count`](CounterBuffer::count) fails with [`BufferError::Stopped`], and
    /// dropping the buffer writes nothing. If you drop a buffer without stopping it, the drop stops
    /// it.
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
    /// Sets the time from the end of a write to the next write. Defaults to a second. The minimum
    /// is one millisecond. After a write that failed, the buffer waits for at least a second.
    pub fn every(mut self, time: Duration) -> Self {
        self.every = time.max(Duration::from_millis(1));
        self
    }

    /// Sets the maximum number of pending keys, for all tables together. Defaults to 1,000,000,
    /// which takes about 50 MB if the keys are numbers, 130 MB if they are texts of 20 bytes, and
    /// twice as much during a write. (A key of several counters takes more.)
    ///
    /// A key counts once for each day. Until the next write, it also counts once for each thread
    /// that counts it. Its length makes no difference, so if your keys come from visitors, limit
    /// their length. Threads that count at the same time can each exceed the maximum by the keys of
    /// one call.
    pub fn max_keys(mut self, keys: usize) -> Self {
        self.max_keys = keys;
        self
    }

    /// Calls `f` after each write, on the buffer's thread, unless there was nothing to write. If
    /// `f` panics, the message is printed, and the thread goes on. To log a [`Write`], print it
    /// with its `Display`.
    pub fn on_write(mut self, f: impl Fn(&Write) + Send + Sync + 'static) -> Self {
        self.on_write = Box::new(f);
        self
    }

    /// Starts the thread, or returns the operating system's error. It doesn't connect to the
    /// database.
    pub fn start(self) -> std::io::Result<CounterBuffer<Conn>> {
        let shared = Arc::new(Shared::new(self.source, self.max_keys, self.on_write));
        let in_thread = Arc::clone(&shared);
        let every = self.every;
        let thread = Background::start("counter-buffer", every, move |_| {
            let write = in_thread.write();
            let wait = if in_thread.is_stopped.load(Ordering::Relaxed) {
                Duration::MAX // until `flush` asks for a write, or the thread is stopped
            } else if write.error.is_some() {
                every.max(A_SECOND)
            } else {
                every
            };
            (write, wait)
        })?;
        let in_clock = Arc::clone(&shared);
        let clock = Background::start("counter-clock", Duration::ZERO, move |_| {
            in_clock.second.fetch_add(1, Ordering::Relaxed);
            // Waits until the next whole second, because a day begins with one.
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
