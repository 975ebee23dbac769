//! The library against a plain map: operations in any order, on counters of several models, do
//! what they would do to a `BTreeMap`, and each read returns what the map has.
//!
//! A failure prints the shortest operations that fail, and a seed:
//! `PROPTEST_RNG_SEED=… cargo test against_a_map` runs the same cases again. `PROPTEST_CASES=…`
//! runs another number of cases. Nothing is written to a file.

mod operations;
mod plain_map;

use std::collections::BTreeMap;

use chrono::NaiveDate;
use diesel::connection::{AnsiTransactionManager as Transactions, TransactionManager};
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::Period;
use proptest::prelude::ProptestConfig;
use proptest::test_runner::{RngSeed, TestCaseError, TestRunner};

use self::operations::{Operation, Read, Step};
use self::plain_map::{Answer, Counts, Fault, Map, Place, Rows};
use crate::Conn;

/// Runs the cases on the tables of `library`, which are empty before each case.
fn holds<L: Library>() {
    let database = crate::TestDatabase::create();
    let conn = &mut database.connect();
    L::create_tables(conn).unwrap();

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
    let database = std::cell::RefCell::new(conn);
    let result = TestRunner::new(config).run(&operations::steps(), |steps| {
        let conn = &mut **database.borrow_mut();
        L::empty_tables(conn).unwrap();
        let mut session = Session::<L>::new(conn);
        let ran = session.run(&steps.0);
        ran.map(drop).map_err(TestCaseError::fail)
    });
    if let Err(error) = result {
        panic!("PROPTEST_RNG_SEED={seed}\n{error}");
    }
}

/// The library's calls on the tables of a test.
trait Library {
    fn create_tables(conn: &mut Conn) -> QueryResult<()>;
    fn empty_tables(conn: &mut Conn) -> QueryResult<()>;
    fn run(operation: &Operation, of: Period, conn: &mut Conn) -> QueryResult<Answer>;
    fn read(read: &Read, of: Period, conn: &mut Conn) -> QueryResult<Answer>;
    /// All rows, and the materialized totals, by Diesel alone.
    fn rows(conn: &mut Conn) -> QueryResult<(Rows, Vec<i64>)>;
}

struct Session<'c, L> {
    conn: &'c mut Conn,
    map: Map,
    rows: Rows,
    in_transaction: bool,
    library: std::marker::PhantomData<L>,
}

impl<'c, L: Library> Session<'c, L> {
    fn new(conn: &'c mut Conn) -> Self {
        Session {
            conn,
            map: Map::default(),
            rows: Rows::new(),
            in_transaction: false,
            library: std::marker::PhantomData,
        }
    }

    /// Whether all operations succeeded. In a transaction, it ends at the first that fails. The
    /// error says what was not as the map has it.
    fn run(&mut self, steps: &[Step]) -> Result<bool, String> {
        for step in steps {
            let succeeded = match &step.operation {
                Operation::Transaction { steps, commits } => self.transaction(steps, *commits)?,
                operation => self.operation(operation, step.period)?,
            };
            if !succeeded && self.in_transaction {
                return Ok(false);
            }
            if !self.read(&step.read, step.period)? && self.in_transaction {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn operation(&mut self, operation: &Operation, period: Period) -> Result<bool, String> {
        let place = Place {
            period,
            rows: &self.rows,
            in_transaction: self.in_transaction,
        };
        let expected = self.map.after(operation, place);
        let answer = L::run(operation, period, self.conn);
        let with_operation = |is| format!("{is}\n{operation:?}");
        let expected_answer = expected.as_ref().map(|(answer, _)| answer);
        let succeeded = is(expected_answer, &answer).map_err(with_operation)?;
        if let Ok((_, map)) = expected {
            self.map = map;
        }
        // In a transaction that failed, PostgreSQL reads nothing.
        if succeeded || !self.in_transaction {
            self.compare().map_err(with_operation)?;
        }
        Ok(succeeded)
    }

    fn transaction(&mut self, steps: &[Step], commits: bool) -> Result<bool, String> {
        let (map, was_in_transaction) = (self.map.clone(), self.in_transaction);
        self.in_transaction = true;
        Transactions::begin_transaction(self.conn).unwrap();
        let ran = self.run(steps);
        let committed = commits && ran.as_ref() == Ok(&true);
        match committed {
            true => Transactions::commit_transaction(self.conn).unwrap(),
            false => Transactions::rollback_transaction(self.conn).unwrap(),
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
        let (rows, totals) = L::rows(self.conn).map_err(|error| error.to_string())?;
        let mut counts = Counts::new();
        for (&(of, day, slot), amounts) in &rows {
            if !(0..=if crate::HAS_SLOTS { 32 } else { 0 }).contains(&slot) {
                return Err(format!("a row in slot {slot}"));
            }
            for (counter, n) in amounts.iter().enumerate() {
                *counts.entry((of, day, counter)).or_default() += n;
            }
        }
        let without_zeros = |counts: &Counts| {
            BTreeMap::from_iter(counts.clone().into_iter().filter(|(_, n)| *n != 0))
        };
        let stored = (without_zeros(&counts), totals);
        let expected = (without_zeros(&self.map.counts), self.map.totals.to_vec());
        if stored != expected {
            return Err(format!("stored: {stored:?}\nexpected: {expected:?}"));
        }
        // With the rows of zeros.
        self.map.counts = counts;
        self.rows = rows;
        Ok(())
    }

    fn read(&mut self, read: &Read, period: Period) -> Result<bool, String> {
        let read = self.shortened(read);
        let expected = self.map.read(&read, period);
        let answer = L::read(&read, period, self.conn);
        is(expected.as_ref(), &answer).map_err(|is| format!("{is}\n{read:?} by {period:?}"))
    }

    /// By the year, if it were a series of thousands of years.
    fn shortened(&self, read: &Read) -> Read {
        let mut read = read.clone();
        let (of, per, days) = match &mut read {
            Read::Series(of, per, days) => (vec![*of], per, *days),
            Read::SeriesOfMany(of, per, days) => (of.clone(), per, *days),
            _ => return read,
        };
        let months = self.map.bars(&of, Period::Month, days).len();
        if months > 1_000 {
            *per = Period::Year;
        }
        read
    }
}

/// Whether it succeeded, if it is as expected.
fn is(expected: Result<&Answer, &Fault>, got: &QueryResult<Answer>) -> Result<bool, String> {
    let is_expected = match (expected, got) {
        (Ok(expected), Ok(got)) => expected == got,
        (Err(expected), Err(error)) => fault(error).is_some_and(|fault| fault == *expected),
        _ => false,
    };
    match is_expected {
        true => Ok(got.is_ok()),
        false => Err(format!("got: {got:?}\nexpected: {expected:?}")),
    }
}

fn fault(error: &Error) -> Option<Fault> {
    match error {
        Error::SerializationError(_) => Some(Fault::NoSuchDay),
        Error::QueryBuilderError(_) | Error::AlreadyInTransaction => Some(Fault::Refused),
        _ => None,
    }
}

/// Calls `$body` with `Model` as the model that counts by the period, and its counters.
macro_rules! of_model {
    ($period:expr, $body:expr) => {
        match $period {
            Period::Week => {
                use self::weekly::*;
                $body
            }
            Period::Month => {
                use self::monthly::*;
                $body
            }
            Period::Total => {
                use self::timeless::*;
                $body
            }
            _ => {
                use self::daily::*;
                $body
            }
        }
    };
}

/// The tables of a type of keys, the models, and the library's calls. The keys are in the
/// order in which the database sorts them.
macro_rules! keys {
    ($module:ident: $Sql:ident, $Key:ty, $column:expr, $keys:expr) => {
        mod $module {
            use diesel::connection::SimpleConnection;
            use diesel_counters::dsl::{compact, delete_counters, fold, recount, set_counter, total};
            use diesel_counters::prelude::*;
            use diesel_counters::Drift;

            use super::operations::{Amounts, today};
            use super::*;

            diesel::table! {
                things (id) { id -> $Sql, total_views -> BigInt }
            }
            diesel::table! {
                facts (number) { number -> BigInt, thing -> $Sql, day -> Date, n -> BigInt }
            }
            macro_rules! model {
                ($period:ident $settings:tt) => {
                    mod $period {
                        use super::*;

                        diesel_counters_tests::counter_table!(
                            thing_counters (thing -> $Sql) (views, likes) $settings
                        );
                        diesel::allow_tables_to_appear_in_same_query!(things, thing_counters);
                        pub use thing_counters::{likes, views};

                        #[derive(HasCounters)]
                        #[counters(table_name = thing_counters)]
                        pub struct Model {
                            pub id: $Key,
                        }
                    }
                };
            }
            model!(daily { parent = things::id, today = today });
            model!(weekly { parent = things::id, today = today, period = Week });
            model!(monthly { parent = things::id, today = today, period = Month });
            model!(timeless { parent = things::id, today = today, period = Total, slots = 2 });

            fn key(of: usize) -> $Key {
                $keys[of].into()
            }

            fn number_of(key: &$Key) -> Option<usize> {
                $keys.iter().position(|of| of == key)
            }

            fn one(n: i64) -> Answer {
                vec![(None, None, vec![n])]
            }

            fn merged(done: diesel_counters::Compacted) -> Answer {
                assert_eq!(done.left, 0);
                one(done.merged as i64)
            }

            struct Calls;

            #[test]
            fn each_operation_and_each_read_is_as_with_a_map() {
                holds::<Calls>();
            }

            impl Library for Calls {
                fn create_tables(conn: &mut Conn) -> QueryResult<()> {
                    let column = $column;
                    conn.batch_execute(&format!(
                        "CREATE TABLE things (id {column} PRIMARY KEY, total_views BIGINT NOT NULL);
                         CREATE TABLE facts (
                             number BIGINT PRIMARY KEY, thing {column} NOT NULL, day DATE NOT NULL,
                             n BIGINT NOT NULL
                         );
                         CREATE TABLE thing_counters (
                             thing {column} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                             views BIGINT NOT NULL DEFAULT 0, likes BIGINT NOT NULL DEFAULT 0,
                             PRIMARY KEY (thing, day, slot)
                         )"
                    ))?;
                    for of in 0..operations::ENTITIES {
                        diesel::insert_into(things::table)
                            .values((things::id.eq(key(of)), things::total_views.eq(0)))
                            .execute(conn)?;
                    }
                    Ok(())
                }

                fn empty_tables(conn: &mut Conn) -> QueryResult<()> {
                    diesel::delete(daily::thing_counters::table).execute(conn)?;
                    diesel::delete(facts::table).execute(conn)?;
                    diesel::update(things::table).set(things::total_views.eq(0)).execute(conn)?;
                    Ok(())
                }

                fn run(operation: &Operation, of: Period, conn: &mut Conn) -> QueryResult<Answer> {
                    of_model!(of, match operation.clone() {
                        Operation::Count { of, by: [v, l], on, slot } => {
                            let model = Model { id: key(of) };
                            if let Some(slot) = slot {
                                crate::count_in_slot(slot, conn);
                            }
                            let Some(on) = on else {
                                if slot.is_none() {
                                    match (v, l) {
                                        (-1, 0) => model.incr_counter_by(views, -1, conn)?,
                                        (1, 0) => model.incr_counter(views, conn)?,
                                        (v, 0) => model.incr_counter_by(views, v, conn)?,
                                        _ => model.incr_counter_by((views, likes), (v, l), conn)?,
                                    }
                                    return Ok(one(i64::from((v, l) != (0, 0))));
                                }
                                let counted = increment((views, likes)).of(key(of)).by((v, l));
                                return counted.execute(conn).map(|_| one(1));
                            };
                            let counted = if l == 0 {
                                increment(views).of(&model.id).by(v).on(on).execute(conn)
                            } else {
                                let counted = increment((likes, views)).of(&model.id).by((l, v));
                                counted.on(on).execute(conn)
                            };
                            counted.map(|_| one(1))
                        }
                        Operation::CountMany { of, on, slot } => conn.transaction(|conn| {
                            if let Some(slot) = slot {
                                crate::count_in_slot(slot, conn);
                            }
                            let counts = of.into_iter().map(|(of, [v, l])| (key(of), (v, l)));
                            let counts = increment((views, likes)).of_many(counts);
                            let counted = match on {
                                Some(on) => counts.on(on).execute(conn),
                                None => counts.execute(conn),
                            };
                            Ok(one(counted? as i64))
                        }),
                        Operation::Set { of, to: [v, l] } => {
                            let before = set_counter((views, likes)).of(&Model { id: key(of) }).to((v, l)).execute(conn)?;
                            Ok(vec![(None, None, vec![before.0, before.1])])
                        }
                        Operation::AddFact { of, on, n } => {
                            let number: i64 = facts::table.count().get_result(conn)?;
                            let fact = (facts::thing.eq(key(of)), facts::day.eq(on), facts::n.eq(n));
                            let insert = diesel::insert_into(facts::table);
                            let inserted = insert.values((facts::number.eq(number), fact)).execute(conn)?;
                            Ok(one(inserted as i64))
                        }
                        Operation::Recount { of, by_day } => {
                            let by_days = facts::table.select((facts::thing, facts::day, facts::n));
                            let in_all = facts::table.select((facts::thing, facts::n));
                            let drifts: QueryResult<Vec<Drift<$Key>>> = match by_day {
                                true => recount(views, by_days).of(key(of)).execute(conn),
                                false => recount(views, in_all).of(key(of)).execute(conn),
                            };
                            Ok(one(crate::behaviour::added(drifts)?))
                        }
                        Operation::RecountAll { by_day } => {
                            let by_days = facts::table.select((facts::thing, facts::day, facts::n));
                            let in_all = facts::table.select((facts::thing, facts::n));
                            let drifts: Vec<Drift<$Key>> = match by_day {
                                true => recount(views, by_days).execute(conn)?,
                                false => recount(views, in_all).execute(conn)?,
                            };
                            let rows = drifts.into_iter().map(|drift| {
                                (number_of(&drift.entity), drift.day, vec![drift.stored, drift.actual])
                            });
                            Ok(rows.collect())
                        }
                        Operation::Delete(of) => {
                            let model = Model { id: key(of) };
                            let delete = delete_counters(thing_counters::table).of(&model);
                            Ok(one(delete.execute(conn)? as i64))
                        }
                        Operation::DeleteMany(of) => {
                            let keys: Vec<$Key> = of.into_iter().map(key).collect();
                            Ok(one(delete_counters(thing_counters::table).of_many(&keys).execute(conn)? as i64))
                        }
                        Operation::Compact { before, batch } => {
                            let merge = compact(thing_counters::table).before(before).batch(batch);
                            merge.execute(conn).map(merged)
                        }
                        Operation::Fold { per, before, batch } => {
                            let fold = fold(thing_counters::table).per(per);
                            let merge = fold.before(before).batch(batch);
                            merge.execute(conn).map(merged)
                        }
                        Operation::Materialize => {
                            let written = Model::materialize(views, things::total_views).execute(conn)?;
                            Ok(one(written as i64))
                        }
                        Operation::Transaction { .. } => unreachable!(),
                    })
                }

                fn read(read: &Read, of: Period, conn: &mut Conn) -> QueryResult<Answer> {
                    let both = |(v, l): (i64, i64)| vec![v, l];
                    of_model!(of, match read.clone() {
                        Read::Value(of) => {
                            let value = Model { id: key(of) }.counter_value((views, likes), conn)?;
                            Ok(vec![(None, None, both(value))])
                        }
                        Read::ValueOn(of, day) => {
                            let model = Model { id: key(of) };
                            let value = counter_value((views, likes)).of(&model).on(day).get_result(conn)?;
                            Ok(vec![(None, None, both(value))])
                        }
                        Read::ValueBetween(of, days) => {
                            let model = Model { id: key(of) };
                            let l = model.counter_value_between(likes, days, conn)?;
                            let v = model.counter_value_between(views, days, conn)?;
                            Ok(vec![(None, None, vec![v, l])])
                        }
                        Read::ValuesBetween(of, days) => {
                            let models: Vec<_> = of.iter().map(|&of| Model { id: key(of) }).collect();
                            let values =
                                counter_value((views, likes)).between(days).of_many(&models).load(conn)?;
                            assert_eq!(of.len(), values.len());
                            let rows = of.into_iter().zip(values);
                            Ok(rows.map(|(of, value)| (Some(of), None, both(value))).collect())
                        }
                        Read::Series(of, per, days) => {
                            let series = counter_series((views, likes)).of(key(of));
                            let series = series.per(per).between(days).load(conn)?;
                            let bars = series.into_iter();
                            Ok(bars.map(|(day, value)| (Some(of), Some(day), both(value))).collect())
                        }
                        Read::SeriesOfMany(of, per, days) => {
                            let series = counter_series((views, likes)).per(per);
                            let series = series.of_many(of.iter().map(|&of| key(of)));
                            let series = series.between(days).load(conn)?;
                            assert_eq!(of.len(), series.len());
                            let rows = of.into_iter().zip(series).flat_map(|(of, series)| {
                                let bars = series.into_iter();
                                bars.map(move |(day, value)| (Some(of), Some(day), both(value)))
                            });
                            Ok(rows.collect())
                        }
                        Read::Top(n, days) => {
                            let top = ranking(views).between(days).limit(n).load(conn)?.into_iter();
                            Ok(top.map(|(key, n)| (number_of(&key), None, vec![n])).collect())
                        }
                        Read::Totals(above, days) => {
                            let total = total(views).between(days);
                            let rows = things::table.select((things::id, total)).filter(total.gt(above));
                            let rows = rows.order((total.desc(), things::id));
                            let rows = rows.load::<($Key, i64)>(conn)?.into_iter();
                            Ok(rows.map(|(key, n)| (number_of(&key), None, vec![n])).collect())
                        }
                    })
                }

                fn rows(conn: &mut Conn) -> QueryResult<(Rows, Vec<i64>)> {
                    let rows: Vec<($Key, NaiveDate, i16, i64, i64)> =
                        daily::thing_counters::table.load(conn)?;
                    let rows = rows.into_iter().map(|(key, day, slot, v, l)| {
                        let amounts: Amounts = [v, l];
                        ((number_of(&key).expect("a key of the test"), day, slot), amounts)
                    });
                    let totals = things::table.select(things::total_views).order(things::id);
                    Ok((rows.collect(), totals.load(conn)?))
                }
            }
        }
    };
}

keys!(numbers: BigInt, i64, "BIGINT", [i64::MIN, -1, 3, i64::MAX]);
keys!(texts: Text, String, crate::CASED, ["", "a", "a'\\%$1?", "é🦀"]);
