//! Many connections at once.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{BusyArticle, busy_counters};
use diesel_counters_tests::schema;
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use rand::seq::IndexedRandom;

use super::{article, comments_by_article};
use crate::{Conn, TestDatabase, write_transaction};

const THREADS: u32 = 16;

#[test]
fn the_total_is_what_committed() {
    let (database, mut conn, article) = TestDatabase::with_article();
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let conn = &mut database.connect();
                for i in 0..200 {
                    let result = write_transaction(conn, |conn| comment(i, conn));
                    match i % 3 {
                        0 => assert_eq!(result, Err(Error::RollbackTransaction)),
                        _ => assert_eq!(result, Ok(())),
                    }
                }
            });
        }
    });
    // Of each 200, 133 committed, and 66 of them with what their savepoint did.
    let threads = i64::from(THREADS);
    let value = article.counter_value((comments, views, likes), &mut conn);
    assert_eq!(value, Ok((threads * 133, threads * 133 * 2, threads * -66)));
    let written = schema::comments::table.count().get_result(&mut conn);
    assert_eq!(written, Ok(threads * 133));
}

/// A comment and its counts; of three, one is rolled back, and one rolls back a
/// savepoint in it.
fn comment(i: u32, conn: &mut Conn) -> QueryResult<()> {
    let article = article(1);
    let kind = i % 3;
    let (rolls_back, savepoint_rolls_back) = (kind == 0, kind == 1);
    diesel::insert_into(schema::comments::table)
        .values((
            schema::comments::article_id.eq(article.id),
            schema::comments::body.eq("Nice."),
        ))
        .execute(conn)?;
    article.incr_counter_by((comments, views), (1, 2), conn)?;
    let savepoint = conn.transaction(|conn| {
        article.incr_counter_by(likes, -1, conn)?;
        roll_back(savepoint_rolls_back)
    });
    assert_eq!(savepoint.is_err(), savepoint_rolls_back, "{savepoint:?}");
    roll_back(rolls_back)
}

fn roll_back(really: bool) -> QueryResult<()> {
    if really {
        return Err(Error::RollbackTransaction);
    }
    Ok(())
}

#[test]
fn transactions_that_count_several_entities_in_any_order_do_not_deadlock() {
    let database = TestDatabase::with_tables();
    const EACH: i64 = 125;
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let conn = &mut database.connect();
                for _ in 0..EACH {
                    let three = [1, 2, 3, 4, 5]
                        .sample(&mut rand::rng(), 3)
                        .copied()
                        .collect::<Vec<_>>();
                    write_transaction(conn, |conn| {
                        for &id in &three {
                            BusyArticle { id }.incr_counter(busy_counters::views, conn)?;
                        }
                        QueryResult::Ok(())
                    })
                    .unwrap();
                }
            });
        }
    });
    let conn = &mut database.connect();
    let total: i64 = (1..=5)
        .map(|id| article(id).counter_value(views, conn).unwrap())
        .sum();
    assert_eq!(total, 3 * EACH * i64::from(THREADS));
}

#[test]
fn batches_over_the_same_entities_do_not_deadlock() {
    let database = TestDatabase::with_tables();
    thread::scope(|scope| {
        for i in 0..THREADS {
            let database = &database;
            scope.spawn(move || {
                let conn = &mut database.connect();
                for _ in 0..20 {
                    let ids = (1..=5).chain(1..=2);
                    let ids: Vec<i64> = if i % 2 == 0 {
                        ids.collect()
                    } else {
                        ids.rev().collect()
                    };
                    write_transaction(conn, |conn| {
                        // The same slot for all: only the order keeps them apart.
                        increment(views)
                            .slot(diesel_counters::Slot::Partition { index: 0, of: 32 })
                            .of_many(ids.iter().map(|&id| (id, 1)))
                            .execute(conn)
                    })
                    .unwrap();
                }
            });
        }
    });
    let conn = &mut database.connect();
    let values = [1, 2, 3, 4, 5].map(|id| article(id).counter_value(views, conn).unwrap());
    assert_eq!(values, [640, 640, 320, 320, 320]);
}

/// Corrections and writers at the same time: what is left is the truth exactly.
#[test]
fn recounts_beside_writers_lose_and_double_nothing() {
    const WRITERS: i64 = 8;
    let database = TestDatabase::with_tables();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                scope.spawn(|| {
                    let conn = &mut database.connect();
                    let mut written = 0;
                    while written < 100 || !done.load(Relaxed) {
                        write_transaction(conn, |conn| {
                            insert_comment(1, conn)?;
                            BusyArticle { id: 1 }.incr_counter(busy_counters::comments, conn)
                        })
                        .unwrap();
                        written += 1;
                        // SQLite's lock is not a queue: let the recounts have a turn.
                        thread::sleep(Duration::from_millis(2));
                    }
                })
            })
            .collect();
        // Whoever counted twice what the other one did would have to take it back.
        let of_one = scope.spawn(|| {
            let conn = &mut database.connect();
            for _ in 0..100 {
                insert_comment(1, conn).unwrap();
                let article = BusyArticle { id: 1 };
                let added = article.recount(busy_counters::comments, comments_by_article(), conn);
                assert!(added.unwrap() >= 0);
            }
        });
        let of_all = scope.spawn(|| {
            let conn = &mut database.connect();
            for _ in 0..100 {
                insert_comment(1, conn).unwrap();
                let corrected =
                    BusyArticle::recount_all(busy_counters::comments, comments_by_article(), conn);
                for drift in corrected.unwrap() {
                    assert!(drift.stored < drift.actual, "{drift:?}");
                }
            }
        });
        let corrected = [of_one.join(), of_all.join()];
        done.store(true, Relaxed);
        assert!(corrected.iter().all(Result::is_ok));
        for writer in writers {
            writer.join().unwrap();
        }
    });
    let conn = &mut database.connect();
    let written: i64 = schema::comments::table.count().get_result(conn).unwrap();
    assert!(written > WRITERS * 100);
    assert_eq!(article(1).counter_value(comments, conn), Ok(written));
}

/// Each set says what it saw: what is left is what was counted, and the differences.
#[test]
fn sets_beside_writers_lose_and_double_nothing() {
    const WRITERS: i64 = 8;
    let database = TestDatabase::with_tables();
    let done = AtomicBool::new(false);
    let (counted, added) = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                scope.spawn(|| {
                    let conn = &mut database.connect();
                    let mut counted = 0;
                    while counted < 100 || !done.load(Relaxed) {
                        BusyArticle { id: 1 }
                            .incr_counter(busy_counters::views, conn)
                            .unwrap();
                        counted += 1;
                    }
                    counted
                })
            })
            .collect();
        // Two of them. If both took away what one of them has to, less than nothing would
        // be left.
        let setters: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let conn = &mut database.connect();
                    (0..100)
                        .map(|n| {
                            let before =
                                BusyArticle { id: 1 }.set_counter(busy_counters::views, n, conn);
                            let before = before.unwrap();
                            assert!(before >= 0, "{before}");
                            n - before
                        })
                        .sum::<i64>()
                })
            })
            .collect();
        let added: Vec<_> = setters.into_iter().map(|setter| setter.join()).collect();
        done.store(true, Relaxed);
        let counted: i64 = writers
            .into_iter()
            .map(|writer| writer.join().unwrap())
            .sum();
        (counted, added.into_iter().map(Result::unwrap).sum::<i64>())
    });
    let conn = &mut database.connect();
    assert_eq!(article(1).counter_value(views, conn), Ok(counted + added));
    assert_eq!(article(1).set_counter(views, 0, conn), Ok(counted + added));
}

/// The first corrections of an entity that has no rows yet.
#[test]
fn the_first_sets_of_an_entity_do_not_add_up() {
    for round in 1..=20 {
        let database = TestDatabase::with_tables();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let conn = &mut database.connect();
                    BusyArticle { id: 1 }
                        .set_counter(busy_counters::views, 100, conn)
                        .unwrap();
                });
            }
        });
        let value = article(1).counter_value(views, &mut database.connect());
        assert_eq!(value, Ok(100), "round {round}");
    }
}

pub(super) fn insert_comment(id: i64, conn: &mut Conn) -> QueryResult<usize> {
    use schema::comments::{article_id, body, table};
    diesel::insert_into(table)
        .values((article_id.eq(id), body.eq("Nice.")))
        .execute(conn)
}
