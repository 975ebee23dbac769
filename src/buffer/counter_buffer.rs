//! Counting without a connection.

use std::any::TypeId;
use std::error::Error as StdError;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::Utc;
use diesel::connection::Connection;

use crate::add::countable::Countable;
use crate::add::gathered::{GatherKey, Gathered, Sums, sum_of};
use crate::background::{Background, BackgroundError, Source, Stop, caught, lock, source};
use crate::buffer::shards::Shards;
use crate::buffer::write::{BufferError, Pending, Write};
use crate::buffer::writer::Writer;
use crate::slot::OfThread;
use crate::sql::CounterBackend;
use crate::typed::counters::Counters;

/// Counts in memory, and writes the counts from a background thread: for counts that need not be in
/// the caller's transaction, such as page views and downloads.
///
/// [`count`](CounterBuffer::count) takes nanoseconds, no connection, and can be called from any thread
/// or task. Every second, the thread adds up what was counted, sorts it by key, and writes it in few
/// statements. While the database is away, counting goes on.
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
/// let connect = { let pool = pool.clone(); move || pool.get() };
/// let buffer = CounterBuffer::of(connect).on_write(|write| println!("{write}")).start()?;
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
/// - A process that is killed loses what it has counted since its last write: the counts of one
///   [`every`]. Dropping the buffer, or [`stop`], writes what is pending. A buffer in a `static` is never
///   dropped: call [`flush`] at the end of `main`.
/// - If the connection breaks during a COMMIT, nobody knows whether the batch of up to 2,500 rows was
///   written. It is not written again, so that nothing is counted twice. [`on_write`] gets its keys and
///   amounts, as [unknown](Write::unknown).
///
/// Nothing else is lost. While the database is away, counts are pending, up to [`max_keys`] keys of a
/// table. Then [`count`](CounterBuffer::count) fails for this table, also for keys that are pending since
/// an earlier write.
///
/// # Keys that cannot be written
///
/// If the database refuses a row, such as that of an article that was deleted, or a count that would
/// overflow, the others are written. [`on_write`] gets the refused key with its amounts. So count a new
/// article after the COMMIT that inserts it. If the reason may pass, such as a lock that another
/// transaction holds for more than a second, the key stays pending and is tried again at each write.
///
/// An error that is not known, such as one of your own trigger or in another language, refuses a row if
/// it comes at once, and if the same transaction could write other rows of the table, or the same row
/// with other amounts.
///
/// # Days and slots
///
/// A count is stored under the day on which it was counted. The buffer reads the table's `today` every
/// second, and not at each count. If a write takes longer, each thread reads it at each 64th count.
///
/// All counts are in the slot of the connection that writes them. The buffer keeps the
/// [default slot](crate::with_default_slot()) of the thread that starts it.
///
/// # Forks and asynchronous programs
///
/// Start the buffer after a `fork`, as a pool. In a child of the process that started it, it writes
/// nothing, and [`count`](CounterBuffer::count) fails, for a key that was pending at the fork within 64
/// calls.
///
/// [`flush`], [`stop`] and the drop wait for the database: in an asynchronous program, call `stop` in
/// `spawn_blocking` before the runtime ends. Other methods do not block.
///
/// [`every`]: CounterBufferBuilder::every
/// [`max_keys`]: CounterBufferBuilder::max_keys
/// [`on_write`]: CounterBufferBuilder::on_write
/// [`flush`]: CounterBuffer::flush
/// [`stop`]: CounterBuffer::stop
#[must_use = "a buffer stops when it is dropped"]
pub struct CounterBuffer<Conn: Connection<Backend: CounterBackend> + 'static> {
    shared: Arc<Shared<Conn>>,
    thread: Option<Background>,
}

/// The settings of a [`CounterBuffer`]; made by [`CounterBuffer::of`].
#[must_use = "a buffer does nothing until `start` is called"]
pub struct CounterBufferBuilder<Conn> {
    source: Box<Source<Conn>>,
    every: Duration,
    max_keys: usize,
    on_write: Box<OnWrite>,
}

type OnWrite = dyn Fn(&Write) + Send + Sync;

struct Shared<Conn> {
    shards: Shards<Conn>,
    /// What is to be written. A row stays here until it is written.
    backlog: Mutex<Gathered<Conn>>,
    /// Held during a write. Lock it first.
    last: Mutex<()>,
    results: Mutex<Results>,
    source: Box<Source<Conn>>,
    on_write: Box<OnWrite>,
    slot: OfThread,
}

/// When the last write without an error ended, and how many have failed since.
#[derive(Default)]
struct Results {
    last_write: Option<Instant>,
    failures: u32,
}

const A_SECOND: Duration = Duration::from_secs(1);

impl<Conn: Connection<Backend: CounterBackend> + 'static> CounterBuffer<Conn> {
    /// Begins to build a buffer. `connect` returns a connection for each write:
    /// `move || pool.get()`, or `move || PgConnection::establish(&url)`. Its type is `Conn`:
    ///
    /// ```
    /// # use diesel::prelude::*;
    /// # use diesel::r2d2::{ConnectionManager, PooledConnection};
    /// # use diesel_counters::CounterBuffer;
    /// struct App {
    ///     buffer: CounterBuffer<SqliteConnection>,
    ///     pooled: CounterBuffer<PooledConnection<ConnectionManager<SqliteConnection>>>,
    /// }
    ///
    /// # fn app(pool: diesel::r2d2::Pool<ConnectionManager<SqliteConnection>>) -> std::io::Result<App> {
    /// # Ok(
    /// App {
    ///     buffer: CounterBuffer::of(|| SqliteConnection::establish("app.sqlite")).start()?,
    ///     pooled: CounterBuffer::of(move || pool.get()).start()?,
    /// }
    /// # )
    /// # }
    /// ```
    pub fn of<E: Into<Box<dyn StdError + Send + Sync>>>(
        connect: impl Fn() -> Result<Conn, E> + Send + Sync + 'static,
    ) -> CounterBufferBuilder<Conn> {
        CounterBufferBuilder {
            source: source(connect),
            every: A_SECOND,
            max_keys: 1_000_000,
            on_write: Box::new(|_| ()),
        }
    }

    /// Counts an increment: of an entity, such as `increment(views).of(id)`,
    /// [`of_many`](crate::dsl::Increment::of_many), or without an entity. It runs no statement. Of many
    /// entities, it counts all or none.
    ///
    /// A key is owned, such as an `i64` or a `String`, or a reference, such as a `&str`, which is copied
    /// only if it is new. Give all keys of a table as one Rust type.
    ///
    /// # Errors
    ///
    /// Those of [`BufferError`]. After an error, nothing is counted.
    #[inline]
    pub fn count<I: Countable<Conn, Of>, Of>(&self, increment: I) -> Result<(), BufferError> {
        self.shared.shards.count(increment)
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
        K: GatherKey<C::Table, Conn>,
    {
        let table = TypeId::of::<(C::Table, K)>();
        let mut sums = Sums::new();
        // Counts move from the shards to the backlog while it is locked.
        let backlog = lock(&self.shared.backlog);
        for (_, rows) in backlog.0.iter().filter(|((.., id), _)| *id == table) {
            rows.add_pending(key, &mut sums);
        }
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
    /// [`on_write`](CounterBufferBuilder::on_write) gets too.
    pub fn flush(&self) -> Write {
        self.shared.flush()
    }

    /// Stops the thread, and writes what is pending. Returns the last write: its
    /// [`pending`](Write::pending) is what is lost. Dropping the buffer does the same.
    ///
    /// What is counted after it is pending until the next [`flush`](CounterBuffer::flush), or the drop.
    pub fn stop(&self) -> Write {
        if let Some(thread) = &self.thread {
            match self.shared.shards.is_forked() {
                true => thread.forget(),
                false => thread.stop(Duration::MAX),
            }
        }
        self.shared.flush()
    }
}

impl<Conn: Connection<Backend: CounterBackend> + 'static> Drop for CounterBuffer<Conn> {
    fn drop(&mut self) {
        self.stop();
    }
}

impl<Conn: Connection<Backend: CounterBackend>> fmt::Debug for CounterBuffer<Conn> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CounterBuffer")
            .field("pending_keys", &self.shared.shards.keys())
            .finish_non_exhaustive()
    }
}

impl<Conn: Connection<Backend: CounterBackend> + 'static> CounterBufferBuilder<Conn> {
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

    /// Starts the thread, or returns the error of the operating system. It does not connect.
    pub fn start(self) -> std::io::Result<CounterBuffer<Conn>> {
        let every = self.every;
        let shared = Arc::new(self.shared());
        let writes = Arc::clone(&shared);
        let thread = Background::start("counter-buffer", move |stop| writes.run(every, stop))?;
        Ok(CounterBuffer {
            shared,
            thread: Some(thread),
        })
    }

    fn shared(self) -> Shared<Conn> {
        Shared {
            shards: Shards::new(self.max_keys),
            backlog: Mutex::default(),
            last: Mutex::default(),
            results: Mutex::default(),
            source: self.source,
            on_write: self.on_write,
            slot: OfThread::now(),
        }
    }
}

impl<Conn> fmt::Debug for CounterBufferBuilder<Conn> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CounterBufferBuilder")
            .field("every", &self.every)
            .field("max_keys", &self.max_keys)
            .finish_non_exhaustive()
    }
}

/// Counts an increment, and writes it on this connection, for the enumerator of the repository.
pub fn write_once<I, Of, Conn>(increment: I, conn: &mut Conn) -> Write
where
    I: Countable<Conn, Of>,
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    let shared = CounterBuffer::of(|| Err("the connection is given")).shared();
    // It is not full.
    let _ = shared.shards.count(increment);
    shared.write(Some(conn)).unwrap_or_default()
}

impl<Conn: Connection<Backend: CounterBackend> + 'static> Shared<Conn> {
    /// Reads the days and writes, until the thread has to stop.
    fn run(&self, every: Duration, stop: &Stop) {
        let (mut ended, mut wait) = (Instant::now(), every);
        while !stop.is_now() {
            self.shards.read_days();
            if ended.elapsed() >= wait {
                let failed = self.write(None).is_some_and(|write| {
                    let _ = caught(|| (self.on_write)(&write));
                    write.error.is_some()
                });
                wait = if failed { every.max(A_SECOND) } else { every };
                ended = Instant::now();
            }
            // At the next whole second, so that the day is new when it begins.
            let passed = Duration::from_nanos(Utc::now().timestamp_subsec_nanos().into());
            let second = A_SECOND.saturating_sub(passed);
            stop.wait(second.min(wait.saturating_sub(ended.elapsed())));
        }
    }

    fn flush(&self) -> Write {
        match self.write(None) {
            Some(write) => {
                (self.on_write)(&write);
                write
            }
            None => Write {
                pending: self.pending(),
                ..Write::default()
            },
        }
    }

    /// Writes on this connection, or on one of the source. Returns `None` if there is nothing to write.
    fn write(&self, conn: Option<&mut Conn>) -> Option<Write> {
        let begun = Instant::now();
        let mut write = Write::default();
        if self.shards.keys() == 0 {
            return None;
        }
        if self.shards.is_forked() {
            // A thread of the other process may have locked what is locked below.
            write.pending.keys = self.shards.keys();
            write.error = Some(BackgroundError::Forked);
            return Some(write);
        }
        let _turn = lock(&self.last);
        // Another thread may have written it meanwhile.
        if self.shards.keys() == 0 {
            return None;
        }
        let mut writer = Writer::new(&self.shards, &self.backlog, &mut write);
        let result = caught(|| {
            // So that a key takes room once only, also if there is no connection.
            self.shards.drain(&mut lock(&self.backlog));
            let mut connected = None;
            let conn = match conn {
                Some(conn) => conn,
                None => connected.insert((self.source)().map_err(BackgroundError::Connection)?),
            };
            self.shards.drain(&mut lock(&self.backlog));
            self.slot.within(|| writer.write(conn))
        });
        writer.end(result.and_then(|result| result));
        {
            let mut results = lock(&self.results);
            match write.error {
                Some(_) => results.failures = results.failures.saturating_add(1),
                None => {
                    results.last_write = Some(Instant::now());
                    results.failures = 0;
                }
            }
        }
        write.pending = self.pending();
        write.took = begun.elapsed();
        Some(write)
    }

    fn pending(&self) -> Pending {
        let keys = self.shards.keys();
        if self.shards.is_forked() {
            return Pending {
                keys,
                ..Pending::default()
            };
        }
        let backlog = lock(&self.backlog);
        let rows = backlog.0.values().map(|rows| rows.amount());
        let amount = rows.sum::<i128>() + self.shards.amount();
        drop(backlog);
        let results = lock(&self.results);
        Pending {
            keys,
            amount: nearest(amount),
            last_write: results.last_write.map(|write| write.elapsed()),
            failures: results.failures,
            refused: self.shards.refused(),
        }
    }
}

fn nearest(sum: i128) -> i64 {
    sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
