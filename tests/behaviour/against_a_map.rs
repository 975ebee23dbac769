//! The library against a plain map: operations in any order do to the tables what they do to a map,
//! and return what they have to.
//!
//! A failure prints the shortest steps that fail, and a seed: `PROPTEST_RNG_SEED=… cargo test
//! against_a_map` runs the same cases again. `PROPTEST_CASES=…` runs another number of cases. Nothing
//! is written to a file.

use std::collections::BTreeMap;
use std::{cell, fmt};

use chrono::NaiveDate;
use diesel::connection::{
    AnsiTransactionManager as Transactions, SimpleConnection, TransactionManager,
};
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::Period;
use diesel_counters_tests::map::{Counts, Fault, Map, Place, Returned, Rows};
use diesel_counters_tests::operations::{Operation, Run};
use diesel_counters_tests::schema::articles;
use diesel_counters_tests::tables::{self, Entity, Table};
use diesel_counters_tests::values::{self, ENTITIES};
use diesel_migrations::MigrationHarness;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError, TestRunner};

use super::day;
use crate::{CASED, Conn, HAS_SLOTS, IS_MYSQL, REFERENCE, TestDatabase, count_in_slot};

#[test]
fn keys_that_are_numbers_are_counted_as_in_a_map() {
    holds(Table::Articles);
}

#[test]
fn keys_that_are_texts_are_counted_as_in_a_map() {
    holds(Table::Pages);
}

#[test]
fn keys_of_two_columns_are_counted_as_in_a_map() {
    holds(|_| Table::LABELS);
}

#[derive(Debug, Clone)]
enum Step {
    /// On the table that counts by this period.
    Run(Period, Operation),
    /// A row from which the comments are recounted.
    Comment(Entity, NaiveDate, i64),
    /// The connection counts in this slot from now on.
    CountIn(i16),
    Transaction {
        steps: Vec<Step>,
        commits: bool,
    },
}

/// The steps of a case.
#[derive(Clone)]
struct Steps(Vec<Step>);

// A step a line, as proptest would print one on fifty.
impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| write!(f, "\n  {step:?}"))
    }
}

/// Mostly simple ones, and sometimes a transaction of some, which can have savepoints.
fn steps() -> impl Strategy<Value = Steps> {
    let savepoint = prop_oneof![12 => simple_step(), 1 => transaction(simple_step())];
    let step = prop_oneof![16 => simple_step(), 1 => transaction(savepoint)];
    vec(step, 1..40).prop_map(Steps)
}

fn transaction(of: impl Strategy<Value = Step>) -> impl Strategy<Value = Step> {
    let steps = (vec(of, 0..12), any::<bool>());
    steps.prop_map(|(steps, commits)| Step::Transaction { steps, commits })
}

fn simple_step() -> impl Strategy<Value = Step> {
    let period = prop_oneof![
        3 => Just(Period::Day),
        1 => Just(Period::Week),
        1 => Just(Period::Month),
        1 => Just(Period::Total),
    ];
    let comment = (values::entity(), values::a_storable_day(), values::amount());
    prop_oneof![
        20 => (period, Operation::random()).prop_map(|(period, run)| Step::Run(period, run)),
        1 => comment.prop_map(|(of, on, number)| Step::Comment(of, on, number)),
        1 => prop::sample::select(vec![1, 8, 32]).prop_map(Step::CountIn),
    ]
}

/// Runs the cases on these tables, which are empty before each case.
fn holds(table: fn(Period) -> Table) {
    tables::set_today(day(2026, 3, 4)); // A Wednesday.
    let database = TestDatabase::create();
    let conn = &mut database.connect();
    create_tables(conn);

    let mut config = ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 10_000,
        ..ProptestConfig::default()
    };
    if std::env::var("PROPTEST_CASES").is_err() {
        config.cases = 48;
    }
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => rand::random(),
    };
    config.rng_seed = RngSeed::Fixed(seed);
    let conn = cell::RefCell::new(conn);
    let result = TestRunner::new(config).run(&steps(), |steps| {
        let conn = &mut **conn.borrow_mut();
        let mut session = Session::new(table, conn);
        let ran = session.run(&steps.0);
        ran.map(drop).map_err(TestCaseError::fail)
    });
    if let Err(error) = result {
        panic!("PROPTEST_RNG_SEED={seed}\n{error}");
    }
}

/// Creates the tables, with a row of each parent table for each entity.
fn create_tables(conn: &mut Conn) {
    conn.batch_execute(&tables::create("", CASED)).unwrap();
    conn.run_pending_migrations(REFERENCE).unwrap();
    for of in ENTITIES {
        use tables::{labels::labels, pages::pages};

        let article = diesel::insert_into(articles::table).values(articles::id.eq(of.number));
        article.execute(conn).unwrap();
        let label = (labels::article_id.eq(of.number), labels::label.eq(of.text));
        let label = diesel::insert_into(labels::table).values(label);
        label.execute(conn).unwrap();
        let page = diesel::insert_into(pages::table).values(pages::path.eq(of.text));
        page.execute(conn).unwrap();
    }
}

struct Session<'c> {
    table: fn(Period) -> Table,
    conn: &'c mut Conn,
    map: Map,
    rows: Rows,
    in_transaction: bool,
}

impl<'c> Session<'c> {
    fn new(table: fn(Period) -> Table, conn: &'c mut Conn) -> Self {
        let empty =
            "DELETE FROM article_counters; DELETE FROM label_counters; DELETE FROM page_counters;
                     DELETE FROM tickets; DELETE FROM comments; UPDATE articles SET total_views = 0;
                     UPDATE labels SET total_views = 0; UPDATE pages SET total_views = 0";
        conn.batch_execute(empty).unwrap();
        let map = Map {
            entities: ENTITIES.to_vec(),
            ..Map::default()
        };
        Session {
            table,
            conn,
            map,
            rows: Rows::new(),
            in_transaction: false,
        }
    }

    /// Whether all steps succeeded. In a transaction, it ends at the first that fails. The error says
    /// what was not as the map has it.
    fn run(&mut self, steps: &[Step]) -> Result<bool, String> {
        for step in steps {
            let succeeded = match step {
                Step::Run(period, operation) => self.operation(*period, operation)?,
                Step::Comment(of, on, number) => {
                    self.comment(*of, *on, *number);
                    true
                }
                Step::CountIn(slot) => {
                    count_in_slot(*slot, self.conn);
                    true
                }
                Step::Transaction { steps, commits } => self.transaction(steps, *commits)?,
            };
            if !succeeded && self.in_transaction {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn operation(&mut self, period: Period, operation: &Operation) -> Result<bool, String> {
        let table = (self.table)(period);
        let operation = match operation.clone() {
            Operation::CounterSeries(series) => series.shortened(&self.map).into(),
            operation => operation,
        };
        let place = Place {
            table,
            rows: &self.rows,
            in_transaction: self.in_transaction,
            is_mysql: IS_MYSQL,
        };
        let mut map = self.map.clone();
        let expected = operation.apply(&mut map, place);
        let got = operation.run(table, self.conn);
        let with_operation = |is| format!("{is}\n{operation:?} on {table:?}");
        if !is(&expected, &got) {
            let is = format!("got: {got:?}\nexpected: {expected:?}");
            return Err(with_operation(is));
        }
        if got.is_ok() {
            self.map = map;
        }
        // In a transaction that failed, PostgreSQL reads nothing.
        if got.is_ok() || !self.in_transaction {
            self.compare().map_err(with_operation)?;
        }
        Ok(got.is_ok())
    }

    fn comment(&mut self, of: Entity, on: NaiveDate, number: i64) {
        use tables::comments;

        let rows: i64 = comments::table.count().get_result(self.conn).unwrap();
        let comment = (
            comments::id.eq(rows),
            comments::article_id.eq(of.number),
            comments::label.eq(of.text),
            comments::day.eq(on),
            comments::number.eq(number),
        );
        let insert = diesel::insert_into(comments::table).values(comment);
        insert.execute(self.conn).unwrap();
        self.map.comments.push((of, on, number));
    }

    fn transaction(&mut self, steps: &[Step], commits: bool) -> Result<bool, String> {
        let (map, was_in_transaction) = (self.map.clone(), self.in_transaction);
        self.in_transaction = true;
        Transactions::begin_transaction(self.conn).unwrap();
        let ran = self.run(steps);
        let committed = commits && ran.as_ref() == Ok(&true);
        if committed {
            Transactions::commit_transaction(self.conn).unwrap();
        } else {
            Transactions::rollback_transaction(self.conn).unwrap();
        }
        self.in_transaction = was_in_transaction;
        let succeeded = ran?;
        if !committed {
            self.map = map;
        }
        let ended = |is| format!("{is}\ncommitted: {committed}");
        self.compare().map_err(ended)?;
        Ok(succeeded || !commits)
    }

    fn compare(&mut self) -> Result<(), String> {
        let rows = rows((self.table)(Period::Day), self.conn);
        let mut counts = Counts::new();
        for (&(of, day, slot), amounts) in &rows {
            if !(0..=if HAS_SLOTS { 64 } else { 0 }).contains(&slot) {
                return Err(format!("a row in slot {slot}"));
            }
            for (counter, n) in amounts.iter().enumerate() {
                *counts.entry((of, day, counter)).or_default() += n;
            }
        }
        let totals = totals((self.table)(Period::Day), self.conn);
        let stored = (without_zeros(&counts), totals, tickets(self.conn));
        let expected = (
            without_zeros(&self.map.counts),
            without_zeros(&self.map.totals),
            without_zeros(&self.map.tickets),
        );
        if stored != expected {
            return Err(format!("stored: {stored:?}\nexpected: {expected:?}"));
        }
        // With the rows of zeros.
        self.map.counts = counts;
        self.rows = rows;
        Ok(())
    }
}

fn without_zeros<K: Ord + Clone>(counts: &BTreeMap<K, i64>) -> BTreeMap<K, i64> {
    let counts = counts.iter().filter(|(_, n)| **n != 0);
    counts.map(|(key, n)| (key.clone(), *n)).collect()
}

fn entity(is: impl Fn(Entity) -> bool) -> Entity {
    let mut entities = ENTITIES.into_iter();
    entities.find(|of| is(*of)).expect("a key of the test")
}

/// Reads all rows by Diesel alone.
fn rows(table: Table, conn: &mut Conn) -> Rows {
    macro_rules! rows {
        ($keys:ident, $table:ident, ($($key:ident),*)) => {{
            use tables::$keys::daily::$table as of;

            let key = ($(of::$key),*);
            let rows = of::table.select((key, of::day, of::slot, of::views, of::comments));
            let rows: Vec<(tables::$keys::Key, NaiveDate, i16, i64, i64)> = rows.load(conn).unwrap();
            let rows = rows.into_iter().map(|(key, day, slot, n, m)| {
                let of = entity(|of| tables::$keys::key(of) == key);
                ((of, day, slot), [n, m])
            });
            rows.collect()
        }};
    }
    match table {
        Table::Labels(_) => rows!(labels, label_counters, (article_id, label)),
        Table::Pages(_) => rows!(pages, page_counters, (path)),
        _ => rows!(articles, article_counters, (article_id)),
    }
}

/// Reads the materialized totals, without those that are 0.
fn totals(table: Table, conn: &mut Conn) -> BTreeMap<Entity, i64> {
    macro_rules! totals {
        ($keys:ident) => {{
            use tables::$keys::{parent_key, parents, total_views};

            let totals = parents.select(total_views).order(parent_key);
            totals.load(conn).unwrap()
        }};
    }
    let totals: Vec<i64> = match table {
        Table::Labels(_) => totals!(labels),
        Table::Pages(_) => totals!(pages),
        _ => totals!(articles),
    };
    without_zeros(&ENTITIES.into_iter().zip(totals).collect())
}

fn tickets(conn: &mut Conn) -> BTreeMap<Entity, i64> {
    use tables::tickets::tickets;

    let rows = tickets::table.select((tickets::article_id, tickets::remaining));
    let mut left = BTreeMap::new();
    for (key, n) in rows.load::<(i64, i64)>(conn).unwrap() {
        *left.entry(entity(|of| of.number == key)).or_default() += n;
    }
    without_zeros(&left)
}

/// Whether it returned what is expected, or failed as expected.
fn is(expected: &Result<Returned, Fault>, got: &QueryResult<Returned>) -> bool {
    match (expected, got) {
        (Ok(expected), Ok(got)) => expected == got,
        (Err(expected), Err(error)) => fault(error) == Some(*expected),
        _ => false,
    }
}

fn fault(error: &Error) -> Option<Fault> {
    match error {
        Error::SerializationError(_) => Some(Fault::NoSuchDay),
        Error::QueryBuilderError(_) | Error::AlreadyInTransaction => Some(Fault::Refused),
        _ => None,
    }
}
