//! One attempt of a transaction: its steps, and what they change and read.

mod snapshot;
mod steps;

use std::collections::BTreeMap;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters_tests::map::{Map, Place, Returned, Rows};
use diesel_counters_tests::operations::{IncrementMany, Operation, Run};

use super::{Conn, IS_MYSQL};
use crate::history::{Level, Step};
use crate::record::{Cell, Kind, NO_DAY, Seen, Time};
use crate::run;
use crate::tables::{TODAY, Table, counted, counted_number, day, entity, number_of};

/// The thread that runs a transaction.
pub struct Writer<'a> {
    pub run: &'a run::Run,
    /// The comments that its committed transactions have inserted, which it can delete.
    pub comments: Vec<Comment>,
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

    /// Runs an operation that adds to counts or tickets, and notes what it has added.
    fn add(&mut self, operation: impl Into<Operation>, conn: &mut Conn) -> QueryResult<()> {
        let operation = operation.into();
        operation.run(Table::ARTICLES, conn)?;
        self.expect_added(&operation);
        Ok(())
    }

    /// Notes what an operation adds to counts or tickets: what it leaves if there are none.
    fn expect_added(&mut self, operation: &Operation) {
        let place = Place {
            table: Table::ARTICLES,
            rows: &Rows::new(),
            in_transaction: true,
            is_mysql: IS_MYSQL,
        };
        let mut map = Map::default();
        let applied = operation.apply(&mut map, place);
        applied.expect("it can be added to nothing");
        for ((of, on, counter), amount) in map.counts {
            let kind = [Kind::Views, Kind::Comments][counter];
            let on = counted_number(on).expect("a day that is counted on");
            if amount != 0 {
                self.expect_increment(of.number, kind, on, amount);
            }
        }
        for (of, units) in map.tickets {
            self.expect(of.number, Kind::Tickets, NO_DAY, units);
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
        let of = vec![(entity(article, number), [viewed, 0])];
        let on = Some(day(number));
        IncrementMany { of, on }.run(Table::LABELS, conn)?;
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

/// The only number that an operation returned.
pub fn number_in(returned: Returned) -> i64 {
    let (_, _, numbers) = &returned[0];
    numbers[0]
}
