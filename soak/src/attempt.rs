//! One attempt of a transaction: its steps, and what they change and read.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::counting_transaction;
use diesel_counters::dsl::set_counter;
use diesel_counters::prelude::*;

use super::reads::read_values;
use super::thread::Thread;
use super::{Conn, IS_MYSQL, IS_SQLITE};
use crate::fault::Fault;
use crate::history::{Isolation, Step, Views};
use crate::record::{Cell, Kind, Seen, Time, Value, now};
use crate::tables::article_counters::dsl::{comments, views};
use crate::tables::label_counters::dsl::given;
use crate::tables::{self, article_likes, counted, day, number_of};

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

/// One attempt of a transaction.
#[derive(Clone, Default)]
pub struct Attempt {
    pub id: i64,
    pub isolation: Option<Isolation>,
    pub began: Time,
    pub effects: Vec<(Cell, i64)>,
    pub views: Vec<Views>,
    pub increments: u64,
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
    pub fn write_counted(&self, conn: &mut Conn) -> QueryResult<()> {
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

    pub fn steps(&mut self, steps: &[Step], of: &Thread, conn: &mut Conn) -> Result<(), Stop> {
        for step in steps {
            self.step(step, of, conn)?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step, of: &Thread, conn: &mut Conn) -> Result<(), Stop> {
        let (run, settings) = (of.run, &of.run.settings);
        let is_left_out = match step {
            // Without these, transactions in different slots write no row of each other.
            Step::Like(..) | Step::Unlike(..) | Step::Read(_) => settings.only_counts,
            Step::Set(..) => settings.only_counts || of.keeps_apart(),
            // No row says that it was done.
            Step::Miscount(..) => run.is_client(),
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
                    let count = increment(comments).of(article).by(-1).on(day(on));
                    count.execute(conn)?;
                    self.count(article, Kind::Comments, on, -1);
                    let cell = Cell::new(article, Kind::CommentRows, number_of(day(on)));
                    self.effects.push((cell, -1));
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
                let from = match IS_MYSQL {
                    true => now(),
                    false => self.snapshot_from(),
                };
                let before = set_counter(views).of(article).to(to).execute(conn)?;
                let value = Value::sum(Cell::of(article, Kind::Views), before);
                self.see(from, vec![value]);
                self.count(article, Kind::Views, 0, to - before);
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
            for kind in [Kind::LikeRows, Kind::Likes] {
                self.effects.push((Cell::new(article, kind, 0), rows));
            }
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
        let is_older = |effects| effects < self.effects.len();
        let repeats = match self.isolation {
            Some(Isolation::Default | Isolation::RepeatableRead) => IS_MYSQL,
            _ => false,
        };
        repeats && self.snapshot.is_some_and(is_older)
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

/// Inserts the rows by which it is known later whether this transaction has committed, and what it has
/// counted. Counts the same views once more, by label.
pub fn write_counted(
    id: i64,
    views_of: impl IntoIterator<Item = Views>,
    conn: &mut Conn,
) -> QueryResult<()> {
    let mut sums = BTreeMap::from([((1, 0), 0)]);
    for (article, day, amount) in views_of {
        *sums.entry((article, day)).or_default() += amount;
    }
    let rows = sums.iter().map(|(&(article, number), &amount)| {
        (
            counted::transaction_id.eq(id),
            counted::article_id.eq(article),
            counted::day.eq(day(number)),
            counted::views.eq(amount),
        )
    });
    for (&(article, number), &amount) in &sums {
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
