//! Merging in a background thread of a program.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use diesel::connection::{Connection, LoadConnection};
use diesel::r2d2::{ManageConnection, Pool, PoolError};
use diesel::result::Error;

use crate::background::{Background, Stop, caught};
use crate::day::Period;
use crate::merge::compact::{Compact, Compacted, compact, fold};
use crate::merge::materialize::{Materialize, Materialized};
use crate::sql::CounterBackend;
use crate::typed::key::{BindKey, KeyTypes, LoadKey};
use crate::typed::stored_key::StoredKeys;
use crate::typed::table::CounterTable;

/// A background thread that keeps counter tables small: it runs [`compact`](crate::dsl::compact()),
/// [`fold`](crate::dsl::fold()) and [`materialize`](crate::HasCounters::materialize) regularly, with
/// connections of a pool.
///
/// It runs at once and then every day, unless [`every`] or [`daily_at`] sets another schedule. It
/// stops with [`stop`](Compactor::stop), or when it is dropped.
///
/// ```
/// # include!("doctest_setup.rs");
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use chrono::NaiveTime;
/// use diesel::r2d2::{ConnectionManager, Pool};
/// use diesel_counters::{Compactor, Period};
///
/// let pool = Pool::new(ConnectionManager::<SqliteConnection>::new(":memory:"))?;
///
/// let compactor = Compactor::of(pool)
///     .compact(article_counters::table)
///     .fold_into(article_counters::table, Period::Month, 90)
///     .fold(article_counters::table, 730)
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
/// Several processes can each have a `Compactor` of the same tables. One of them merges a table at a
/// time, and the others [skip it](Compacted::already_running). See
/// [`compact`](crate::dsl::compact()) for the exceptions.
///
/// # Errors
///
/// An error or a panic ends the current run of a table, but not the thread. [`on_run`] gets the error. The next
/// run begins after ten seconds. After each further failure it begins after twice the time, or as
/// scheduled if that is sooner.
///
/// # Stopping
///
/// After [`stop`](Compactor::stop) or the drop, the thread begins no further transaction. `stop` waits
/// until the thread has ended. The drop waits for two seconds at most, and the thread ends by itself
/// after that. If the program ends first, the database rolls the transaction back, and no count is
/// lost.
///
/// The thread can take long to end: its transaction waits for a lock for as long as another session
/// holds it, it waits for a connection for as long as the pool allows, and it runs [`on_run`] to its
/// end. Before `stop`, release what `on_run` waits for.
///
/// Neither waits if it is called in `on_run`, because `on_run` runs on that thread.
///
/// [`every`]: CompactorBuilder::every
/// [`daily_at`]: CompactorBuilder::daily_at
/// [`on_run`]: CompactorBuilder::on_run
#[must_use = "a compactor stops when it is dropped"]
#[derive(Debug)]
pub struct Compactor {
    thread: Background,
}

/// The tables and the schedule of a [`Compactor`]; made by [`Compactor::of`].
#[must_use = "a compactor does nothing until `start` is called"]
pub struct CompactorBuilder<M: ManageConnection> {
    pool: Pool<M>,
    tasks: Vec<Task<M::Connection>>,
    schedule: Schedule,
    on_run: Box<dyn FnMut(&Run) + Send>,
}

impl<M: ManageConnection> fmt::Debug for CompactorBuilder<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tables: Vec<_> = self.tasks.iter().map(|task| &task.table).collect();
        f.debug_struct("CompactorBuilder")
            .field("tables", &tables)
            .field("schedule", &self.schedule)
            .finish_non_exhaustive()
    }
}

/// A run of a [`Compactor`] on one table.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// The table's name; of a copy, the name of its column too.
    pub table: String,
    /// What was done, or the error.
    pub result: Result<Done, RunError>,
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

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Done::Compacted(done) => done.fmt(f),
            Done::Materialized(done) => done.fmt(f),
        }
    }
}

/// The error of a [`Compactor`]'s run. Its [`source`](std::error::Error::source) is the error of the
/// pool or of the database.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The pool did not return a connection.
    Pool(PoolError),
    /// The database returned an error. The batches and tables before it stay as they are.
    Database(Error),
    /// The run panicked, with this message: in `today`, for example. As for an error, what it has
    /// committed stays.
    Panicked(String),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Pool(_) => f.write_str("could not get a connection from the pool"),
            RunError::Database(_) => f.write_str("the run failed"),
            RunError::Panicked(message) => write!(f, "panicked: {message}"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RunError::Pool(error) => Some(error),
            RunError::Database(error) => Some(error),
            RunError::Panicked(_) => None,
        }
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.result {
            Ok(done) => write!(f, "{}: {done}", self.table),
            Err(error) => {
                write!(f, "{}: {error}", self.table)?;
                error
                    .source()
                    .map_or(Ok(()), |source| write!(f, ": {source}"))
            }
        }
    }
}

type Work<Conn> = dyn FnMut(&mut Conn, &Stop) -> Result<Done, Error> + Send;

struct Task<Conn> {
    table: String,
    run: Box<Work<Conn>>,
}

#[derive(Debug)]
enum Schedule {
    Every(TimeDelta),
    DailyAt(NaiveTime),
}

const A_DAY: TimeDelta = TimeDelta::days(1);

/// The time from the first failure to the next run.
const RETRY: TimeDelta = TimeDelta::seconds(10);

/// How long a drop waits for the current transaction. The longest one that was measured took 0.12 s.
const GRACE: Duration = Duration::from_secs(2);

impl Compactor {
    /// Begins to build a compactor that uses the connections of this pool. It takes one connection
    /// at a time, and returns it after the run of each table.
    pub fn of<M: ManageConnection>(pool: Pool<M>) -> CompactorBuilder<M> {
        CompactorBuilder {
            pool,
            tasks: Vec::new(),
            schedule: Schedule::Every(A_DAY),
            on_run: Box::new(|_| ()),
        }
    }

    /// Stops the thread, and waits until it has ended. Dropping the compactor stops the thread too, but
    /// waits for two seconds at most; see [stopping](#stopping).
    pub fn stop(mut self) {
        self.thread.stop();
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.thread.stop_within(GRACE);
    }
}

/// The backend of the connections of a pool.
type BackendOf<M> = <<M as ManageConnection>::Connection as Connection>::Backend;

/// A key that merges and copies load and bind.
pub trait MergeKey<Types, DB: CounterBackend>:
    BindKey<Types, DB> + LoadKey<Types, DB> + Clone + Ord + fmt::Debug + 'static
{
}
impl<Types, K, DB> MergeKey<Types, DB> for K
where
    K: BindKey<Types, DB> + LoadKey<Types, DB> + Clone + Ord + fmt::Debug + 'static,
    DB: CounterBackend,
{
}

impl<M> CompactorBuilder<M>
where
    M: ManageConnection<Connection: LoadConnection<Backend: CounterBackend>>,
{
    /// Merges the slots of this table's days before yesterday, with
    /// [`compact`](crate::dsl::compact()).
    pub fn compact<T>(self, _table: T) -> Self
    where
        T: CounterTable<KeyType: StoredKeys> + 'static,
        <T::KeyType as StoredKeys>::Keys: MergeKey<T::KeyType, BackendOf<M>>,
    {
        self.merge(|| compact(T::table()))
    }

    /// Folds this table's days that are more than `days` days ago into one row without a day, with
    /// [`fold`](crate::dsl::fold()). This cannot be undone.
    pub fn fold<T>(self, table: T, days: u64) -> Self
    where
        T: CounterTable<KeyType: StoredKeys> + 'static,
        <T::KeyType as StoredKeys>::Keys: MergeKey<T::KeyType, BackendOf<M>>,
    {
        self.fold_into(table, Period::Total, days)
    }

    /// Folds this table's days that are more than `days` days ago into weeks, months or years, with
    /// [`fold`](crate::dsl::fold()). This cannot be undone. Call it several times for several steps.
    pub fn fold_into<T>(self, _table: T, period: Period, days: u64) -> Self
    where
        T: CounterTable<KeyType: StoredKeys> + 'static,
        <T::KeyType as StoredKeys>::Keys: MergeKey<T::KeyType, BackendOf<M>>,
    {
        self.merge(move || {
            let today = T::today();
            // If there is no date so long ago, nothing is folded: the default is 1970-01-01.
            let before = today.checked_sub_days(Days::new(days));
            let fold = fold(T::table()).per(period);
            fold.before(before.unwrap_or_default())
        })
    }

    /// Runs the merge that `merge` returns, which is called before each run: a
    /// [`compact`](crate::dsl::compact()) or [`fold`](crate::dsl::fold()) with other days, or with
    /// another batch.
    pub fn merge<Types, K>(
        mut self,
        merge: impl Fn() -> Compact<'static, Types, K> + Send + 'static,
    ) -> Self
    where
        Types: KeyTypes,
        K: MergeKey<Types, BackendOf<M>>,
    {
        self.tasks.push(Task {
            table: merge().table_name().to_owned(),
            run: Box::new(move |conn, stop| {
                let merged = merge().stop_when(|| stop.is_now()).execute(conn)?;
                Ok(Done::Compacted(merged))
            }),
        });
        self
    }

    /// Runs the copy that `copy` returns, which is called before each run: of totals, or of the last
    /// days, into a column that queries sort by.
    ///
    /// ```
    /// # include!("doctest_setup.rs");
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use diesel::r2d2::{ConnectionManager, Pool};
    /// # use diesel_counters::Compactor;
    /// # let pool = Pool::new(ConnectionManager::<SqliteConnection>::new(":memory:"))?;
    /// use article_counters::views;
    ///
    /// let compactor = Compactor::of(pool)
    ///     .materialize(|| Article::materialize(views, articles::recent_views).last_days(90))
    ///     .every(std::time::Duration::from_secs(60 * 60))
    ///     .start()?;
    /// # compactor.stop();
    /// # Ok(())
    /// # }
    /// ```
    pub fn materialize<Types, K>(
        mut self,
        copy: impl Fn() -> Materialize<'static, Types, K> + Send + 'static,
    ) -> Self
    where
        Types: KeyTypes,
        K: MergeKey<Types, BackendOf<M>>,
    {
        self.tasks.push(Task {
            table: copy().name(),
            run: Box::new(move |conn, stop| {
                let mut copy = copy().stop_when(|| stop.is_now());
                Ok(Done::Materialized(copy.copy(true, conn)?))
            }),
        });
        self
    }

    /// Runs at once, and then again when `time` has passed since the end of each run. Defaults to a
    /// day. A time below one millisecond is replaced by one millisecond.
    pub fn every(mut self, time: Duration) -> Self {
        let time = TimeDelta::from_std(time).unwrap_or(TimeDelta::MAX);
        self.schedule = Schedule::Every(time.max(TimeDelta::milliseconds(1)));
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

    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// It returns an error if the operating system cannot create a thread.
    pub fn start(self) -> std::io::Result<Compactor> {
        let thread = Background::start("compactor", |stop| self.run(stop))?;
        Ok(Compactor { thread })
    }

    fn run(mut self, stop: &Stop) {
        let mut due = Utc::now();
        if let Schedule::DailyAt(_) = self.schedule {
            due = self.schedule.next(due);
            stop.wait_until(due);
        }
        let mut failures = 0;
        while !stop.is_now() {
            let mut failed = false;
            for task in &mut self.tasks {
                let run = || {
                    let mut conn = self.pool.get().map_err(RunError::Pool)?;
                    (task.run)(&mut conn, stop).map_err(RunError::Database)
                };
                let result = caught(run).unwrap_or_else(|text| Err(RunError::Panicked(text)));
                failed |= result.is_err();
                let run = Run {
                    table: task.table.clone(),
                    result,
                };
                let _ = caught(|| (self.on_run)(&run));
                if stop.is_now() {
                    return;
                }
            }
            failures = if failed { failures + 1 } else { 0 };
            let now = Utc::now();
            let next = self.schedule.next_but(due, now);
            let run = next.min(retry_at(failures, now));
            if run == next {
                due = next;
            }
            stop.wait_until(run);
        }
    }
}

/// Returns when to run again after this number of failed runs, the last of which ended now.
fn retry_at(failures: u32, now: DateTime<Utc>) -> DateTime<Utc> {
    match failures.checked_sub(1) {
        None => DateTime::<Utc>::MAX_UTC,
        Some(others) => now + RETRY * (1 << others.min(16)),
    }
}

impl Schedule {
    /// Returns the next moment after `now` at which a run is due, except `last`, the last one. If
    /// the clock is set back a little, a day does not get a second run.
    fn next_but(&self, last: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
        match *self {
            Schedule::DailyAt(_) if last - now < A_DAY => self.next(now.max(last)),
            _ => self.next(now),
        }
    }

    /// Returns the next moment after this one at which a run is due.
    fn next(&self, after: DateTime<Utc>) -> DateTime<Utc> {
        let next = match *self {
            Schedule::Every(time) => after.checked_add_signed(time),
            Schedule::DailyAt(time) => {
                let today = after.date_naive().and_time(time).and_utc();
                if today > after {
                    Some(today)
                } else {
                    today.checked_add_days(Days::new(1))
                }
            }
        };
        next.unwrap_or(DateTime::<Utc>::MAX_UTC)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_daily_run_is_at_the_next_such_time_and_once_a_day() {
        let at = |time: &str| time.parse::<DateTime<Utc>>().unwrap();
        let four = Schedule::DailyAt(NaiveTime::from_hms_opt(4, 0, 0).unwrap());
        for (after, next) in [
            ("2026-11-21T03:59:00Z", "2026-11-21T04:00:00Z"),
            ("2026-11-21T03:59:59.999999999Z", "2026-11-21T04:00:00Z"),
            ("2026-11-21T04:00:00Z", "2026-11-22T04:00:00Z"),
            ("2026-11-21T04:00:00.5Z", "2026-11-22T04:00:00Z"),
            ("2026-11-21T23:00:00Z", "2026-11-22T04:00:00Z"),
        ] {
            assert_eq!(four.next(at(after)), at(next), "{after}");
        }
    }

    #[test]
    fn a_clock_that_is_set_back_neither_doubles_nor_stops_the_runs() {
        let at = |time: &str| time.parse::<DateTime<Utc>>().unwrap();
        let last = at("2026-11-21T04:00:00Z");
        let four = Schedule::DailyAt(last.time());
        let hourly = Schedule::Every(TimeDelta::hours(1));
        for (now, daily, after_an_hour) in [
            (
                "2026-11-21T03:59:59Z",
                "2026-11-22T04:00:00Z",
                "2026-11-21T04:59:59Z",
            ),
            (
                "2026-11-21T05:00:00Z",
                "2026-11-22T04:00:00Z",
                "2026-11-21T06:00:00Z",
            ),
            (
                "2016-01-01T05:00:00Z",
                "2016-01-02T04:00:00Z",
                "2016-01-01T06:00:00Z",
            ),
        ] {
            assert_eq!(four.next_but(last, at(now)), at(daily), "{now}");
            assert_eq!(hourly.next_but(last, at(now)), at(after_an_hour), "{now}");
        }
    }

    #[test]
    fn each_failure_doubles_the_time_to_the_next_run() {
        let now = Utc::now();
        for (failures, seconds) in [
            (1, 10),
            (2, 20),
            (3, 40),
            (17, 655_360),
            (u32::MAX, 655_360),
        ] {
            let retry = now + TimeDelta::seconds(seconds);
            assert_eq!(retry_at(failures, now), retry, "{failures}");
        }
        assert_eq!(retry_at(0, now), DateTime::<Utc>::MAX_UTC);
    }
}
