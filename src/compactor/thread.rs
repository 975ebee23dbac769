//! Merging in a background thread of your program.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use chrono::Days;
use diesel::QueryResult;
use diesel::connection::LoadConnection;

use crate::background::{Background, BackgroundError, Source, Stop, WithSource, caught};
use crate::day::Period;
use crate::key::StoredKey;
use crate::key::{KeyTypes, OwnedKey};
use crate::merge::compact::{Compact, Compacted, compact, fold};
use crate::merge::materialize::Materialize;
use crate::sql::CounterBackend;
use crate::typed::table::CounterTable;

/// A background thread that keeps counter tables small. It regularly runs
/// [`compact`](crate::dsl::compact()), [`fold`](crate::dsl::fold()) and
/// [`materialize`](crate::HasCounters::materialize).
///
/// It runs at once, and then again a day after each run has ended, or after the time that you set
/// with [`every`]. To merge at a certain time of the day, [let cron run the
/// command](crate::guide::operations#keeping-tables-small) instead.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use diesel_counters::{Compactor, Period};
///
/// let compactor = Compactor::builder(|| SqliteConnection::establish(":memory:"))
///     .compact(article_counters::table)
///     .fold(article_counters::table, Period::Month, 90)
///     .fold(article_counters::table, Period::Total, 730)
///     .on_run(|run| println!("{run}"))
///     .start()?;
///
/// // … the program runs …
/// compactor.stop();
/// # Ok(())
/// # }
/// ```
///
/// Several processes can run a `Compactor` on the same tables. On PostgreSQL, MySQL and MariaDB,
/// only one of them merges a table at a time, and the others [skip it](Compacted::already_running).
/// On SQLite, and when they [materialize](CompactorBuilder::materialize), all of them do the work.
///
/// # Errors
///
/// An error or a panic ends the current run on a table, but not the thread. [`on_run`] gets the
/// error. The next run begins after ten minutes, or earlier if the time set with [`every`] is
/// shorter.
///
/// # Stopping
///
/// After you call [`stop`](Compactor::stop) or drop the compactor, the thread begins no further
/// transaction. `stop` waits until the thread has ended. Dropping doesn't wait, and neither does
/// `stop` if you call it in `on_run`. In an asynchronous program, call `stop` in `spawn_blocking`,
/// because the thread may need the runtime to finish its work.
///
/// [`every`]: CompactorBuilder::every
/// [`on_run`]: CompactorBuilder::on_run
#[must_use = "a compactor stops when it is dropped"]
#[derive(Debug)]
pub struct Compactor(Background);

/// The tables and the interval of a [`Compactor`]; made by [`Compactor::builder`].
#[must_use = "a compactor does nothing until `start` is called"]
pub struct CompactorBuilder<Conn> {
    source: Box<Source<Conn>>,
    tasks: Vec<Task<Conn>>,
    every: Duration,
    on_run: Box<dyn FnMut(&Run) + Send>,
}

impl<Conn> fmt::Debug for CompactorBuilder<Conn> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = self.tasks.iter().map(|task| &task.work);
        f.debug_list().entries(work).finish()
    }
}

/// A run of a [`Compactor`] on one table. Its `Display` is a line for a log.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// The work, for example `compact article_counters` or `fold article_counters into month`.
    pub work: String,
    /// What was done, or the error.
    pub result: Result<Done, BackgroundError>,
}

/// The result of a [`Run`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Done {
    /// How many rows were merged or folded.
    Compacted(Compacted),
    /// How many rows were written.
    Materialized(usize),
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.work)?;
        match &self.result {
            Ok(Done::Compacted(done)) => done.fmt(f),
            Ok(Done::Materialized(written)) => write!(f, "{written} rows written"),
            Err(error) => WithSource(error).fmt(f),
        }
    }
}

struct Task<Conn> {
    work: String,
    run: Box<RunTask<Conn>>,
}

type RunTask<Conn> = dyn FnMut(&mut Conn, &Stop) -> QueryResult<Done> + Send;

/// The time from a failure to the next run.
const RETRY: Duration = Duration::from_secs(10 * 60);

impl Compactor {
    /// Begins to build a compactor. `connect` returns a connection for each run on a table, for
    /// example `move || pool.get()` or `move || PgConnection::establish(&url)`.
    pub fn builder<Conn: LoadConnection, E>(
        connect: impl Fn() -> Result<Conn, E> + Send + Sync + 'static,
    ) -> CompactorBuilder<Conn>
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        CompactorBuilder {
            source: Box::new(move || connect().map_err(Into::into)),
            tasks: Vec::new(),
            every: Duration::from_secs(24 * 60 * 60),
            on_run: Box::new(|_| ()),
        }
    }

    /// Stops the thread, and waits until it has ended; see [stopping](#stopping).
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl<Conn: LoadConnection<Backend: CounterBackend> + 'static> CompactorBuilder<Conn> {
    /// [Merges](crate::dsl::compact()) this table's slots on all days before yesterday.
    pub fn compact<T>(self, _table: T) -> Self
    where
        T: CounterTable<KeyType: StoredKey<Key: OwnedKey<T::KeyType, Conn::Backend>>> + 'static,
    {
        self.merge(|| compact(T::table()))
    }

    /// [Folds](crate::dsl::fold()) this table's days into weeks, months or years once they are more
    /// than `days` days old, or, with [`Period::Total`], into one row without a day. You can't undo
    /// this. To fold in several steps, call it several times.
    pub fn fold<T>(self, _table: T, into: Period, days: u64) -> Self
    where
        T: CounterTable<KeyType: StoredKey<Key: OwnedKey<T::KeyType, Conn::Backend>>> + 'static,
    {
        self.merge(move || {
            let before = T::today().checked_sub_days(Days::new(days));
            // If there's no date that long ago, nothing is folded: the default is 1970-01-01.
            let fold = fold(T::table()).per(into);
            fold.before(before.unwrap_or_default())
        })
    }

    /// Runs the [`compact`](crate::dsl::compact()) or [`fold`](crate::dsl::fold()) that `merge`
    /// returns, so that you can set other days or another batch. `merge` is called before each run.
    pub fn merge<Types, K>(
        self,
        merge: impl Fn() -> Compact<'static, Types, K> + Send + 'static,
    ) -> Self
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend> + 'static,
    {
        self.task(merge().description(), move |conn, stop| {
            let merged = merge().stop_when(|| stop.is_now()).execute(conn)?;
            Ok(Done::Compacted(merged))
        })
    }

    /// Runs the copy that `copy` returns, for example
    /// `|| Article::materialize(views, articles::total_views)`. `copy` is called before each run.
    pub fn materialize<Types, K>(
        self,
        copy: impl Fn() -> Materialize<'static, Types, K> + Send + 'static,
    ) -> Self
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend> + 'static,
    {
        self.task(copy().description(), move |conn, stop| {
            let written = copy().stop_when(|| stop.is_now()).execute(conn)?;
            Ok(Done::Materialized(written))
        })
    }

    /// Adds a task to every run. `work` describes it, for example `compact article_counters`.
    fn task<R>(mut self, work: String, run: R) -> Self
    where
        R: FnMut(&mut Conn, &Stop) -> QueryResult<Done> + Send + 'static,
    {
        let run = Box::new(run);
        self.tasks.push(Task { work, run });
        self
    }

    /// Sets the time from the end of a run to the next run. Defaults to a day. The minimum is one
    /// millisecond.
    pub fn every(mut self, time: Duration) -> Self {
        self.every = time.max(Duration::from_millis(1));
        self
    }

    /// Calls `f` after the run on each table, on the compactor's thread. If `f` panics, the thread
    /// goes on.
    pub fn on_run(mut self, f: impl FnMut(&Run) + Send + 'static) -> Self {
        self.on_run = Box::new(f);
        self
    }

    /// Starts the thread, or returns the operating system's error.
    pub fn start(mut self) -> std::io::Result<Compactor> {
        let work = move |stop: &Stop| {
            let mut failed = false;
            for task in &mut self.tasks {
                if stop.is_now() {
                    break;
                }
                let run = || {
                    let mut conn = (self.source)().map_err(BackgroundError::Connection)?;
                    (task.run)(&mut conn, stop).map_err(BackgroundError::Database)
                };
                let run = Run {
                    work: task.work.clone(),
                    result: caught(run).and_then(|result| result),
                };
                failed |= run.result.is_err();
                // If it panics, the thread goes on.
                let _ = caught(|| (self.on_run)(&run));
            }
            let max_wait = if failed { RETRY } else { Duration::MAX };
            ((), self.every.min(max_wait))
        };
        Background::start("compactor", Duration::ZERO, work).map(Compactor)
    }
}
