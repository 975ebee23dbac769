//! Merging in the background of a program.

use std::error::Error as _;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chrono::{DateTime, Days, NaiveTime, TimeDelta, Utc};
use diesel::connection::Connection;
use diesel::r2d2::{ManageConnection, Pool, PoolError};
use diesel::result::Error;

use crate::day::utc_today;
use crate::maintaining::compact::{Compact, Compacted, StoredTable, compact, fold};
use crate::maintaining::merge::MergeOn;

/// Keeps counter tables small in the background of a program: runs
/// [`compact`](crate::dsl::compact()) and [`fold`](crate::dsl::fold()) on a thread of its own, with
/// connections of a pool.
///
/// It stops when it is dropped: after the current transaction, or once the pool has returned
/// a connection or an error. The drop waits for that, except in [`on_run`], which is called
/// by the thread that would be waited for.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use chrono::NaiveTime;
/// use diesel::r2d2::{ConnectionManager, Pool};
/// use diesel_counters::Compactor;
///
/// let pool = Pool::new(ConnectionManager::<SqliteConnection>::new(":memory:"))?;
///
/// let compactor = Compactor::of(pool)
///     .compact(article_counters::table)
///     .fold(article_counters::table, 730)
///     .daily_at(NaiveTime::from_hms_opt(4, 0, 0).unwrap())
///     .on_run(|run| println!("{run}"))
///     .start()?;
///
/// // … the program runs …
/// drop(compactor);
/// # Ok(())
/// # }
/// ```
///
/// Several programs, or several processes of one, may each have a `Compactor` of the same
/// tables: one runs at a time, and the others leave at once.
///
/// A database that goes away ends no more than the run at hand. After a failure the next
/// run is tried in ten seconds, then in twice as long each time, or by the schedule if that
/// is sooner.
///
/// [`on_run`]: CompactorBuilder::on_run
#[must_use = "it stops when it is dropped"]
#[derive(Debug)]
pub struct Compactor {
    stop: Arc<Stop>,
    thread: Option<JoinHandle<()>>,
}

/// What a [`Compactor`] is to do; made by [`Compactor::of`].
#[must_use = "it does nothing until `start`"]
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

/// What a [`Compactor`] did to a table.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run {
    /// The table's name.
    pub table: String,
    /// What was done, or why it was not.
    pub result: Result<Compacted, RunError>,
}

/// The error of a [`Compactor`]'s run. Its [`source`](std::error::Error::source) says what
/// happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The pool returned no connection.
    Pool(PoolError),
    /// The merge failed. The batches before stay merged.
    Merge(Error),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Pool(_) => f.write_str("could not get a connection from the pool"),
            RunError::Merge(_) => f.write_str("the merge failed"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RunError::Pool(error) => Some(error),
            RunError::Merge(error) => Some(error),
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

type Work<Conn> = dyn FnMut(&mut Conn, &Stop) -> Result<Compacted, Error> + Send;

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

/// How soon after a failure the next run is, the first time.
const RETRY: TimeDelta = TimeDelta::seconds(10);

impl Compactor {
    /// Takes its connections from this pool, one at a time, for as long as a run takes.
    pub fn of<M: ManageConnection>(pool: Pool<M>) -> CompactorBuilder<M> {
        CompactorBuilder {
            pool,
            tasks: Vec::new(),
            schedule: Schedule::Every(A_DAY),
            on_run: Box::new(|_| ()),
        }
    }
}

type FromClause<T> = <T as diesel::QuerySource>::FromClause;

impl Drop for Compactor {
    fn drop(&mut self) {
        self.stop.now();
        let thread = self.thread.take();
        let another = |thread: &JoinHandle<()>| thread.thread().id() != thread::current().id();
        if let Some(thread) = thread.filter(another) {
            // A panic of `on_run` was told when it happened.
            let _ = thread.join();
        }
    }
}

impl<M> CompactorBuilder<M>
where
    M: ManageConnection<Connection: Connection>,
{
    /// Merges the slots of this table's days before yesterday.
    pub fn compact<T>(self, _table: T) -> Self
    where
        T: StoredTable + 'static,
        for<'s> Compact<'s, FromClause<T>, T::StoredSqlType, T::StoredKey>: MergeOn<M::Connection>,
    {
        self.merge(|| compact(T::table()))
    }

    /// Folds this table's days that are more than so many days ago, in UTC.
    pub fn fold<T>(self, _table: T, days: u64) -> Self
    where
        T: StoredTable + 'static,
        for<'s> Compact<'s, FromClause<T>, T::StoredSqlType, T::StoredKey>: MergeOn<M::Connection>,
    {
        self.merge(move || {
            let today = utc_today();
            // Of more days than there were none are that old.
            let before = today.checked_sub_days(Days::new(days));
            fold(T::table()).before(before.unwrap_or_default())
        })
    }

    /// Runs what `merge` makes: a [`compact`](crate::dsl::compact()) or
    /// [`fold`](crate::dsl::fold()) with other days or another batch.
    pub fn merge<F, ST, K>(
        mut self,
        merge: impl Fn() -> Compact<'static, F, ST, K> + Send + 'static,
    ) -> Self
    where
        for<'s> Compact<'s, F, ST, K>: MergeOn<M::Connection>,
    {
        self.tasks.push(Task {
            table: merge().table_name().to_owned(),
            run: Box::new(move |conn, stop| merge().stop_when(|| stop.is_now()).execute(conn)),
        });
        self
    }

    /// Runs at once, and then again this long after the end of each run. At least a
    /// millisecond; defaults to a day.
    pub fn every(mut self, time: Duration) -> Self {
        let time = TimeDelta::from_std(time).unwrap_or(TimeDelta::MAX);
        self.schedule = Schedule::Every(time.max(TimeDelta::milliseconds(1)));
        self
    }

    /// Runs each day at this time, in UTC.
    pub fn daily_at(mut self, time: NaiveTime) -> Self {
        self.schedule = Schedule::DailyAt(time);
        self
    }

    /// Calls `f` with what was done to each table, on the thread that did it. It should not
    /// panic: that would end the thread.
    pub fn on_run(mut self, f: impl FnMut(&Run) + Send + 'static) -> Self {
        self.on_run = Box::new(f);
        self
    }

    /// Starts the thread.
    ///
    /// # Errors
    ///
    /// When the system has no thread to give.
    pub fn start(self) -> std::io::Result<Compactor> {
        let stop = Arc::new(Stop::default());
        let until = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("compactor".into())
            .spawn(move || self.run(&until))?;
        Ok(Compactor {
            stop,
            thread: Some(thread),
        })
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
                let result = match self.pool.get() {
                    Ok(mut conn) => (task.run)(&mut conn, stop).map_err(RunError::Merge),
                    Err(error) => Err(RunError::Pool(error)),
                };
                failed |= result.is_err();
                (self.on_run)(&Run {
                    table: task.table.clone(),
                    result,
                });
                if stop.is_now() {
                    return;
                }
            }
            failures = if failed { failures + 1 } else { 0 };
            let now = Utc::now();
            let next = self.schedule.next_but(due, now);
            let retry = (failures > 0).then(|| now + RETRY * (1 << (failures - 1).min(16)));
            match retry {
                Some(retry) if retry < next => stop.wait_until(retry),
                _ => {
                    due = next;
                    stop.wait_until(due);
                }
            }
        }
    }
}

impl Schedule {
    /// The first moment after now that a run is due at, but for the last one: a clock that is
    /// set back a little makes one day's run no second one.
    fn next_but(&self, last: DateTime<Utc>, now: DateTime<Utc>) -> DateTime<Utc> {
        match *self {
            Schedule::DailyAt(_) if last - now < A_DAY => self.next(now.max(last)),
            _ => self.next(now),
        }
    }

    /// The first moment after this one that a run is due at.
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

/// Tells the thread to stop.
#[derive(Debug, Default)]
struct Stop {
    now: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    fn now(&self) {
        *self.lock() = true;
        self.changed.notify_all();
    }

    fn is_now(&self) -> bool {
        *self.lock()
    }

    /// Waits for this moment, or until it is to stop.
    fn wait_until(&self, moment: DateTime<Utc>) {
        let time = (moment - Utc::now()).to_std().unwrap_or_default();
        let waited = self
            .changed
            .wait_timeout_while(self.lock(), time, |now| !*now);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn the_longest_time_between_runs_is_no_overflow() {
        let never = Schedule::Every(TimeDelta::MAX);
        Stop {
            now: Mutex::new(true),
            ..Stop::default()
        }
        .wait_until(never.next(Utc::now()));
    }
}
