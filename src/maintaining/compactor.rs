//! Merging in the background of a program.

use std::error::Error as _;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use chrono::{DateTime, Days, NaiveTime, Utc};
use diesel::connection::Connection;
use diesel::r2d2::{ManageConnection, Pool, PoolError};
use diesel::result::Error;

use crate::maintaining::compact::{Compact, Compacted, StoredTable, compact};
use crate::maintaining::fold::fold;
use crate::maintaining::merge::MergeOn;
use crate::period::utc_today;

/// Keeps counter tables small in the background of a program: runs
/// [`compact`](crate::compact()) and [`fold`](crate::fold()) on a thread of its own, with
/// connections of a pool.
///
/// It stops when it is dropped: after the statement or the transaction that it is in, or
/// once the pool has told that it has no connection. The drop waits for that.
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
#[must_use = "it stops when it is dropped"]
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

enum Schedule {
    Every(Duration),
    DailyAt(NaiveTime),
}

const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How soon after a failure the next run is, the first time.
const RETRY: Duration = Duration::from_secs(10);

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
        if let Some(thread) = self.thread.take() {
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

    /// Runs what `merge` makes: a [`compact`](crate::compact()) or
    /// [`fold`](crate::fold()) with other days or another batch.
    pub fn merge<F, ST, K>(
        mut self,
        merge: impl Fn() -> Compact<'static, F, ST, K> + Send + 'static,
    ) -> Self
    where
        for<'s> Compact<'s, F, ST, K>: MergeOn<M::Connection>,
    {
        self.tasks.push(Task {
            table: merge().table_name().to_owned(),
            run: Box::new(move |conn, stop| merge().stop_when(|| stop.is_now()).run(conn)),
        });
        self
    }

    /// Runs at once, and then after each such time, of a millisecond at least; once a day
    /// when not said.
    pub fn every(mut self, time: Duration) -> Self {
        self.schedule = Schedule::Every(time.max(Duration::from_millis(1)));
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
        if let Schedule::DailyAt(_) = self.schedule {
            stop.wait(self.schedule.time_to_next(Utc::now()));
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
            let next = self.schedule.time_to_next(Utc::now());
            stop.wait(match failures {
                0 => next,
                _ => next.min(RETRY.saturating_mul(1 << (failures - 1).min(16))),
            });
        }
    }
}

impl Schedule {
    fn time_to_next(&self, now: DateTime<Utc>) -> Duration {
        match *self {
            Schedule::Every(time) => time,
            Schedule::DailyAt(time) => {
                let seconds = (time - now.time()).num_seconds();
                let a_day = A_DAY.as_secs() as i64;
                // Past the moment, so that one day has one run.
                Duration::from_secs(seconds.rem_euclid(a_day).unsigned_abs() + 1)
            }
        }
    }
}

/// Tells the thread to stop.
#[derive(Default)]
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

    /// Waits for so long, or until it is to stop.
    fn wait(&self, time: Duration) {
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
    fn a_daily_run_is_at_the_next_such_time() {
        let at = |time: &str| {
            format!("2026-11-21T{time}Z")
                .parse::<DateTime<Utc>>()
                .unwrap()
        };
        let four = Schedule::DailyAt(NaiveTime::from_hms_opt(4, 0, 0).unwrap());
        for (now, seconds) in [("03:59:00", 61), ("04:00:01", 86_400), ("23:00:00", 18_001)] {
            assert_eq!(four.time_to_next(at(now)).as_secs(), seconds, "{now}");
        }
    }
}
