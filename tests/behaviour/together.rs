//! Many connections at once.

use std::thread;

use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::BusyArticle;
use diesel_counters_tests::schema;
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use rand::seq::IndexedRandom;

use super::article;
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
    article.incr_counters((comments.by(1), views.by(2)), conn)?;
    let savepoint = conn.transaction(|conn| {
        article.decr_counter(likes, conn)?;
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
                            BusyArticle { id }.incr_counter(views, conn)?;
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
