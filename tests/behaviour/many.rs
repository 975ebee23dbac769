//! Many entities' increments.

use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::Drift;
use diesel_counters::dsl::{delete_counters, recount};
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Page;
use diesel_counters_tests::schema::article_counters::{self, likes, views};
use diesel_counters_tests::schema::articles;
use diesel_counters_tests::schema::page_counters::hits;
use diesel_counters_tests::schema::user_counters::{self, visits};
use diesel_counters_tests::watch::watch;

use super::{article, day};
use crate::TestDatabase;

#[test]
fn each_entity_gets_its_sum() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let counts = [(3_i64, 1), (1, 10), (3, 2), (2, -5), (1, 1)];
    assert_eq!(increment(views).of_many(counts).execute(&mut conn), Ok(3));
    let values = [1, 2, 3, 4].map(|id| article(id).counter_value(views, &mut conn).unwrap());
    assert_eq!(values, [11, -5, 3, 0]);
}

#[test]
fn each_entity_may_get_several_counters() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let counts = [(2_i64, (1, 2)), (1, (3, 0)), (2, (4, -1))];
    let counted = increment((views, likes))
        .on(day(2026, 1, 2))
        .of_many(counts)
        .execute(&mut conn);
    assert_eq!(counted, Ok(2));
    let value = |id, conn: &mut _| article(id).counter_value((views, likes), conn);
    assert_eq!(value(1, &mut conn), Ok((3, 0)));
    assert_eq!(value(2, &mut conn), Ok((5, 1)));
}

#[test]
fn any_number_of_entities_is_counted() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    for number in [1, 2, 3, 255, 256, 257, 1000] {
        let path = |i: i64| format!("/{number}/{i}");
        let counted = increment(hits)
            .of_many((0..number).map(|i| (path(i), i + 1)))
            .execute(&mut conn);
        assert_eq!(counted, Ok(number as usize));
        for i in [0, number / 2, number - 1] {
            let page = Page { url: path(i) };
            assert_eq!(page.counter_value(hits, &mut conn), Ok(i + 1), "{number}");
        }
    }
    let none: [(String, i64); 0] = [];
    assert_eq!(increment(hits).of_many(none).execute(&mut conn), Ok(0));
}

#[test]
fn entities_go_in_the_order_of_their_keys_in_few_statements() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let watched = watch(&mut conn, |conn| {
        let paths = (0..100).rev().map(|i| (format!("page {i:03}"), 1));
        increment(hits).of_many(paths).execute(conn).unwrap();
    });
    assert_eq!(watched.queries.len(), crate::STATEMENTS_OF_100);
    let all = watched.queries.concat();
    let order: Vec<_> = (0..100)
        .map(|i| all.find(&format!("page {i:03}")))
        .collect();
    assert!(order.is_sorted() && order[0].is_some(), "{order:?}");
}

#[test]
fn a_sum_that_does_not_fit_is_an_error_and_counts_nothing() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let counts = [(1_i64, i64::MAX), (2, 1), (1, 1)];
    let result = increment(views).of_many(counts).execute(&mut conn);
    assert!(
        result.as_ref().is_err_and(diesel_counters::is_overflow),
        "{result:?}"
    );
    assert_eq!(article(2).counter_value(views, &mut conn), Ok(0));
}

#[test]
fn they_roll_back_together() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let result: QueryResult<()> = conn.transaction(|conn| {
        increment(views)
            .of_many([(1_i64, 1), (2, 1), (3, 1)])
            .execute(conn)?;
        Err(Error::RollbackTransaction)
    });
    assert_eq!(result, Err(Error::RollbackTransaction));
    assert_eq!(article(1).counter_value(views, &mut conn), Ok(0));
}

/// More than a statement can bind, each twice.
#[test]
fn each_operation_on_many_takes_any_number_of_keys() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    let number = 17_000;
    let keys: Vec<i32> = (0..number).chain((0..number).rev()).collect();
    let counts = keys.iter().map(|&key| (key, 1));
    assert_eq!(
        increment(visits).of_many(counts).execute(conn),
        Ok(number as usize)
    );
    let values = counter_value(visits).of_many(&keys).load(conn);
    assert_eq!(values, Ok(vec![2; keys.len()]));
    let series = counter_series(visits).of_many(&keys).load(conn).unwrap();
    assert!(series.iter().all(|series| series[0].1 == 2));
    assert_eq!(series.len(), keys.len());
    let top: Vec<(i32, i64)> = ranking(visits).load(conn).unwrap();
    assert_eq!(top.len(), number as usize);

    let delete = |keys: &[i32], conn: &mut _| {
        delete_counters(user_counters::table)
            .of_many(keys)
            .execute(conn)
    };
    assert_eq!(delete(&keys[1..], conn), Ok(number as usize));
    assert_eq!(delete(&keys, conn), Ok(0));
    assert_eq!(delete(&[], conn), Ok(0));
}

#[test]
fn any_number_of_entities_is_recounted() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    let number = 10_000;
    let ids: Vec<i64> = (1..=number).collect();
    let new: Vec<_> = (6..=number).map(article).collect();
    conn.transaction(|conn| {
        diesel::insert_into(articles::table)
            .values(&new)
            .execute(conn)
    })
    .unwrap();
    let wanted = ids.iter().map(|&id| (id, id));
    increment(views).of_many(wanted).execute(conn).unwrap();
    let source = article_counters::table.select((article_counters::article_id, views));
    for batch in [usize::MAX, 1_000] {
        let drifts: Vec<Drift<i64>> = recount(likes, source).batch(batch).execute(conn).unwrap();
        assert_eq!(drifts.len(), number as usize);
        let values = counter_value((views, likes)).of_many(&ids).load(conn);
        assert_eq!(values, Ok(ids.iter().map(|&id| (id, id)).collect()));
        let counts = ids.iter().map(|&id| (id, -id));
        increment(likes).of_many(counts).execute(conn).unwrap();
    }
}
