//! A count is an i64, or an error.

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::is_overflow;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{likes, views};
use diesel_counters_tests::schema::articles;
use diesel_counters_tests::schema::user_counters::visits;

use super::{article, day};
use crate::{TestDatabase, write_transaction};

fn is_an_overflow<T>(result: &QueryResult<T>) -> bool {
    result.as_ref().is_err_and(is_overflow)
}

#[test]
fn an_increment_beyond_an_i64_is_an_error_and_changes_nothing() {
    for (start, step) in [
        (i64::MAX, 1),
        (i64::MIN, -1),
        (i64::MAX - 4, 5),
        (i64::MIN, i64::MIN),
    ] {
        let (_database, mut conn, article) = TestDatabase::with_article();
        article.incr_counter_by(views, start, &mut conn).unwrap();
        let result = article.incr_counter_by((views, likes), (step, 1), &mut conn);
        assert!(is_an_overflow(&result), "{result:?}");
        assert_eq!(
            article.counter_value((views, likes), &mut conn),
            Ok((start, 0))
        );
    }
}

#[test]
fn the_ends_of_an_i64_can_be_reached() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article
        .incr_counter_by(views, i64::MAX - 1, &mut conn)
        .unwrap();
    article.incr_counter(views, &mut conn).unwrap();
    assert_eq!(article.counter_value(views, &mut conn), Ok(i64::MAX));
    article
        .incr_counter_by(likes, i64::MIN + 1, &mut conn)
        .unwrap();
    article.incr_counter_by(likes, -1, &mut conn).unwrap();
    assert_eq!(article.counter_value(likes, &mut conn), Ok(i64::MIN));
}

/// SQLite's own arithmetic would turn it into floating point, in a table without
/// checks.
#[test]
fn an_increment_beyond_an_i64_is_an_error_without_the_tables_help() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let by = |n, conn: &mut _| increment(visits).of(1).by(n).execute(conn);
    by(i64::MAX, &mut conn).unwrap();
    let result = by(1, &mut conn);
    assert!(is_an_overflow(&result), "{result:?}");
    let value = counter_value(visits).of(1).get_result::<i64>(&mut conn);
    assert_eq!(value, Ok(i64::MAX));
}

#[test]
fn an_overflow_rolls_the_callers_transaction_back_as_any_error_does() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article.incr_counter_by(views, i64::MAX, &mut conn).unwrap();
    let result: QueryResult<()> = write_transaction(&mut conn, |conn| {
        article.incr_counter(likes, conn)?;
        article.incr_counter(views, conn)
    });
    assert!(is_an_overflow(&result), "{result:?}");
    article.incr_counter_by(views, -1, &mut conn).unwrap();
    assert_eq!(
        article.counter_value((views, likes), &mut conn),
        Ok((i64::MAX - 1, 0))
    );
}

#[test]
fn a_sum_beyond_an_i64_is_an_error_and_never_a_wrong_number() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    for (entity, n) in [(1_i64, i64::MAX), (2, i64::MIN)] {
        for d in 1..=2 {
            increment(views)
                .of(entity)
                .on(day(2026, 1, d))
                .by(n)
                .execute(&mut conn)
                .unwrap();
        }
        // Twice: an error must leave the connection and its statement usable.
        for _ in 0..2 {
            let value = article(entity).counter_value(views, &mut conn);
            assert!(is_an_overflow(&value), "{value:?}");
        }
    }
    assert_eq!(article(3).counter_value(views, &mut conn), Ok(0));
}

#[test]
fn a_correction_beyond_an_i64_is_an_error_and_changes_nothing() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    article.incr_counter_by(views, -5, conn).unwrap();
    let most = || {
        let article = articles::table.filter(articles::id.eq(1));
        article.select((articles::id, i64::MAX.into_sql::<BigInt>()))
    };
    let one = article.recount(views, most(), conn);
    assert!(is_an_overflow(&one), "{one:?}");
    let all = Article::recount_all(views, most(), conn);
    assert!(is_an_overflow(&all), "{all:?}");
    assert_eq!(article.counter_value(views, conn), Ok(-5));
}

#[test]
fn the_docs_say_how_to_find_a_total_beyond_an_i64() {
    let docs = include_str!("../../docs/reading.md");
    let (_, section) = docs.split_once("## A total beyond an `i64`").unwrap();
    let of_database = if crate::HAS_SLOTS { 1 } else { 2 };
    let block = section.split("```sql").nth(of_database).unwrap();
    let (sql, _) = block.split_once("```").unwrap();

    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    for (id, n) in [(1_i64, 10), (2, i64::MAX), (3, i64::MIN), (4, -10)] {
        let count = |d| increment(views).of(id).on(day(2026, 1, d));
        count(1).by(n).execute(conn).unwrap();
        count(2).by(n.signum()).execute(conn).unwrap();
    }
    let top = Article::top(views, 1, .., conn);
    assert!(is_an_overflow(&top), "{top:?}");

    let mut found: Vec<Entity> = diesel::sql_query(sql).load(conn).unwrap();
    found.sort();
    assert_eq!(found, [2, 3].map(|article_id| Entity { article_id }));
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, QueryableByName)]
struct Entity {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    article_id: i64,
}
