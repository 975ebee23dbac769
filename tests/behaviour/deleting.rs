//! Removing counters.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use diesel::connection::{InstrumentationEvent, SimpleConnection};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Integer};
use diesel_counters::dsl::{compact, delete_counters, fold, recount};
use diesel_counters::prelude::*;
use diesel_counters::{Slot, is_retryable};
use diesel_counters_tests::models::{Article, Visitor};
use diesel_counters_tests::schema::article_counters::{self, views};
use diesel_counters_tests::schema::user_counters::{self, visits};
use diesel_counters_tests::schema::{articles, odd_name};

use super::{article, day, utc_today};
use crate::{Conn, HAS_SLOTS, IS_MYSQL, TestDatabase};

fn counted() -> (TestDatabase, Conn) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for d in 1..=2 {
        increment(views)
            .on(day(2026, 1, d))
            .of_many((1..=5).map(|id| (id, id)))
            .execute(&mut conn)
            .unwrap();
    }
    (database, conn)
}

fn values(conn: &mut Conn) -> Vec<i64> {
    let ids = [1_i64, 2, 3, 4, 5];
    counter_value(views).of_many(&ids).load(conn).unwrap()
}

#[test]
fn a_models_counters_are_removed() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    assert_eq!(article(2).delete_counters(conn), Ok(1));
    assert_eq!(values(conn), [2, 0, 6, 8, 10]);
    assert_eq!(article(2).delete_counters(conn), Ok(0));
    article(2).incr_counter(views, conn).unwrap();
    assert_eq!(article(2).counter_value(views, conn), Ok(1));
}

/// Nothing is locked where nothing is stored, so another correction can have read the count.
#[test]
fn what_is_counted_while_nothing_is_removed_stays() {
    if !HAS_SLOTS {
        return;
    }
    let remove: [fn(_, &mut Conn) -> _; 2] = [
        |id, conn| {
            delete_counters(article_counters::table)
                .of(id)
                .execute(conn)
        },
        |id, conn| {
            delete_counters(article_counters::table)
                .of_many([id, 2])
                .execute(conn)
        },
    ];
    for remove in remove {
        let database = TestDatabase::with_tables();
        let conn = &mut database.connect();
        increment(views).of(2_i64).execute(conn).unwrap();
        let mut other = Some(database.connect());
        conn.set_instrumentation(move |event: InstrumentationEvent<'_>| match event {
            InstrumentationEvent::FinishQuery { query, .. }
                if query.to_string().starts_with("SELECT ") =>
            {
                // After the first query only.
                if let Some(mut other) = other.take() {
                    let count = increment(views).of(1_i64).by(5);
                    count.execute(&mut other).unwrap();
                }
            }
            _ => {}
        });
        let removed = remove(1_i64, conn).unwrap();
        conn.set_instrumentation(|_: InstrumentationEvent<'_>| {});
        let value = counter_value(views).of_many(&[1_i64, 2]).load(conn);
        assert_eq!(value, Ok(vec![5, 1 - removed as i64]));
    }
}

#[test]
fn counters_are_removed_by_ids() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    assert_eq!(Article::delete_counters_of(&[5, 1, 99, 5], conn), Ok(2));
    assert_eq!(values(conn), [0, 4, 6, 8, 0]);
    let table = article_counters::table;
    assert_eq!(delete_counters(table).of(2_i64).execute(conn), Ok(1));
    let many = delete_counters(table).of_many(&[3_i64, 4]);
    assert_eq!(many.execute(conn), Ok(2));
    assert_eq!(values(conn), [0; 5]);
    assert_eq!(Article::delete_counters_of(&[], conn), Ok(0));
}

#[test]
fn a_model_loses_the_counters_of_all_of_its_tables() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let visitors = [1, 2].map(|id| Visitor { id, name: "" });
    for visitor in &visitors {
        visitor.incr_counter(visits, conn).unwrap();
        visitor.incr_counter(odd_name::views_, conn).unwrap();
    }
    assert_eq!(visitors[0].delete_counters(conn), Ok(2));
    assert_eq!(Visitor::delete_counters_of(&[1, 2], conn), Ok(2));
    for visitor in &visitors {
        assert_eq!(visitor.counter_value(visits, conn), Ok(0));
        assert_eq!(visitor.counter_value(odd_name::views_, conn), Ok(0));
    }
    assert_eq!(values(conn)[0], 2);
}

#[test]
fn the_reference_table_loses_them_with_the_entity() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    diesel::delete(articles::table.find(2))
        .execute(conn)
        .unwrap();
    assert_eq!(values(conn), [2, 0, 6, 8, 10]);
}

/// Runs `other` and the removal of visitor 1's counters at the same time, of a table without
/// a foreign key, in which 10 visits are counted. What is left must be one of `either`.
fn delete_beside(rounds: u32, either: &[i64], other: impl Fn(&mut Conn) -> QueryResult<()> + Sync) {
    let visitor = Visitor { id: 1, name: "" };
    let isolation = IS_MYSQL.then_some("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
    for isolation in [None, isolation] {
        let database = TestDatabase::with_tables();
        let connect = || {
            let mut conn = database.connect();
            if let Some(isolation) = isolation {
                conn.batch_execute(isolation).unwrap();
            }
            conn
        };
        let (conn, elsewhere) = (&mut connect(), &mut connect());
        for round in 1..=rounds {
            for slot in 0..10 {
                let row = increment(visits).of(1).on(day(2026, 1, 1 + slot % 2));
                let slot = Slot::Partition {
                    index: slot as u16,
                    of: 32,
                };
                row.slot(slot).execute(conn).unwrap();
            }
            let both = Barrier::new(2);
            thread::scope(|scope| {
                scope.spawn(|| {
                    both.wait();
                    retrying(|| other(elsewhere));
                });
                both.wait();
                retrying(|| match round % 2 {
                    0 => visitor.delete_counters(conn).map(drop),
                    _ => Visitor::delete_counters_of(&[1, 2], conn).map(drop),
                });
            });
            let left = visitor.counter_value(visits, conn).unwrap();
            assert!(either.contains(&left), "{left} are left in round {round}");
            visitor.delete_counters(conn).unwrap();
            assert_eq!(user_counters::table.count().get_result(conn), Ok(0_i64));
        }
    }
}

fn retrying(mut work: impl FnMut() -> QueryResult<()>) {
    while let Err(error) = work() {
        assert!(is_retryable(&error), "{error}");
    }
}

#[test]
fn a_deletion_beside_a_merge_leaves_no_count() {
    delete_beside(50, &[0], |conn| {
        let all = compact(user_counters::table).before(utc_today());
        all.batch(6).execute(conn).map(drop)
    });
}

#[test]
fn a_deletion_beside_a_fold_leaves_no_count() {
    delete_beside(50, &[0], |conn| {
        let all = fold(user_counters::table).before(utc_today());
        all.batch(6).execute(conn).map(drop)
    });
}

#[test]
fn a_deletion_beside_a_correction_comes_before_it_or_after() {
    delete_beside(30, &[0, 100], |conn| {
        conn.transaction(|conn| {
            Visitor { id: 1, name: "" }.set_counter(visits, 100, conn)?;
            // The deletion should meet it here, and may come whenever it likes.
            thread::sleep(Duration::from_millis(5));
            Ok(())
        })
    });
    delete_beside(30, &[0, 100], |conn| {
        let a_hundred = articles::table
            .filter(articles::id.eq(1))
            .select((1.into_sql::<Integer>(), 100_i64.into_sql::<BigInt>()));
        recount(visits, a_hundred).of(1).execute(conn).map(drop)
    });
}

/// Nobody retries here: they wait for each other, and none fails.
#[test]
fn deletions_that_wait_for_an_increment_do_not_deadlock() {
    for round in 0..10 {
        let (database, mut conn) = counted();
        let conn = &mut conn;
        conn.batch_execute("BEGIN").unwrap();
        let of_rows_that_are_there = increment(views).on(day(2026, 1, 1));
        of_rows_that_are_there
            .of_many([(3, 1), (4, 1), (5, 1)])
            .execute(conn)
            .unwrap();
        thread::scope(|scope| {
            for thread in 0..4 {
                let database = &database;
                scope.spawn(move || {
                    let conn = &mut database.connect();
                    let removed = match (round + thread) % 4 {
                        0 => Article::delete_counters_of(&[3, 5], conn),
                        1 => article(4).delete_counters(conn),
                        2 => Article::delete_counters_of(&[5, 4, 3], conn),
                        _ => article(5).delete_counters(conn),
                    };
                    removed.unwrap();
                });
            }
            // They should wait by now, and need not.
            thread::sleep(Duration::from_millis(100));
            conn.batch_execute("COMMIT").unwrap();
        });
        assert_eq!(values(conn), [2, 4, 0, 0, 0]);
    }
}
