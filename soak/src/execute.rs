//! A thread of a round: runs its work, and records what committed and what it read.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, PooledConnection, R2D2Connection};
use diesel::result::Error;
use diesel_counters::dsl::{Increment, compact, fold};
use diesel_counters::prelude::*;
use diesel_counters::{Counters, Drift, Slot, counting_transaction, is_retryable};

use super::{Conn, IS_MYSQL, IS_SQLITE, planted};
use crate::fault::Fault;
use crate::history::{Isolation, Read, Step, Transaction, Work};
use crate::record::{Cell, Change, Kind, Seen, Time, Value, now};
use crate::run::{Failure, Run};
use crate::tables::article_counters::dsl::{article_counters, comments, views};
use crate::tables::{
    self, ARTICLES, Article, DAYS, KEPT, article_likes, articles, compacted_before, counted, day,
    folded_before, number_of, today,
};

pub type Pool = diesel::r2d2::Pool<ConnectionManager<Conn>>;
type Pooled = PooledConnection<ConnectionManager<Conn>>;

/// What a thread has recorded.
#[derive(Default)]
pub struct Recorded {
    pub changes: Vec<Change>,
    pub seen: Vec<Seen>,
    pub unknown: Vec<i64>,
}

pub struct Thread<'a> {
    pub run: &'a Run,
    pub pool: &'a Pool,
    /// Set if the database has several nodes.
    pub slot: Option<Slot>,
    pub number: usize,
    pub materializing: &'a Mutex<()>,
    /// The comments that it has inserted, which it can delete.
    pub comments: Vec<(i64, i64, u8)>,
    pub recorded: Recorded,
}

/// Why a transaction ends without a commit.
enum Stop {
    /// As the history says.
    Planned,
    Database(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Database(error)
    }
}

/// One attempt of a transaction.
#[derive(Default)]
struct Attempt {
    id: i64,
    isolation: Option<Isolation>,
    began: Time,
    effects: Vec<(Cell, i64)>,
    views: Vec<(i64, u8, i64)>,
    increments: u64,
    comments: Vec<(i64, i64, u8)>,
    /// The comments that it has deleted.
    uncommented: Vec<i64>,
    /// How many effects there were when the snapshot was taken.
    snapshot: Option<usize>,
    seen: Vec<Seen>,
    /// When COMMIT was sent.
    commits: Option<Time>,
}

enum Lost {
    Connection,
    Other(Error),
}

impl Thread<'_> {
    pub fn work(&mut self, history: &[Work]) -> Result<(), Failure> {
        for (number, work) in history.iter().enumerate() {
            if self.run.is_stopped() {
                break;
            }
            self.one(work, format!("thread {} work {number}", self.number))?;
        }
        Ok(())
    }

    fn one(&mut self, work: &Work, by: String) -> Result<(), Failure> {
        match work {
            Work::Transaction(transaction) => self.transaction(transaction, by),
            Work::Delete(_) if self.run.is_client => Ok(()),
            Work::Delete(article) => self.delete(*article, by),
            Work::Snapshot => self.retried(by, |conn, _, seen| {
                snapshot(conn, |conn| {
                    seen.push(everything(conn)?);
                    Ok(())
                })
            }),
            Work::Recount(article) => self.recount(&[*article], by),
            Work::RecountAll => self.recount(&KEPT.collect::<Vec<_>>(), by),
            Work::Materialize => {
                let materializing = self.materializing;
                let _only_one = materializing.lock();
                self.retried(by, materialized)
            }
            Work::Compact => match self.run.fault {
                Some(Fault::MergeWithoutLocks) => {
                    self.retried(by, |conn, _, _| Ok(planted::merge_without_locks(conn)?))
                }
                _ => self.retried(by, |conn, _, _| {
                    let merge = compact(article_counters).before(compacted_before());
                    Ok(merge.batch(20).execute(conn).map(drop)?)
                }),
            },
            Work::Fold => self.retried(by, |conn, _, _| {
                let merge = fold(article_counters).before(folded_before());
                Ok(merge.batch(20).execute(conn).map(drop)?)
            }),
        }
    }

    fn slotted<C: Counters, Id>(&self, count: Increment<C, Id>) -> Increment<C, Id> {
        match self.slot {
            Some(slot) => count.slot(slot),
            None => count,
        }
    }

    /// Waits for a connection, also while the server starts again.
    fn connection(&self) -> Result<Pooled, Failure> {
        loop {
            match self.pool.get() {
                Ok(conn) => return Ok(conn),
                Err(error) if self.run.is_stopped() => return Err(Failure::new(error)),
                Err(_) => {}
            }
        }
    }

    /// Runs what is not a transaction of its own, again if it conflicts with another one. If the
    /// server is killed, it may have run or not.
    fn retried(
        &mut self,
        by: String,
        mut work: impl FnMut(&mut Conn, &mut Vec<Change>, &mut Vec<Seen>) -> Result<(), Failed>,
    ) -> Result<(), Failure> {
        loop {
            let conn = &mut *self.connection()?;
            let (mut changes, mut seen) = (Vec::new(), Vec::new());
            let failed = match work(conn, &mut changes, &mut seen) {
                Ok(()) => None,
                Err(Failed::Wrong(text)) => return Err(Failure::Wrong(format!("{by}: {text}"))),
                Err(Failed::Database(error)) => Some(error),
            };
            for change in &mut changes {
                change.by = by.clone();
            }
            for seen in &mut seen {
                seen.by = by.clone();
            }
            self.recorded.changes.extend(changes);
            self.recorded.seen.extend(seen);
            match failed {
                None => return Ok(()),
                Some(error) if is_retryable(&error) => self.run.tally.retried(),
                Some(error) => match self.lost(error, conn) {
                    Lost::Connection => return Ok(()),
                    Lost::Other(error) => return Err(Failure::database(&by, error)),
                },
            }
        }
    }

    fn lost(&self, error: Error, conn: &mut Conn) -> Lost {
        if self.run.kills && conn.ping().is_err() {
            Lost::Connection
        } else {
            Lost::Other(error)
        }
    }

    fn transaction(&mut self, history: &Transaction, by: String) -> Result<(), Failure> {
        loop {
            let conn = &mut *self.connection()?;
            let mut attempt = Attempt {
                id: self.run.next_id(),
                isolation: Some(history.isolation),
                began: now(),
                ..Attempt::default()
            };
            if self.run.fault == Some(Fault::CountOutsideOfTheTransaction) {
                planted::count_before(&history.steps, conn).map_err(Failure::new)?;
            }
            let result = transaction(conn, history.isolation, |conn| {
                attempt.steps(&history.steps, self, conn)?;
                if history.fails {
                    return Err(Stop::Planned);
                }
                attempt.write_counted(conn)?;
                attempt.commits = Some(now());
                Ok(())
            });
            for mut seen in attempt.seen.drain(..) {
                seen.by = by.clone();
                self.recorded.seen.push(seen);
            }
            let committed = match result {
                Ok(()) => Some(now()),
                Err(Stop::Planned) => {
                    self.run.tally.rollbacks.fetch_add(1, Relaxed);
                    None
                }
                Err(Stop::Database(error)) if is_retryable(&error) => {
                    self.run.tally.retried();
                    continue;
                }
                Err(Stop::Database(error)) => match self.lost(error, conn) {
                    Lost::Other(error) => return Err(Failure::database(&by, error)),
                    Lost::Connection if attempt.commits.is_some() => {
                        self.run.tally.lost_answers.fetch_add(1, Relaxed);
                        self.has_committed(attempt.id)?
                    }
                    Lost::Connection => None,
                },
            };
            if let (Some(from), Some(to)) = (attempt.commits, committed) {
                self.run.tally.transactions.fetch_add(1, Relaxed);
                self.run
                    .tally
                    .increments
                    .fetch_add(attempt.increments, Relaxed);
                self.comments
                    .retain(|(id, ..)| !attempt.uncommented.contains(id));
                self.comments.extend(&attempt.comments);
                self.recorded.changes.push(Change {
                    from,
                    to,
                    effects: attempt.effects,
                    removed: None,
                    by,
                });
            }
            return Ok(());
        }
    }

    /// Whether the transaction whose COMMIT was not answered has committed.
    fn has_committed(&self, id: i64) -> Result<Option<Time>, Failure> {
        loop {
            let conn = &mut *self.connection()?;
            let rows = counted::table
                .filter(counted::transaction_id.eq(id))
                .count();
            match rows.get_result::<i64>(conn) {
                Ok(rows) => return Ok((rows > 0).then(now)),
                Err(error) => match self.lost(error, conn) {
                    Lost::Connection => {}
                    Lost::Other(error) => return Err(Failure::new(error)),
                },
            }
        }
    }

    fn delete(&mut self, article: i64, by: String) -> Result<(), Failure> {
        loop {
            let conn = &mut *self.connection()?;
            let (id, began) = (self.run.next_id(), now());
            let mut commits = None;
            let isolation = match article % 2 {
                1 if self.run.fault.is_none() => Isolation::Default,
                _ => Isolation::ReadCommitted,
            };
            let result = transaction(conn, isolation, |conn| {
                match self.run.fault {
                    Some(Fault::DeleteInOneStatement) => {
                        planted::delete_in_one_statement(article, conn)?;
                    }
                    _ => drop(Article { id: article }.delete_counters(conn)?),
                }
                write_counted(id, [], conn)?;
                commits = Some(now());
                Ok(())
            });
            let committed = match result {
                Ok(()) => Some(now()),
                Err(Stop::Planned) => None,
                Err(Stop::Database(error)) if is_retryable(&error) => {
                    self.run.tally.retried();
                    continue;
                }
                Err(Stop::Database(error)) => match self.lost(error, conn) {
                    Lost::Other(error) => return Err(Failure::database(&by, error)),
                    Lost::Connection if commits.is_some() => self.has_committed(id)?,
                    Lost::Connection => None,
                },
            };
            if let (Some(from), Some(to)) = (commits, committed) {
                self.recorded.changes.push(Change {
                    from,
                    to,
                    effects: Vec::new(),
                    removed: Some((article, began)),
                    by,
                });
            }
            return Ok(());
        }
    }

    fn recount(&mut self, ids: &[i64], by: String) -> Result<(), Failure> {
        let answered = self.recorded.changes.len();
        let fault = self.run.fault;
        let mut was_answered = false;
        self.retried(by, |conn, changes, seen| {
            let from = now();
            let source = tables::comments::table
                .group_by(tables::comments::article_id)
                .select((tables::comments::article_id, count_star()));
            let added: Vec<(i64, i64)> = match ids {
                [id] if fault == Some(Fault::RecountDeletesFirst) => {
                    vec![(*id, planted::recount_deletes_first(*id, conn)?)]
                }
                [id] => vec![(*id, Article { id: *id }.recount(comments, source, conn)?)],
                ids => {
                    let drift: Vec<Drift<i64>> = Article::recount_all(comments, source, conn)?;
                    let added = |id: &i64| {
                        let drift = drift.iter().find(|drift| drift.entity == *id);
                        (*id, drift.map_or(0, |drift| drift.actual - drift.stored))
                    };
                    ids.iter().map(added).collect()
                }
            };
            was_answered = true;
            let to = now();
            for (article, added) in added {
                seen.push(Seen {
                    from,
                    to,
                    own: Vec::new(),
                    values: vec![Value::drift(article, -added)],
                    by: String::new(),
                });
                changes.push(Change {
                    from,
                    to,
                    effects: vec![(Cell::new(article, Kind::Comments, 0), added)],
                    removed: None,
                    by: String::new(),
                });
            }
            Ok(())
        })?;
        debug_assert!(!was_answered || self.recorded.changes.len() > answered);
        if !was_answered {
            self.recorded.unknown.extend(ids);
        }
        Ok(())
    }
}

/// Why a read or a correction failed.
enum Failed {
    Database(Error),
    Wrong(String),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Failed::Database(error)
    }
}

fn transaction<T>(
    conn: &mut Conn,
    isolation: Isolation,
    work: impl FnOnce(&mut Conn) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let level = match isolation {
        Isolation::Default => None,
        Isolation::ReadCommitted => Some("READ COMMITTED"),
        Isolation::RepeatableRead => Some("REPEATABLE READ"),
        Isolation::Serializable => Some("SERIALIZABLE"),
    };
    let level = level.filter(|_| !IS_SQLITE);
    let set = level.map(|level| format!("SET TRANSACTION ISOLATION LEVEL {level}"));
    if let Some(set) = set.as_ref().filter(|_| IS_MYSQL) {
        conn.batch_execute(set)?;
    }
    super::write(conn, |conn| {
        if let Some(set) = set.as_ref().filter(|_| !IS_MYSQL) {
            conn.batch_execute(set)?;
        }
        work(conn)
    })
}

/// Runs queries that all see the same snapshot.
fn snapshot(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let set = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ";
    if IS_MYSQL {
        conn.batch_execute(set)?;
    }
    conn.transaction(|conn| {
        if !IS_MYSQL && !IS_SQLITE {
            conn.batch_execute(set)?;
        }
        work(conn)
    })
}

/// Inserts the row by which it is known later whether this transaction has committed.
fn write_counted(
    id: i64,
    views_of: impl IntoIterator<Item = (i64, u8, i64)>,
    conn: &mut Conn,
) -> QueryResult<()> {
    let mut sums = BTreeMap::from([((1, 0), 0)]);
    for (article, day, amount) in views_of {
        *sums.entry((article, day)).or_default() += amount;
    }
    let rows = sums.into_iter().map(|((article, number), amount)| {
        (
            counted::transaction_id.eq(id),
            counted::article_id.eq(article),
            counted::day.eq(day(number)),
            counted::views.eq(amount),
        )
    });
    let rows: Vec<_> = rows.collect();
    diesel::insert_into(counted::table)
        .values(rows)
        .execute(conn)
        .map(drop)
}

impl Attempt {
    fn write_counted(&self, conn: &mut Conn) -> QueryResult<()> {
        write_counted(self.id, self.views.iter().copied(), conn)
    }

    fn count(&mut self, article: i64, kind: Kind, on: u8, amount: i64) {
        let cell = Cell::new(article, kind, number_of(day(on)));
        self.effects.push((cell, amount));
        if kind == Kind::Views {
            self.views.push((article, on, amount));
        }
        self.increments += 1;
    }

    fn steps(&mut self, steps: &[Step], of: &Thread, conn: &mut Conn) -> Result<(), Stop> {
        for step in steps {
            self.step(step, of, conn)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, of: &Thread, conn: &mut Conn) -> Result<(), Stop> {
        let run = of.run;
        match *step {
            Step::Count {
                article,
                day: on,
                views: amount,
            } => {
                let count = Article::increment(views).of(article).by(amount).on(day(on));
                if run.fault != Some(Fault::CountOutsideOfTheTransaction) {
                    of.slotted(count).execute(conn)?;
                }
                self.count(article, Kind::Views, on, amount);
            }
            Step::CountMany {
                day: on,
                views: ref amounts,
            } => {
                let many = Article::increment(views).on(day(on));
                of.slotted(many)
                    .of_many(amounts.iter().copied())
                    .execute(conn)?;
                for &(article, amount) in amounts {
                    self.count(article, Kind::Views, on, amount);
                }
            }
            Step::CountLast { views: ref amounts } => {
                counting_transaction(conn, |tx| {
                    for &(article, on, amount) in amounts {
                        let count = Article::increment(views).of(article).by(amount);
                        tx.count(of.slotted(count.on(day(on))));
                    }
                    QueryResult::Ok(())
                })?;
                for &(article, on, amount) in amounts {
                    self.count(article, Kind::Views, on, amount);
                }
            }
            Step::Comment {
                article,
                day: on,
                views: amount,
            } => {
                let id = run.next_id();
                diesel::insert_into(tables::comments::table)
                    .values((
                        tables::comments::id.eq(id),
                        tables::comments::article_id.eq(article),
                        tables::comments::day.eq(day(on)),
                    ))
                    .execute(conn)?;
                let count = Article::increment((views, comments)).of(article);
                of.slotted(count.by((amount, 1)).on(day(on)))
                    .execute(conn)?;
                self.count(article, Kind::Views, on, amount);
                self.count(article, Kind::Comments, on, 1);
                let cell = Cell::new(article, Kind::CommentRows, number_of(day(on)));
                self.effects.push((cell, 1));
                self.comments.push((id, article, on));
            }
            Step::Uncomment => {
                let mut own = of.comments.iter();
                let Some(&(id, article, on)) = own.find(|(id, ..)| !self.uncommented.contains(id))
                else {
                    return Ok(());
                };
                let rows = diesel::delete(tables::comments::table.find(id)).execute(conn)?;
                if rows == 1 {
                    let count = Article::increment(comments).of(article).by(-1).on(day(on));
                    of.slotted(count).execute(conn)?;
                    self.count(article, Kind::Comments, on, -1);
                    let cell = Cell::new(article, Kind::CommentRows, number_of(day(on)));
                    self.effects.push((cell, -1));
                    self.uncommented.push(id);
                }
            }
            Step::Like { article, user } => {
                let rows = super::like(article, user, conn)?;
                self.liked(article, rows as i64);
            }
            Step::Unlike { article, user } => {
                let like = article_likes::table.find((article, user));
                let rows = diesel::delete(like).execute(conn)?;
                self.liked(article, -(rows as i64));
            }
            Step::Set { article, views: to } => {
                let from = if IS_MYSQL {
                    now()
                } else {
                    self.snapshot_from()
                };
                let before = Article { id: article }.set_counter(views, to, conn)?;
                let value = Value::sum(Cell::of(article, Kind::Views), before);
                self.see(from, vec![value]);
                self.count(article, Kind::Views, 0, to - before);
            }
            Step::Miscount { .. } if run.is_client => {}
            Step::Miscount {
                article,
                comments: amount,
            } => {
                let count = Article::increment(comments).of(article).by(amount);
                of.slotted(count).execute(conn)?;
                self.count(article, Kind::Comments, 0, amount);
            }
            Step::Read(read) => {
                let from = self.snapshot_from();
                if self.has_an_older_snapshot() {
                    run.tally.not_checked.fetch_add(1, Relaxed);
                    return Ok(());
                }
                let values = read_values(read, conn)?;
                self.see(from, values);
                self.snapshot.get_or_insert(self.effects.len());
            }
            Step::Savepoint { ref steps, fails } => {
                let before = (self.effects.len(), self.views.len(), self.comments.len());
                let uncommented = self.uncommented.len();
                let increments = self.increments;
                let result = conn.transaction(|conn| {
                    self.steps(steps, of, conn)?;
                    if fails { Err(Stop::Planned) } else { Ok(()) }
                });
                match result {
                    Err(Stop::Planned) if fails => {
                        self.effects.truncate(before.0);
                        self.views.truncate(before.1);
                        self.comments.truncate(before.2);
                        self.uncommented.truncate(uncommented);
                        self.snapshot = self.snapshot.map(|effects| effects.min(before.0));
                        self.increments = increments;
                    }
                    result => result?,
                }
            }
            Step::Pause(milliseconds) => {
                std::thread::sleep(Duration::from_millis(milliseconds.into()));
            }
        }
        Ok(())
    }

    fn liked(&mut self, article: i64, rows: i64) {
        if rows != 0 {
            self.effects
                .push((Cell::new(article, Kind::LikeRows, 0), rows));
            self.effects
                .push((Cell::new(article, Kind::Likes, 0), rows));
            self.increments += 1;
        }
    }

    /// The earliest time of the snapshot that a query of this transaction sees.
    fn snapshot_from(&self) -> Time {
        let each_statement = match self.isolation {
            Some(Isolation::ReadCommitted) => true,
            Some(Isolation::Default) => !IS_MYSQL,
            _ => false,
        };
        if each_statement && !IS_SQLITE {
            now()
        } else {
            self.began
        }
    }

    /// On MySQL and MariaDB, a transaction that has read and then written sees the rows that it
    /// wrote as they are now, and the others as they were when it read. A sum of both is of no
    /// time.
    fn has_an_older_snapshot(&self) -> bool {
        let repeats = matches!(
            self.isolation,
            Some(Isolation::Default | Isolation::RepeatableRead)
        );
        IS_MYSQL
            && repeats
            && self
                .snapshot
                .is_some_and(|effects| effects < self.effects.len())
    }

    fn see(&mut self, from: Time, values: Vec<Value>) {
        self.seen.push(Seen {
            from,
            to: now(),
            own: self.effects.clone(),
            values,
            by: String::new(),
        });
    }
}

fn all() -> Vec<Article> {
    (1..=ARTICLES).map(|id| Article { id }).collect()
}

fn read_values(read: Read, conn: &mut Conn) -> Result<Vec<Value>, Error> {
    let total = |article, value| Value::sum(Cell::of(article, Kind::Views), value);
    Ok(match read {
        Read::Total { article } => {
            let of = Article { id: article };
            let (v, c): (i64, i64) = of.counter_value((views, comments), conn)?;
            let c = Value::sum(Cell::of(article, Kind::Comments), c);
            vec![total(article, v), c]
        }
        Read::Day { article, day: on } => {
            let value = Article { id: article }.counter_value_on(views, day(on), conn)?;
            on_day(article, on, value).into_iter().collect()
        }
        Read::Series { article } => {
            let series =
                Article { id: article }.daily_counts(views, day(DAYS - 1)..=today(), conn)?;
            series
                .into_iter()
                .filter_map(|(on, value)| on_day(article, (today() - on).num_days() as u8, value))
                .collect()
        }
        Read::Page => {
            let page = Article::counter_values(&all(), views, conn)?;
            (1..)
                .zip(page)
                .map(|(id, value)| total(id, value))
                .collect()
        }
        Read::Top { limit } => {
            let top = Article::top(views, limit.into(), .., conn)?;
            top.into_iter()
                .map(|(id, value)| total(id, value))
                .collect()
        }
        Read::Expression => {
            let rows: Vec<(i64, i64, i64)> = articles::table
                .select((
                    articles::id,
                    diesel_counters::dsl::total(views),
                    diesel_counters::dsl::total(tables::article_counters::likes),
                ))
                .load(conn)?;
            rows.into_iter()
                .flat_map(|(id, v, l)| [total(id, v), Value::sum(Cell::of(id, Kind::Likes), l)])
                .collect()
        }
    })
}

/// A day that can be folded is checked in the totals alone.
fn on_day(article: i64, on: u8, value: i64) -> Option<Value> {
    let cell = Cell::new(article, Kind::Views, number_of(day(on)));
    (number_of(day(on)) < tables::FOLDED).then(|| Value::sum([cell], value))
}

/// Reads in every way, and compares the results.
fn everything(conn: &mut Conn) -> Result<Seen, Failed> {
    let from = now();
    let same = |what: &str, a: i64, article: i64, b: i64| {
        if a == b {
            return Ok(());
        }
        let text =
            format!("in one snapshot, {what} of article {article} is {a}, and its total is {b}");
        Err(Failed::Wrong(text))
    };
    let page: Vec<(i64, i64)> = Article::counter_values(&all(), (views, comments), conn)?;
    let mut values = Vec::new();
    for (article, &(v, c)) in (1..).zip(&page) {
        let of = Article { id: article };
        same("counter_value", of.counter_value(views, conn)?, article, v)?;
        let days = day(DAYS - 1)..=today();
        let series = of.daily_counts(views, days, conn)?;
        let undated = chrono::NaiveDate::default();
        let undated = of.counter_value_on(views, undated, conn)?;
        let sum = series.iter().map(|(_, value)| value).sum::<i64>() + undated;
        same("the sum of the series", sum, article, v)?;
        values.push(Value::sum(Cell::of(article, Kind::Views), v));
        values.push(Value::sum(Cell::of(article, Kind::Comments), c));
        values.extend(
            series
                .into_iter()
                .filter_map(|(on, value)| on_day(article, (today() - on).num_days() as u8, value)),
        );
    }
    let top = Article::top(views, 100, .., conn)?;
    if !top.is_sorted_by_key(|&(id, value)| (-value, id)) {
        return Err(Failed::Wrong(format!("the top is not sorted: {top:?}")));
    }
    for (article, &(v, _)) in (1..).zip(&page) {
        let ranked = top.iter().find(|(id, _)| *id == article);
        same("the top's count", ranked.map_or(0, |top| top.1), article, v)?;
    }
    let rows = articles::table.select((articles::id, diesel_counters::dsl::total(views)));
    for (article, value) in rows.load::<(i64, i64)>(conn)? {
        same("total()", value, article, page[article as usize - 1].0)?;
    }
    Ok(Seen {
        from,
        to: now(),
        own: Vec::new(),
        values,
        by: String::new(),
    })
}

/// Copies the totals into a column, and reads the column.
fn materialized(conn: &mut Conn, _: &mut Vec<Change>, seen: &mut Vec<Seen>) -> Result<(), Failed> {
    let from = now();
    Article::materialize(views, articles::total_views).execute(conn)?;
    let rows = articles::table.select((articles::id, articles::total_views));
    let rows: Vec<(i64, i64)> = rows.load(conn)?;
    seen.extend(rows.into_iter().map(|(article, value)| Seen {
        from,
        to: now(),
        own: Vec::new(),
        values: vec![Value::sum(Cell::of(article, Kind::Views), value)],
        by: String::new(),
    }));
    Ok(())
}
