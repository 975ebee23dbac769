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
use super::{Conn, IS_MYSQL, IS_SQLITE, planted};
use crate::fault::Fault;
use crate::history::Step;
use crate::record::{Cell, Kind, Seen, Time, Value, now};
use crate::run::Run;
use crate::tables::article_counters::dsl::{comments, views};
use crate::tables::label_counters::dsl::given;
use crate::tables::tickets::dsl::remaining;
use crate::tables::{self, article_likes, counted, day, number_of};

/// Who runs a transaction: a thread that writes to a node, of so many.
pub struct Writer<'a> {
    pub run: &'a Run,
    pub node: usize,
    pub nodes: usize,
    /// The comments that it has inserted, which it can delete.
    pub comments: Vec<(i64, i64, u8)>,
}

impl Writer<'_> {
    /// Whether it leaves out what makes the nodes of a cluster conflict.
    pub fn keeps_apart(&self) -> bool {
        self.nodes > 1 && !self.run.settings.conflicts
    }

    /// Whether a COMMIT asks the other nodes, which refuse it if they have written the same row,
    /// and what would make them refuse it is left out.
    pub fn asks_nodes(&self) -> bool {
        self.keeps_apart() && !self.run.settings.applies_later
    }

    /// The user with this number. Each node has its own users.
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
    /// As the history says.
    Planned,
    Database(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Database(error)
    }
}

/// An article and a day, with the views that were counted there, and the tickets that were put in.
pub type Counted = ((i64, u8), [i64; 2]);

/// One attempt of a transaction.
#[derive(Clone, Default)]
pub struct Attempt {
    pub id: i64,
    pub level: Option<&'static str>,
    pub began: Time,
    pub effects: Vec<(Cell, i64)>,
    pub counted: Vec<Counted>,
    /// Takes, refusals, and how often it filled a stock that was sold out.
    pub stock: [u64; 3],
    pub comments: Vec<(i64, i64, u8)>,
    /// The comments that it has deleted.
    pub uncommented: Vec<i64>,
    /// How many effects there were when the snapshot was taken.
    pub snapshot: Option<usize>,
    pub seen: Vec<Seen>,
    /// When COMMIT was sent.
    pub commits: Option<Time>,
}

impl Attempt {
    fn count(&mut self, article: i64, kind: Kind, on: u8, amount: i64) {
        let cell = Cell::new(article, kind, number_of(day(on)));
        self.effects.push((cell, amount));
        match kind {
            Kind::Views => self.counted.push(((article, on), [amount, 0])),
            Kind::Tickets => self.counted.push(((article, on), [0, amount])),
            _ => {}
        }
    }

    pub fn increments(&self) -> u64 {
        let counts = [Kind::Views, Kind::Comments, Kind::Likes];
        let effects = self.effects.iter();
        let counted = effects.filter(|(cell, _)| counts.contains(&cell.kind()));
        counted.count() as u64
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
            // Without these, transactions in different slots write no row of each other.
            Step::Like(..) | Step::Unlike(..) | Step::Read(_) => settings.only_counts,
            Step::Set(..) => settings.only_counts || of.asks_nodes(),
            // A stock has no partitions.
            Step::Take(..) | Step::PutBack(..) | Step::SetStock(..) => {
                settings.only_counts || of.nodes > 1
            }
            // No row says that it was done. Two nodes that both correct it would correct it twice.
            Step::Miscount(..) => run.is_client() || settings.applies_later,
            Step::Savepoint { fails, .. } => *fails && settings.keep_savepoints,
            _ => false,
        };
        if is_left_out {
            return Ok(());
        }
        match *step {
            Step::Count((article, on, amount)) => {
                let count = increment(views).of(article).by(amount).on(day(on));
                if !run.has(Fault::CountOutsideOfTheTransaction) {
                    count.execute(conn)?;
                }
                self.count(article, Kind::Views, on, amount);
            }
            Step::CountMany(on, ref amounts) => {
                let many = increment(views).on(day(on));
                many.of_many(amounts.iter().copied()).execute(conn)?;
                for &(article, amount) in amounts {
                    self.count(article, Kind::Views, on, amount);
                }
            }
            Step::CountLast(ref amounts) => {
                let counts = amounts.iter().map(|&(article, on, amount)| {
                    let count = increment(views).of(article).by(amount);
                    count.on(day(on))
                });
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
                    self.count(article, Kind::Views, on, amount);
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
                self.count(article, Kind::Views, on, amount);
                self.count(article, Kind::Comments, on, 1);
                self.count(article, Kind::CommentRows, on, 1);
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
                    let count = increment(comments).of(article).by(-1).on(day(on));
                    count.execute(conn)?;
                    self.count(article, Kind::Comments, on, -1);
                    self.count(article, Kind::CommentRows, on, -1);
                    self.uncommented.push(id);
                }
            }
            Step::Like(article, user) => {
                let user = of.user(user);
                let rows = super::like(article, user, conn)?;
                self.liked(article, rows as i64);
            }
            Step::Unlike(article, user) => {
                let like = article_likes::table.find((article, of.user(user)));
                let rows = diesel::delete(like).execute(conn)?;
                self.liked(article, -(rows as i64));
            }
            Step::Set(article, to) => {
                let from = self.lock_from();
                let before = set_counter(views).of(article).to(to).execute(conn)?;
                let value = Value::sum(Cell::of(article, Kind::Views), before);
                self.see(from, vec![value]);
                self.count(article, Kind::Views, 0, to - before);
            }
            Step::Take(article, units) => {
                let from = self.lock_from();
                let is_taken = planted::take_tickets(article, units, run.settings.fault, conn)?;
                if is_taken {
                    self.count(article, Kind::Tickets, 0, -units);
                } else {
                    // Or it was refused while enough were left that nobody held.
                    let left = Value {
                        at_most: true,
                        ..Value::sum(Cell::of(article, Kind::Tickets), units - 1)
                    };
                    self.see(from, vec![left]);
                }
                // It can have read what is left, before it locked.
                self.snapshot.get_or_insert(self.effects.len());
                self.stock[usize::from(!is_taken)] += 1;
            }
            Step::PutBack(article, units) => {
                put_back(remaining).of(article).by(units).execute(conn)?;
                self.count(article, Kind::Tickets, 0, units);
            }
            Step::SetStock(article, to) => {
                let from = self.lock_from();
                let before = set_counter(remaining).of(article).to(to).execute(conn)?;
                let value = Value::sum(Cell::of(article, Kind::Tickets), before);
                self.see(from, vec![value]);
                self.count(article, Kind::Tickets, 0, to - before);
                self.stock[2] += u64::from(before == 0);
            }
            Step::Miscount(article, amount) => {
                let count = increment(comments).of(article).by(amount);
                count.execute(conn)?;
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
                        // The transaction keeps the snapshot of a query in it.
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
            self.count(article, Kind::LikeRows, 0, rows);
            self.count(article, Kind::Likes, 0, rows);
        }
    }

    /// The earliest time of the snapshot that a query of this transaction sees.
    fn snapshot_from(&self) -> Time {
        let each_statement = match self.level {
            Some(level) => level == "READ COMMITTED",
            None => !IS_MYSQL,
        };
        if each_statement && !IS_SQLITE {
            now()
        } else {
            self.began
        }
    }

    /// The earliest time of what a statement sees that locks rows.
    fn lock_from(&self) -> Time {
        if IS_MYSQL {
            now()
        } else {
            self.snapshot_from()
        }
    }

    /// On MySQL and MariaDB, a transaction that has read and then written sees the rows that it
    /// wrote as they are now, and the others as they were when it read. A sum of both is of no
    /// time.
    fn has_an_older_snapshot(&self) -> bool {
        let is_older = |effects| effects < self.effects.len();
        let repeats = matches!(self.level, None | Some("REPEATABLE READ"));
        IS_MYSQL && repeats && self.snapshot.is_some_and(is_older)
    }

    fn see(&mut self, from: Time, values: Vec<Value>) {
        if values.is_empty() {
            return; // A day that can be folded is checked in the totals alone.
        }
        self.seen.push(Seen {
            own: self.effects.clone(),
            ..Seen::since(from, values)
        });
    }
}

/// Runs `work` in a transaction of this isolation level.
pub fn transaction<T>(
    conn: &mut Conn,
    level: Option<&str>,
    work: impl FnOnce(&mut Conn) -> Result<T, Stop>,
) -> Result<T, Stop> {
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

/// Inserts the rows by which it is known later whether this transaction has committed, and what it
/// has counted. Counts the same views once more, by label.
pub fn write_counted(id: i64, counted_by: &[Counted], conn: &mut Conn) -> QueryResult<()> {
    let mut sums = BTreeMap::from([((1, 0), [0, 0])]);
    for (key, [amount, units]) in counted_by {
        let sums = sums.entry(*key).or_default();
        *sums = [sums[0] + amount, sums[1] + units];
    }
    let rows = sums.iter().map(|(&(article, number), &[amount, units])| {
        (
            counted::transaction_id.eq(id),
            counted::article_id.eq(article),
            counted::day.eq(day(number)),
            counted::views.eq(amount),
            counted::tickets.eq(units),
        )
    });
    for (&(article, number), &[amount, _]) in &sums {
        let label = (article, tables::label_of(number));
        let count = increment(given).on(day(number));
        count.of_many([(label, amount)]).execute(conn)?;
    }
    for row in rows {
        let insert = diesel::insert_into(counted::table).values(row);
        insert.execute(conn)?;
    }
    Ok(())
}
