//! Statements are prepared once a connection.

use diesel::prelude::*;
use diesel_counters::Slot;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::watch::watch;

use super::day;
use crate::TestDatabase;

#[test]
fn a_thousand_increments_prepare_once() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let watched = watch(&mut conn, |conn| {
        for i in 0..1000 {
            Article::vary(i, &article, conn);
        }
    });
    assert_eq!(watched.queries.len(), 1000);
    assert_eq!(watched.prepared.len(), 1, "{:?}", watched.prepared);
    assert_eq!(article.counter_value(views, &mut conn), Ok(1000));
}

/// Increments that differ in everything but their types.
struct Article;

impl Article {
    fn vary(i: u32, article: &diesel_counters_tests::models::Article, conn: &mut crate::Conn) {
        let result = match i % 4 {
            0 => article.incr_counter(views, conn),
            1 => article.incr_counter_by(views, 1, conn),
            2 => increment(views).of(article.id).execute(conn).map(drop),
            _ => increment(views)
                .of(article.id)
                .on(day(2026, 1, 1 + i % 28))
                .slot(Slot::Random)
                .execute(conn)
                .map(drop),
        };
        result.unwrap();
    }
}

#[test]
fn a_thousand_reads_prepare_once() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let watched = watch(&mut conn, |conn| {
        for _ in 0..500 {
            article.counter_value((views, likes), conn).unwrap();
            let other = counter_value((views, likes)).of(2_i64);
            other.get_result::<(i64, i64)>(conn).unwrap();
        }
    });
    assert_eq!(watched.queries.len(), 1000);
    assert_eq!(watched.prepared.len(), 1, "{:?}", watched.prepared);
}

#[test]
fn different_statements_are_told_apart() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let watched = watch(&mut conn, |conn| {
        for n in 1..=2 {
            article.incr_counter(views, conn).unwrap();
            article.incr_counter(likes, conn).unwrap();
            article.incr_counter((views, likes), conn).unwrap();
            article.incr_counter((likes, comments), conn).unwrap();
            let value = article.counter_value((views, likes, comments), conn);
            assert_eq!(value, Ok((2 * n, 3 * n, n)));
            let nothing = article.counter_value_on((comments, likes), day(2026, 1, 1), conn);
            assert_eq!(nothing, Ok((0, 0)));
            assert_eq!(article.counter_value(views, conn), Ok(2 * n));
            assert_eq!(article.counter_value(likes, conn), Ok(3 * n));
        }
    });
    assert_eq!(watched.prepared.len(), 4 + 4, "{:?}", watched.prepared);
}

#[test]
fn batches_of_any_size_prepare_few_statements() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    use diesel_counters_tests::schema::page_counters::hits;
    let watched = watch(&mut conn, |conn| {
        for number in 1..=300 {
            let counts = (0..number).map(|i| (format!("/{i}"), 1));
            increment(hits).of_many(counts).execute(conn).unwrap();
        }
    });
    assert_eq!(watched.prepared.len(), crate::STATEMENTS_OF_ANY);
}
