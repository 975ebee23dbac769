//! A thread of a round: runs its work, and records what committed and what it read.

use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, PooledConnection, R2D2Connection};
use diesel::result::Error;
use diesel_counters::{Period, is_retryable};
use diesel_counters_tests::operations::{Compact, Fold, Recount, RecountAll, Run as _};

use super::attempt::{Attempt, Stop, Writer, number_in, transaction, write_counted};
use super::reads::materialized;
use super::{Conn, IS_MYSQL, IS_SQLITE, planted};
use crate::fault::Fault;
use crate::history::{Level, Transaction, Work};
use crate::record::{Cell, Change, Kind, Recorded, Seen, Time, Value, now};
use crate::run::{Failure, PATIENCE, Run};
use crate::tables::{ARTICLES, TODAY, Table, compacted_before, counted, entity, folded_before};

pub type Pool = diesel::r2d2::Pool<ConnectionManager<Conn>>;
pub type Pooled = PooledConnection<ConnectionManager<Conn>>;

/// Waits until the server accepts a connection. Fails if it does not before `is_over` returns
/// `true`, or within [`PATIENCE`].
pub fn connection(pool: &Pool, is_over: impl Fn() -> bool) -> Result<Pooled, Failure> {
    let began = Instant::now();
    loop {
        match pool.get() {
            Ok(conn) => return Ok(conn),
            Err(error) if is_over() || began.elapsed() > PATIENCE => {
                return Err(Failure::new(error));
            }
            Err(_) => {}
        }
    }
}

/// Merges the slots of old days, and of tickets.
fn merge(conn: &mut Conn) -> QueryResult<()> {
    let merge = Compact {
        before: compacted_before(),
        batch: 20,
    };
    let mut tables = [Table::ARTICLES, Table::LABELS, Table::Tickets].into_iter();
    tables.try_for_each(|table| merge.run(table, conn).map(drop))
}

/// Merges old days into these periods.
fn fold_into(per: Period, conn: &mut Conn) -> QueryResult<()> {
    let fold = Fold {
        per,
        before: folded_before(),
        batch: 20,
    };
    let mut tables = [Table::ARTICLES, Table::LABELS].into_iter();
    tables.try_for_each(|table| fold.run(table, conn).map(drop))
}

/// A thread of a round.
pub struct Thread<'a> {
    pub run: &'a Run,
    pub writer: Writer<'a>,
    pub pool: &'a Pool,
    /// The number of the thread in its round.
    pub number: usize,
    /// The isolation level of transactions that do not set one.
    pub session_level: Level,
    /// Locked while totals are copied into the column and the column is read: another copy in
    /// between would replace them.
    pub materializing: &'a Mutex<()>,
    pub recorded: Recorded,
}

/// Returns whether the transaction was rolled back because of another one.
///
/// PostgreSQL finds two updates in a row's locks, if it asks while the transaction of one of them
/// rolls back and others have share locks, as those of foreign keys.
///
/// If MariaDB rolls back a transaction while it is in a savepoint because of
/// `innodb_snapshot_isolation`, Diesel returns the error of its own `ROLLBACK TO SAVEPOINT`.
fn is_conflict(error: &Error) -> bool {
    let message = error.to_string();
    let has_lost_savepoint = message.starts_with("SAVEPOINT") && message.contains("does not exist");
    let has_two_updates = message.contains("more than one updating member");
    is_retryable(error) || has_two_updates || IS_MYSQL && has_lost_savepoint
}

/// How an attempt of a transaction ended.
enum Outcome {
    /// See [`Change`].
    Ended {
        from: Time,
        to: Time,
        is_lost: bool,
    },
    RolledBack,
    /// It was rolled back because of another one, and is run again.
    Conflict,
}

impl Thread<'_> {
    /// Runs works until one fails or the round ends.
    pub fn work(&mut self, history: &[Work]) -> Result<(), Failure> {
        for (number, work) in history.iter().enumerate() {
            if self.run.is_stopped() {
                break;
            }
            self.one(work, format!("thread {} work {number}", self.number))?;
        }
        Ok(())
    }

    /// Runs a work, which is called `by` in what is recorded.
    fn one(&mut self, work: &Work, by: String) -> Result<(), Failure> {
        match work {
            Work::Transaction(transaction) => self.transaction(transaction, by),
            Work::Recount(article) => self.recount(&[*article], by),
            Work::RecountAll => self.recount(&Vec::from_iter(1..=ARTICLES), by),
            Work::Materialize => {
                let materializing = self.materializing;
                let _only_one = materializing.lock();
                self.retried(by, materialized)
            }
            Work::Compact if self.run.has(Fault::MergeWithoutLocks) => {
                self.retried(by, |conn, _| planted::merge_without_locks(conn))
            }
            Work::Compact => self.retried(by, |conn, _| merge(conn)),
            Work::Fold => self.retried(by, |conn, _| {
                let mut periods = [Period::Month, Period::Year, Period::Total].into_iter();
                periods.try_for_each(|into| fold_into(into, conn))
            }),
        }
    }

    /// Waits for a connection, also while the server starts again.
    fn connection(&self) -> Result<Pooled, Failure> {
        connection(self.pool, || self.run.is_stopped())
    }

    /// Runs what is not a transaction of its own, again if it conflicts with another one. If the
    /// server is killed, it may have run or not.
    fn retried(
        &mut self,
        by: String,
        mut work: impl FnMut(&mut Conn, &mut Recorded) -> QueryResult<()>,
    ) -> Result<(), Failure> {
        loop {
            let conn = &mut *self.connection()?;
            let mut recorded = Recorded::default();
            let result = work(conn, &mut recorded);
            for change in &mut recorded.changes {
                change.by = by.clone();
            }
            for seen in &mut recorded.seen {
                seen.by = by.clone();
            }
            self.recorded.changes.extend(recorded.changes);
            self.recorded.seen.extend(recorded.seen);
            match result {
                Ok(()) => return Ok(()),
                Err(error) if is_conflict(&error) => {
                    self.run.tally.retries.fetch_add(1, Relaxed);
                }
                Err(error) => {
                    let lost = self.lost(error, conn);
                    return lost.map_err(|error| Failure::database(&by, error));
                }
            }
        }
    }

    /// Returns the error if it is not that of a lost connection.
    fn lost(&self, error: Error, conn: &mut Conn) -> QueryResult<()> {
        if self.run.server.is_some() && conn.ping().is_err() {
            Ok(())
        } else {
            Err(error)
        }
    }

    /// Runs a transaction, again as often as it conflicts with another one. Records what it has
    /// changed and read.
    fn transaction(&mut self, history: &Transaction, by: String) -> Result<(), Failure> {
        // SQLite has one level.
        let level = history.level.filter(|_| !IS_SQLITE);
        loop {
            let mut conn = self.connection()?;
            let mut attempt = Attempt::new(self.run.next_id(), level, self.session_level);
            if self.run.has(Fault::CountOutsideOfTheTransaction) {
                match planted::count_before(&history.steps, &mut conn) {
                    Ok(()) => {}
                    Err(error) if is_conflict(&error) => continue,
                    Err(error) => return Err(Failure::database(&by, error)),
                }
            }
            let result = transaction(&mut conn, level, |conn| {
                attempt.began = now();
                attempt.steps(&history.steps, &self.writer, conn)?;
                if history.fails {
                    return Err(Stop::Planned);
                }
                write_counted(attempt.id, &attempt.counted, conn)?;
                attempt.commits = Some(now());
                Ok(())
            });
            // What it has read is checked, whether it commits or not.
            for seen in &mut attempt.seen {
                seen.by = by.clone();
            }
            self.recorded.seen.append(&mut attempt.seen);
            match self.outcome(attempt.id, attempt.commits, result, &by, conn)? {
                Outcome::Conflict => continue,
                Outcome::RolledBack => {}
                Outcome::Ended { from, to, is_lost } => {
                    let tally = &self.run.tally;
                    tally.transactions.fetch_add(1, Relaxed);
                    tally.increments.fetch_add(attempt.increments, Relaxed);
                    tally.takes.fetch_add(attempt.takes, Relaxed);
                    tally.refusals.fetch_add(attempt.refusals, Relaxed);
                    tally.fills.fetch_add(attempt.fills, Relaxed);
                    if !is_lost {
                        let deleted = &attempt.uncommented;
                        self.writer
                            .comments
                            .retain(|comment| !deleted.contains(&comment.id));
                        self.writer.comments.extend(&attempt.comments);
                    }
                    self.recorded.changes.push(Change {
                        from,
                        to,
                        is_lost,
                        effects: attempt.effects,
                        by,
                    });
                }
            }
            return Ok(());
        }
    }

    /// Returns how an attempt has ended. If its COMMIT was not answered, asks the database.
    fn outcome(
        &self,
        id: i64,
        commits: Option<Time>,
        result: Result<(), Stop>,
        by: &str,
        mut conn: Pooled,
    ) -> Result<Outcome, Failure> {
        let error = match (result, commits) {
            (Ok(()), Some(from)) => {
                let to = now();
                let is_lost = false;
                return Ok(Outcome::Ended { from, to, is_lost });
            }
            (Ok(()), None) | (Err(Stop::Planned), _) => {
                self.run.tally.rollbacks.fetch_add(1, Relaxed);
                return Ok(Outcome::RolledBack);
            }
            (Err(Stop::Database(error)), _) if is_conflict(&error) => {
                self.run.tally.retries.fetch_add(1, Relaxed);
                return Ok(Outcome::Conflict);
            }
            (Err(Stop::Database(error)), _) => error,
        };
        match (self.lost(error, &mut conn), commits) {
            (Err(error), _) => Err(Failure::database(by, error)),
            (Ok(()), None) => Ok(Outcome::RolledBack),
            (Ok(()), Some(from)) => {
                self.run.tally.lost_answers.fetch_add(1, Relaxed);
                // If the pool has lost all connections, it opens one only when this one is
                // returned.
                drop(conn);
                let is_lost = !self.has_committed(id)?;
                let to = now();
                // PostgreSQL shows a commit only when it is durable, so nobody has seen this one.
                if is_lost && !IS_MYSQL {
                    return Ok(Outcome::RolledBack);
                }
                Ok(Outcome::Ended { from, to, is_lost })
            }
        }
    }

    /// Whether the transaction whose COMMIT was not answered has committed.
    fn has_committed(&self, id: i64) -> Result<bool, Failure> {
        loop {
            let conn = &mut *self.connection()?;
            let rows = counted::table
                .filter(counted::transaction_id.eq(id))
                .count();
            match rows.get_result::<i64>(conn) {
                Ok(rows) => return Ok(rows > 0),
                Err(error) => self.lost(error, conn).map_err(Failure::new)?,
            }
        }
    }

    /// Recounts the comments of these articles. What the recount has added is recorded as a change,
    /// and as a read of the difference that it has found.
    fn recount(&mut self, ids: &[i64], by: String) -> Result<(), Failure> {
        let deletes_first = self.run.has(Fault::RecountDeletesFirst);
        let mut was_answered = false;
        self.retried(by, |conn, recorded| {
            let from = now();
            let added: Vec<(i64, i64)> = match ids {
                [id] if deletes_first => vec![(*id, planted::recount_deletes_first(*id, conn)?)],
                [id] => {
                    let of = entity(*id, TODAY);
                    let recount = Recount { of, by_day: false };
                    vec![(*id, number_in(recount.run(Table::ARTICLES, conn)?))]
                }
                ids => {
                    let recount = RecountAll { by_day: false };
                    let wrong = recount.run(Table::ARTICLES, conn)?;
                    let added = |id: &i64| {
                        let name = Table::ARTICLES.name(entity(*id, TODAY));
                        let mut wrong = wrong.iter();
                        let wrong = wrong.find(|(of, ..)| *of == Some(name.clone()));
                        (*id, wrong.map_or(0, |(_, _, counts)| counts[1] - counts[0]))
                    };
                    ids.iter().map(added).collect()
                }
            };
            was_answered = true;
            for (article, added) in added {
                let drift = Value::drift(article, -added);
                recorded.seen.push(Seen::since(from, vec![drift]));
                let cell = Cell::new(article, Kind::Comments, TODAY);
                recorded.changes.push(Change::since(from, cell, added));
            }
            Ok(())
        })?;
        if !was_answered {
            let unknown = ids.iter().map(|&id| (Kind::Comments, id));
            self.recorded.unknown.extend(unknown);
        }
        Ok(())
    }
}
