//! One attempt of a transaction: its steps, and what they change and read.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::counting_transaction;
use diesel_counters::dsl::{put_back, set_counter};
use diesel_counters::prelude::*;

use super::reads::read_values;
use super::{Conn, IS_MYSQL, planted};
use crate::fault::Fault;
use crate::history::{Level, Step};
use crate::record::{Cell, Kind, NO_DAY, Seen, Time, Value, now};
use crate::run::Run;
use crate::tables::article_counters::dsl::{comments, views};
use crate::tables::label_counters::dsl::given;
use crate::tables::tickets::dsl::remaining;
use crate::tables::{self, TODAY, article_likes, counted, day, number_of};

/// The thread that runs a transaction. It writes to one of the nodes.
pub struct Writer<'a> {
    pub run: &'a Run,
    /// The number of its node, from 0 on.
    pub node: usize,
    /// How many nodes there are: 1, unless the database is a cluster.
    pub nodes: usize,
    /// The comments that its committed transactions have inserted, which it can delete.
    pub comments: Vec<Comment>,
}

impl Writer<'_> {
    /// Whether the run leaves out what makes the nodes of a cluster conflict.
    pub fn keeps_apart(&self) -> bool {
        self.nodes > 1 && !self.run.settings.conflicts
    }

    /// Whether a COMMIT fails if another node has written the same row, and the run leaves out what
    /// writes such rows.
    ///
    /// Galera and Group Replication ask the other nodes at a COMMIT. Nodes with logical replication
    /// do not.
    pub fn avoids_conflicts_at_commit(&self) -> bool {
        self.keeps_apart() && !self.run.settings.applies_later
    }

    /// The user with this number. Nodes that are kept apart have users of their own, so that no two
    /// of them write the same like.
    pub fn user(&self, number: i64) -> i64 {
        if self.keeps_apart() {
            number * self.nodes as i64 + self.node as i64
        } else {
            number
        }
    }
}

/// Why a transaction ends without a commit.
pub enum Stop {
    /// The history says so.
    Planned,
    Database(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Database(error)
    }
}

/// A row of `comments`.
#[derive(Debug, Clone, Copy)]
pub struct Comment {
    pub id: i64,
    pub article: i64,
    pub day: u8,
}

/// What a step adds to the transaction's rows of `counted`.
#[derive(Debug, Clone, Copy)]
pub struct Counted {
    pub article: i64,
    pub day: u8,
    pub views: i64,
    /// The tickets that were put in, or less than 0 if they were taken.
    pub tickets: i64,
}

/// One attempt of a transaction.
#[derive(Clone)]
pub struct Attempt {
    pub id: i64,
    level: Level,
    /// The level of the transactions of its session that do not set one.
    session_level: Level,
    /// The time at which the transaction began.
    pub began: Time,
    /// What the steps have changed, in their order. If the attempt commits, the counts have to
    /// include it.
    pub effects: Vec<(Cell, i64)>,
    /// The same for views and tickets, as [`write_counted`] takes it.
    pub counted: Vec<Counted>,
    pub increments: u64,
    pub takes: u64,
    /// Takes that were refused.
    pub refusals: u64,
    /// How often it filled a stock that was empty.
    pub fills: u64,
    /// The comments that it has inserted.
    pub comments: Vec<Comment>,
    /// The comments that it has deleted.
    pub uncommented: Vec<i64>,
    /// How many effects there were when the first step that reads took the snapshot, or more.
    snapshot: Option<usize>,
    pub seen: Vec<Seen>,
    /// The time before COMMIT was sent.
    pub commits: Option<Time>,
}

impl Attempt {
    /// An attempt at `level`, or at that of its session.
    pub fn new(id: i64, level: Option<Level>, session_level: Level) -> Self {
        Attempt {
            id,
            level: level.unwrap_or(session_level),
            session_level,
            began: 0,
            effects: Vec::new(),
            counted: Vec::new(),
            increments: 0,
            takes: 0,
            refusals: 0,
            fills: 0,
            comments: Vec::new(),
            uncommented: Vec::new(),
            snapshot: None,
            seen: Vec::new(),
            commits: None,
        }
    }

    /// Notes that a statement has added `amount`.
    fn expect(&mut self, article: i64, kind: Kind, on: u8, amount: i64) {
        // A fold moves counts between the days that it folds, which have one cell.
        let cell = Cell::new(article, kind, number_of(day(on)));
        self.effects.push((cell, amount));
        let counted = Counted {
            article,
            day: on,
            views: 0,
            tickets: 0,
        };
        match kind {
            Kind::Views => self.counted.push(Counted {
                views: amount,
                ..counted
            }),
            Kind::Tickets => self.counted.push(Counted {
                tickets: amount,
                ..counted
            }),
            _ => {}
        }
    }

    /// Notes an increment of a counter.
    fn expect_increment(&mut self, article: i64, kind: Kind, on: u8, amount: i64) {
        self.expect(article, kind, on, amount);
        self.increments += 1;
    }

    pub fn steps(&mut self, steps: &[Step], of: &Writer, conn: &mut Conn) -> Result<(), Stop> {
        for step in steps {
            self.step(step, of, conn)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, of: &Writer, conn: &mut Conn) -> Result<(), Stop> {
        let run = of.run;
        let settings = &of.run.settings;
        let is_left_out = match step {
            // A like is a row that other transactions can write too.
            Step::Like { .. } | Step::Unlike { .. } | Step::Read(_) => settings.only_counts,
            // `Thread::one` runs some of them, each in a transaction of its own.
            Step::Set { .. } => settings.only_counts || of.avoids_conflicts_at_commit(),
            // The nodes of a cluster count in partitions, in which nothing can be taken.
            Step::Take { .. } | Step::PutBack { .. } | Step::SetStock { .. } => {
                settings.only_counts || of.nodes > 1
            }
            // The rows of `counted` do not have it, and nothing else is left of a killed client.
            // Two nodes that apply later would both correct it, and so correct it twice.
            Step::Miscount { .. } => run.is_client() || settings.applies_later,
            Step::Savepoint { fails, .. } => *fails && settings.keep_savepoints,
            _ => false,
        };
        if is_left_out {
            return Ok(());
        }
        match *step {
            Step::Count((article, on, amount)) => {
                let count = increment(views).of(article).by(amount).on(day(on));
                // With this fault, `planted::count_before` has run it.
                if !run.has(Fault::CountOutsideOfTheTransaction) {
                    count.execute(conn)?;
                }
                self.expect_increment(article, Kind::Views, on, amount);
            }
            Step::CountMany(on, ref amounts) => {
                let many = increment(views).on(day(on));
                many.of_many(amounts.iter().copied()).execute(conn)?;
                for &(article, amount) in amounts {
                    self.expect_increment(article, Kind::Views, on, amount);
                }
            }
            Step::CountLast(ref amounts) => {
                let counts = amounts.iter().map(|&(article, on, amount)| {
                    let count = increment(views).of(article).by(amount);
                    count.on(day(on))
                });
                // In a transaction, `counting_transaction` sets a savepoint.
                if settings.no_savepoints {
                    for count in counts {
                        count.execute(conn)?;
                    }
                } else {
                    counting_transaction(conn, |tx| {
                        counts.for_each(|count| tx.count(count));
                        QueryResult::Ok(())
                    })?;
                }
                for &(article, on, amount) in amounts {
                    self.expect_increment(article, Kind::Views, on, amount);
                }
            }
            Step::Comment((article, on, amount)) => {
                let id = run.next_id();
                diesel::insert_into(tables::comments::table)
                    .values((
                        tables::comments::id.eq(id),
                        tables::comments::article_id.eq(article),
                        tables::comments::day.eq(day(on)),
                    ))
                    .execute(conn)?;
                let count = increment((views, comments)).of(article);
                count.by((amount, 1)).on(day(on)).execute(conn)?;
                self.expect_increment(article, Kind::Views, on, amount);
                self.expect_increment(article, Kind::Comments, on, 1);
                self.expect(article, Kind::CommentRows, on, 1);
                self.comments.push(Comment {
                    id,
                    article,
                    day: on,
                });
            }
            Step::Uncomment => {
                let mut own = of.comments.iter();
                let Some(comment) = own.find(|own| !self.uncommented.contains(&own.id)) else {
                    return Ok(());
                };
                let row = tables::comments::table.find(comment.id);
                let rows = diesel::delete(row).execute(conn)?;
                if rows == 1 {
                    let count = increment(comments).of(comment.article).by(-1);
                    count.on(day(comment.day)).execute(conn)?;
                    self.expect_increment(comment.article, Kind::Comments, comment.day, -1);
                    self.expect(comment.article, Kind::CommentRows, comment.day, -1);
                    self.uncommented.push(comment.id);
                }
            }
            Step::Like { article, user } => {
                let rows = super::like(article, of.user(user), conn)?;
                self.liked(article, rows as i64);
            }
            Step::Unlike { article, user } => {
                let like = article_likes::table.find((article, of.user(user)));
                let rows = diesel::delete(like).execute(conn)?;
                self.liked(article, -(rows as i64));
            }
            Step::Set { article, to } => {
                let from = self.lock_from();
                let before = set_counter(views).of(article).to(to).execute(conn)?;
                let value = Value::sum(Cell::of(article, Kind::Views), before);
                self.see(from, vec![value]);
                self.expect(article, Kind::Views, TODAY, to - before);
            }
            Step::Take { article, units } => {
                let from = self.refusal_from();
                let is_taken = planted::take_tickets(article, units, run.settings.fault, conn)?;
                if is_taken {
                    self.expect(article, Kind::Tickets, NO_DAY, -units);
                    self.takes += 1;
                } else {
                    self.refusals += 1;
                    if self.sees_a_mixture_of_tickets(article) {
                        run.tally.not_checked.fetch_add(1, Relaxed);
                    } else {
                        // Fewer units were left than it wanted, at some moment from then on.
                        let left = Value::sum(Cell::of(article, Kind::Tickets), units - 1);
                        let left = Value {
                            at_most: true,
                            ..left
                        };
                        self.see(from, vec![left]);
                    }
                }
                // It can have read what is left before it locked, which takes the snapshot. Its own
                // effect can then be later, but no `Read` adds up tickets.
                self.snapshot.get_or_insert(self.effects.len());
            }
            Step::PutBack { article, units } => {
                put_back(remaining).of(article).by(units).execute(conn)?;
                self.expect(article, Kind::Tickets, NO_DAY, units);
            }
            Step::SetStock { article, to } => {
                let from = self.lock_from();
                let before = set_counter(remaining).of(article).to(to).execute(conn)?;
                let value = Value::sum(Cell::of(article, Kind::Tickets), before);
                self.see(from, vec![value]);
                self.expect(article, Kind::Tickets, NO_DAY, to - before);
                self.fills += u64::from(before == 0);
            }
            Step::Miscount { article, amount } => {
                let count = increment(comments).of(article).by(amount);
                count.execute(conn)?;
                self.expect_increment(article, Kind::Comments, TODAY, amount);
            }
            Step::Read(read) => {
                if self.has_an_older_snapshot() {
                    run.tally.not_checked.fetch_add(1, Relaxed);
                    return Ok(());
                }
                let from = self.snapshot_from();
                let values = read_values(read, conn)?;
                self.see(from, values);
                self.snapshot.get_or_insert(self.effects.len());
            }
            Step::Savepoint { ref steps, .. } if settings.no_savepoints => {
                self.steps(steps, of, conn)?;
            }
            Step::Savepoint { ref steps, fails } => {
                let before = self.clone();
                let result = conn.transaction(|conn| {
                    self.steps(steps, of, conn)?;
                    if fails { Err(Stop::Planned) } else { Ok(()) }
                });
                match result {
                    Err(Stop::Planned) if fails => {
                        // The savepoint is rolled back, and what was read in it stays true. The
                        // snapshot that a query in it took stays that of the transaction.
                        let effects = before.effects.len();
                        *self = Attempt {
                            snapshot: self.snapshot.map(|taken| taken.min(effects)),
                            seen: std::mem::take(&mut self.seen),
                            ..before
                        };
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
            self.expect(article, Kind::LikeRows, NO_DAY, rows);
            self.expect_increment(article, Kind::Likes, NO_DAY, rows);
        }
    }

    /// The earliest time of the snapshot that a query of this transaction sees.
    fn snapshot_from(&self) -> Time {
        match self.level {
            // Each statement sees a new one.
            Level::ReadCommitted => now(),
            Level::RepeatableRead | Level::Serializable => self.began,
        }
    }

    /// The earliest time of what a statement sees that locks rows. On MySQL and MariaDB, it sees
    /// the rows as they are now.
    fn lock_from(&self) -> Time {
        if IS_MYSQL {
            now()
        } else {
            self.snapshot_from()
        }
    }

    /// Whether a take can be refused by the snapshot of a transaction on MySQL and MariaDB. The
    /// library asks for the level of the session: if only the transaction is above READ COMMITTED,
    /// `take` reads what is left without a lock.
    fn is_refused_by_a_snapshot(&self) -> bool {
        let is_above = |level| level != Level::ReadCommitted;
        IS_MYSQL && is_above(self.level) && !is_above(self.session_level)
    }

    /// The earliest time of what a take that is refused has seen.
    fn refusal_from(&self) -> Time {
        if self.is_refused_by_a_snapshot() {
            self.snapshot_from()
        } else {
            self.lock_from()
        }
    }

    /// Whether a take would be refused by a sum of rows of different times: those that this
    /// transaction has written, as they are now, and the others, as they were in its snapshot.
    fn sees_a_mixture_of_tickets(&self, article: i64) -> bool {
        let is_of_stock = |cell: &Cell| cell.article() == article && cell.kind() == Kind::Tickets;
        let has_written = self.effects.iter().any(|(cell, _)| is_of_stock(cell));
        self.is_refused_by_a_snapshot() && has_written
    }

    /// On MySQL and MariaDB, a transaction that has read and then written sees the rows that it
    /// wrote as they are now, and the others as they were when it read. At no time was a sum of
    /// both the right one.
    fn has_an_older_snapshot(&self) -> bool {
        let is_older = |effects| effects < self.effects.len();
        let repeats = self.level == Level::RepeatableRead;
        IS_MYSQL && repeats && self.snapshot.is_some_and(is_older)
    }

    /// Notes values that were read in a snapshot that was not taken before `from`.
    fn see(&mut self, from: Time, values: Vec<Value>) {
        if values.is_empty() {
            return; // No row was found, or only days that are checked in the totals.
        }
        self.seen.push(Seen {
            own: self.effects.clone(),
            ..Seen::since(from, values)
        });
    }
}

/// Runs `work` in a transaction of this isolation level, or of that of the session.
pub fn transaction<T>(
    conn: &mut Conn,
    level: Option<Level>,
    work: impl FnOnce(&mut Conn) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let set = level.map(|level| format!("SET TRANSACTION ISOLATION LEVEL {level}"));
    let set = set.unwrap_or_default();
    // MySQL and MariaDB set the level of the next transaction, and PostgreSQL that of this one.
    if IS_MYSQL && !set.is_empty() {
        conn.batch_execute(&set)?;
    }
    super::write(conn, |conn| {
        if !IS_MYSQL && !set.is_empty() {
            conn.batch_execute(&set)?;
        }
        work(conn)
    })
}

/// Inserts the rows of `counted`, which say later whether this transaction has committed, and what
/// it has counted. Counts the same views once more, by label.
pub fn write_counted(id: i64, counts: &[Counted], conn: &mut Conn) -> QueryResult<()> {
    // A transaction that has counted nothing has a row too.
    let mut sums = BTreeMap::from([((1, TODAY), [0, 0])]);
    for count in counts {
        let [viewed, units] = sums.entry((count.article, count.day)).or_default();
        *viewed += count.views;
        *units += count.tickets;
    }
    for (&(article, number), &[viewed, _]) in &sums {
        let label = (article, tables::label_of(number));
        let count = increment(given).on(day(number));
        count.of_many([(label, viewed)]).execute(conn)?;
    }
    for ((article, number), [viewed, units]) in sums {
        let row = (
            counted::transaction_id.eq(id),
            counted::article_id.eq(article),
            counted::day.eq(day(number)),
            counted::views.eq(viewed),
            counted::tickets.eq(units),
        );
        let insert = diesel::insert_into(counted::table).values(row);
        insert.execute(conn)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An attempt that began at the time 0, before [`now`].
    fn attempt(level: Option<Level>, session_level: Level) -> Attempt {
        Attempt::new(1, level, session_level)
    }

    #[test]
    fn a_session_above_read_committed_has_one_snapshot_in_a_transaction() {
        for session in [Level::RepeatableRead, Level::Serializable] {
            assert_eq!(attempt(None, session).snapshot_from(), 0);
            let lower = attempt(Some(Level::ReadCommitted), session);
            assert!(lower.snapshot_from() > 0);
        }
        assert!(attempt(None, Level::ReadCommitted).snapshot_from() > 0);
        let higher = attempt(Some(Level::RepeatableRead), Level::ReadCommitted);
        assert_eq!(higher.snapshot_from(), 0);
    }

    #[test]
    fn a_refused_take_has_seen_the_snapshot_if_only_the_transaction_has_one() {
        let raised = attempt(Some(Level::RepeatableRead), Level::ReadCommitted);
        assert_eq!(raised.refusal_from(), 0);
        assert!(attempt(None, Level::ReadCommitted).refusal_from() > 0);
        let of_session = attempt(None, Level::RepeatableRead);
        assert_eq!(of_session.refusal_from() > 0, IS_MYSQL);
    }

    #[test]
    fn a_refused_take_is_not_checked_if_own_rows_are_newer_than_the_snapshot() {
        let mut raised = attempt(Some(Level::RepeatableRead), Level::ReadCommitted);
        assert!(!raised.sees_a_mixture_of_tickets(1));
        raised.expect(2, Kind::Tickets, NO_DAY, 5);
        raised.expect(1, Kind::Views, TODAY, 5);
        assert!(!raised.sees_a_mixture_of_tickets(1));
        raised.expect(1, Kind::Tickets, NO_DAY, 5);
        assert_eq!(raised.sees_a_mixture_of_tickets(1), IS_MYSQL);
    }
}
