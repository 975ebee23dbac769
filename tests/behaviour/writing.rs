//! One entity's increments.

use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::watch::watch;

use super::{day, rows, utc_today};
use crate::TestDatabase;

#[test]
fn an_increment_adds_one() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article.incr_counter(views, &mut conn).unwrap();
    assert_eq!(article.counter_value(views, &mut conn), Ok(1));
    article.incr_counter(views, &mut conn).unwrap();
    assert_eq!(article.counter_value(views, &mut conn), Ok(2));
}

#[test]
fn a_decrement_subtracts_one() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article.incr_counter_by(views, -1, &mut conn).unwrap();
    assert_eq!(article.counter_value(views, &mut conn), Ok(-1));
}

#[test]
fn an_increment_by_an_amount_adds_it() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article.incr_counter_by(views, 5, &mut conn).unwrap();
    article.incr_counter_by(views, -7, &mut conn).unwrap();
    assert_eq!(article.counter_value(views, &mut conn), Ok(-2));
}

#[test]
fn an_increment_leaves_other_counters_and_entities_alone() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article.incr_counter_by(likes, 4, &mut conn).unwrap();
    article.incr_counter(views, &mut conn).unwrap();
    assert_eq!(article.counter_value(likes, &mut conn), Ok(4));
    let other = super::article(2);
    assert_eq!(other.counter_value((views, likes), &mut conn), Ok((0, 0)));
}

#[test]
fn several_counters_move_in_one_row_and_one_statement() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let watched = watch(&mut conn, |conn| {
        article
            .incr_counter_by((views, likes, comments), (1, 2, -3), conn)
            .unwrap();
    });
    assert_eq!(watched.queries.len(), 1);
    let [row] = &rows(&article, &mut conn)[..] else {
        panic!("not one row");
    };
    assert_eq!((row.views, row.likes, row.comments), (1, 2, -3));
}

#[test]
fn one_is_added_to_each_of_several_counters() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article.incr_counter_by(views, 3, &mut conn).unwrap();
    article.incr_counter((views, likes), &mut conn).unwrap();
    assert_eq!(article.counter_value((views, likes), &mut conn), Ok((4, 1)));
}

#[test]
fn adding_nothing_does_not_reach_the_database() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let watched = watch(&mut conn, |conn| {
        article.incr_counter_by(views, 0, conn).unwrap();
        article
            .incr_counter_by((views, likes), (0, 0), conn)
            .unwrap();
        assert_eq!(increment(views).of_many([(1_i64, 0)]).execute(conn), Ok(0));
        assert_eq!(
            increment(views)
                .of_many([(1_i64, 2), (1, -2)])
                .execute(conn),
            Ok(0)
        );
    });
    assert_eq!(watched.queries, Vec::<String>::new());
    assert_eq!(rows(&article, &mut conn), []);
}

#[test]
fn one_of_several_counters_may_get_nothing() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article
        .incr_counter_by((views, likes), (0, 2), &mut conn)
        .unwrap();
    assert_eq!(article.counter_value((views, likes), &mut conn), Ok((0, 2)));
}

#[test]
fn without_a_model_an_entity_is_named_by_its_key() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    increment(views).of(article.id).execute(conn).unwrap();
    increment(views)
        .of(&article.id)
        .by(3)
        .execute(conn)
        .unwrap();
    increment((views, likes))
        .of(article.id)
        .by((1, 1))
        .execute(conn)
        .unwrap();
    assert_eq!(article.counter_value((views, likes), conn), Ok((5, 1)));
}

#[test]
fn an_increment_counts_on_todays_date_in_utc() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let before = utc_today();
    article.incr_counter(views, &mut conn).unwrap();
    let after = utc_today();
    let [row] = &rows(&article, &mut conn)[..] else {
        panic!("not one row");
    };
    assert!((before..=after).contains(&row.day), "{row:?}");
}

#[test]
fn an_increment_counts_on_the_day_it_is_told() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    let leap_day = day(2024, 2, 29);
    increment(views)
        .of(1_i64)
        .on(leap_day)
        .by(3)
        .execute(conn)
        .unwrap();
    assert_eq!(article.counter_value_on(views, leap_day, conn), Ok(3));
    assert_eq!(article.counter_value_on(views, utc_today(), conn), Ok(0));
    assert_eq!(article.counter_value(views, conn), Ok(3));
}

#[test]
fn executing_returns_the_number_of_rows_that_the_database_reports() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    for rows in [1, super::OF_AN_OLD_ROW] {
        assert_eq!(increment(views).of(1_i64).execute(&mut conn), Ok(rows));
    }
}

#[test]
fn a_model_is_given_where_a_key_goes() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    increment(views).of(&article).by(3).execute(conn).unwrap();
    assert_eq!(
        counter_value(views).of(&article).get_result(conn),
        Ok(3_i64)
    );
    let page = [&article, &super::article(2)];
    assert_eq!(
        counter_value(views).of_many(page).load(conn),
        Ok(vec![3, 0])
    );
    let set = diesel_counters::dsl::set_counter(views).of(&article).to(1);
    assert_eq!(set.execute(conn), Ok(3));
    let bars = counter_series(views).of(&article).load(conn).unwrap();
    assert_eq!(bars.iter().map(|bar| bar.1).sum::<i64>(), 1);
}
