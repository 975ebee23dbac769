//! Merging in a background thread of a program.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Days, NaiveTime, Utc};
use diesel::QueryResult;
use diesel::connection::LoadConnection;

use crate::background::{Background, BackgroundError, Source, Stop, WithSource, caught, source};
use crate::day::Period;
use crate::merge::compact::{Compact, Compacted, compact, fold};
use crate::merge::materialize::{Materialize, Materialized};
use crate::sql::CounterBackend;
use crate::typed::key::{KeyTypes, OwnedKey};
use crate::typed::stored_key::StoredKeys;
use crate::typed::table::CounterTable;

/// A background thread that keeps counter tables small: it runs [`compact`](crate::dsl::compact()),
/// [`fold`](crate::dsl::fold()) and [`materialize`](crate::HasCounters::materialize) regularly.
///
/// It runs at once and then every day, unless [`every`] or [`daily_at`] sets another schedule. It
/// stops with [`stop`](Compactor::stop), or when it is dropped.
///
/// ```
/// # include!("doctest_setup.rs");
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use chrono::NaiveTime;
/// use diesel_counters::{Compactor, Period};
///
/// let compactor = Compactor::of(|| SqliteConnection::establish(":memory:"))
///     .compact(article_counters::table)
///     .fold(article_counters::table, Period::Month, 90)
///     .fold(article_counters::table, Period::Total, 730)
///     .daily_at(NaiveTime::from_hms_opt(4, 0, 0).unwrap())
///     .on_run(|run| println!("{run}"))
///     .start()?;
///
/// // … the program runs …
/// compactor.stop();
/// # Ok(())
/// # }
/// ```
///
/// Several processes can have a `Compactor` of the same tables: one merges a table at a time, and the
/// others [skip it](Compacted::already_running).
///
/// # Errors
///
/// An error or a panic ends the current run of a table, but not the thread. [`on_run`] gets the error.
/// The next run begins after ten seconds. After each further failure it begins after twice the time, or
/// as scheduled if that is sooner.
///
/// # Stopping
///
/// After [`stop`](Compactor::stop) or the drop, the thread begins no further transaction. `stop` waits
/// until it has ended: until its transaction has its locks, and [`on_run`] has returned. The drop waits
/// for two seconds at most. Neither waits if it is called in `on_run`.
///
/// [`every`]: CompactorBuilder::every
/// [`daily_at`]: CompactorBuilder::daily_at
/// [`on_run`]: CompactorBuilder::on_run
#[must_use = "a compactor stops when it is dropped"]
#[derive(Debug)]
pub struct Compactor(Background);

/// The tables and the schedule of a [`Compactor`]; made by [`Compactor::of`].
#[must_use = "a compactor does nothing until `start` is called"]
pub struct CompactorBuilder<Conn> {
    source: Box<Source<Conn>>,
    tasks: Vec<Task<Conn>>,
    schedule: Schedule,
    on_run: Box<dyn FnMut(&Run) + Send>,
}

impl<Conn> fmt::Debug for CompactorBuilder<Conn> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables = self.tasks.iter().map(|task| &task.table);
        f.debug_list().entries(tables).finish()
    }
}

/// A run of a [`Compactor`] on one table. Its `Display` is for a log.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// The table's name; of a copy, the name of its column too.
    pub table: String,
    /// What was done, or the error.
    pub result: Result<Done, BackgroundError>,
}

/// The result of a [`Run`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Done {
    /// The numbers of rows that were merged or folded.
    Compacted(Compacted),
    /// The numbers of rows that were compared and written.
    Materialized(Materialized),
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.table)?;
        match &self.result {
            Ok(Done::Compacted(done)) => done.fmt(f),
            Ok(Done::Materialized(done)) => done.fmt(f),
            Err(error) => WithSource(error).fmt(f),
        }
    }
}

struct Task<Conn> {
    table: String,
    run: Box<Work<Conn>>,
}

type Work<Conn> = dyn FnMut(&mut Conn, &Stop) -> QueryResult<Done> + Send;

enum Schedule {
    Every(Duration),
    DailyAt(NaiveTime),
}

const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The time from the first failure to the next run.
const RETRY: Duration = Duration::from_secs(10);

/// How long a drop waits for the current transaction. The longest one that was measured took 0.12 s.
const GRACE: Duration = Duration::from_secs(2);

impl Compactor {
    /// Begins to build a compactor. `connect` returns a connection for each run of a table:
    /// `move || pool.get()`, or `move || PgConnection::establish(&url)`.
    pub fn of<Conn: LoadConnection, E>(
        connect: impl Fn() -> Result<Conn, E> + Send + Sync + 'static,
    ) -> CompactorBuilder<Conn>
    where
        E: Into<Box<dyn StdError + Send + Sync>>,
    {
        CompactorBuilder {
            source: source(connect),
            tasks: Vec::new(),
            schedule: Schedule::Every(A_DAY),
            on_run: Box::new(|_| ()),
        }
    }

    /// Stops the thread, and waits until it has ended; see [stopping](#stopping).
    pub fn stop(&self) {
        self.0.stop(Duration::MAX);
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.0.stop(GRACE);
    }
}

impl<Conn: LoadConnection<Backend: CounterBackend> + 'static> CompactorBuilder<Conn> {
    /// [Merges](crate::dsl::compact()) the slots of this table's days before yesterday.
    pub fn compact<T>(self, _table: T) -> Self
    where
        T: CounterTable<KeyType: StoredKeys<Keys: OwnedKey<T::KeyType, Conn::Backend>>> + 'static,
    {
        self.merge(|| compact(T::table()))
    }

    /// [Folds](crate::dsl::fold()) this table's days that are more than `days` days ago into weeks,
    /// months or years, or with [`Period::Total`] into one row without a day. This cannot be undone.
    /// Call it several times for several steps.
    pub fn fold<T>(self, _table: T, into: Period, days: u64) -> Self
    where
        T: CounterTable<KeyType: StoredKeys<Keys: OwnedKey<T::KeyType, Conn::Backend>>> + 'static,
    {
        self.merge(move || {
            let before = T::today().checked_sub_days(Days::new(days));
            // If there is no date so long ago, nothing is folded: the default is 1970-01-01.
            let fold = fold(T::table()).per(into);
            fold.before(before.unwrap_or_default())
        })
    }

    /// Runs the [`compact`](crate::dsl::compact()) or [`fold`](crate::dsl::fold()) that `merge` returns,
    /// which is called before each run: with other days, or with another batch.
    pub fn merge<Types, K>(
        self,
        merge: impl Fn() -> Compact<'static, Types, K> + Send + 'static,
    ) -> Self
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend> + 'static,
    {
        let table = merge().table_name().to_owned();
        self.task(table, move |conn, stop| {
            let merged = merge().stop_when(|| stop.is_now()).execute(conn)?;
            Ok(Done::Compacted(merged))
        })
    }

    /// Runs the copy that `copy` returns, which is called before each run, such as
    /// `|| Article::materialize(views, articles::recent_views).last_days(90)`.
    pub fn materialize<Types, K>(
        self,
        copy: impl Fn() -> Materialize<'static, Types, K> + Send + 'static,
    ) -> Self
    where
        Types: KeyTypes,
        K: OwnedKey<Types, Conn::Backend> + 'static,
    {
        self.task(copy().name(), move |conn, stop| {
            let mut copy = copy().stop_when(|| stop.is_now());
            Ok(Done::Materialized(copy.copy(true, conn)?))
        })
    }

    fn task<W>(mut self, table: String, run: W) -> Self
    where
        W: FnMut(&mut Conn, &Stop) -> QueryResult<Done> + Send + 'static,
    {
        let run = Box::new(run);
        self.tasks.push(Task { table, run });
        self
    }

    /// Runs at once, and then again when `time` has passed since the end of each run. Defaults to a
    /// day. A time below one millisecond is replaced by one millisecond.
    pub fn every(mut self, time: Duration) -> Self {
        self.schedule = Schedule::Every(time.max(Duration::from_millis(1)));
        self
    }

    /// Runs each day at this time in UTC. It does not run at once.
    pub fn daily_at(mut self, time: NaiveTime) -> Self {
        self.schedule = Schedule::DailyAt(time);
        self
    }

    /// Calls `f` after the run of each table, on the compactor's thread. If `f` panics, the message is
    /// printed, and the thread goes on.
    pub fn on_run(mut self, f: impl FnMut(&Run) + Send + 'static) -> Self {
        self.on_run = Box::new(f);
        self
    }

    /// Starts the thread, or returns the error of the operating system.
    pub fn start(self) -> std::io::Result<Compactor> {
        Background::start("compactor", |stop| self.run(stop)).map(Compactor)
    }

    fn run(mut self, stop: &Stop) {
        if let Schedule::DailyAt(_) = self.schedule {
            stop.wait(self.schedule.wait(0, Utc::now()));
        }
        let mut failures = 0_u32;
        while !stop.is_now() {
            let mut failed = false;
            for task in &mut self.tasks {
                let run = || {
                    let mut conn = (self.source)().map_err(BackgroundError::Connection)?;
                    (task.run)(&mut conn, stop).map_err(BackgroundError::Database)
                };
                let run = Run {
                    table: task.table.clone(),
                    result: caught(run).and_then(|result| result),
                };
                failed |= run.result.is_err();
                let _ = caught(|| (self.on_run)(&run));
                if stop.is_now() {
                    return;
                }
            }
            failures = if failed { failures + 1 } else { 0 };
            stop.wait(self.schedule.wait(failures, Utc::now()));
        }
    }
}

impl Schedule {
    /// Returns the time until the next run, after this number of failed ones.
    fn wait(&self, failures: u32, now: DateTime<Utc>) -> Duration {
        let scheduled = match *self {
            Schedule::Every(time) => time,
            // A clock that is set back makes a second run of a day, which has nothing to do.
            Schedule::DailyAt(time) => {
                let left = (time - now.time()).num_milliseconds() - 1;
                Duration::from_millis(1 + left.rem_euclid(A_DAY.as_millis() as i64) as u64)
            }
        };
        match failures.checked_sub(1) {
            None => scheduled,
            Some(others) => scheduled.min(RETRY * (1 << others.min(16))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daily_run_is_at_the_next_such_time() {
        let four = Schedule::DailyAt(NaiveTime::from_hms_opt(4, 0, 0).unwrap());
        let wait = |now: &str| four.wait(0, now.parse().unwrap()).as_millis();
        assert_eq!(wait("2026-11-21T03:59:59.999Z"), 1);
        assert_eq!(wait("2026-11-21T04:00:00Z"), 86_400_000);
        assert_eq!(wait("2026-11-21T23:00:00.500Z"), 17_999_500);
    }

    #[test]
    fn each_failure_doubles_the_time_to_the_next_run_up_to_the_scheduled_one() {
        let wait = |failures| Schedule::Every(A_DAY).wait(failures, Utc::now()).as_secs();
        let expected = [86_400, 10, 20, 40, 86_400, 86_400];
        assert_eq!([0, 1, 2, 3, 17, u32::MAX].map(wait), expected);
    }
}
