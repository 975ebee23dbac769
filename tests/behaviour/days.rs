//! The days that counts are filed under.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{
    MonthlyArticle, TimelessArticle, WeeklyArticle, monthly_counters, new_years_eve,
    timeless_counters, weekly_counters,
};
use diesel_counters_tests::schema::article_counters::views;

use super::{day, rows};
use crate::TestDatabase;

#[test]
fn weeks_are_filed_under_their_monday() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    let weekly = WeeklyArticle { id: 1 };
    // Monday, Sunday, and the Monday after.
    for (d, n) in [(2, 1), (8, 10), (9, 100)] {
        increment(weekly_counters::views)
            .of(1_i64)
            .by(n)
            .on(day(2026, 11, d))
            .execute(conn)
            .unwrap();
    }
    let filed: Vec<_> = rows(&article, conn)
        .iter()
        .map(|row| (row.day, row.views))
        .collect();
    assert_eq!(filed, [(day(2026, 11, 2), 11), (day(2026, 11, 9), 100)]);
    assert_eq!(
        weekly.counter_value_on(weekly_counters::views, day(2026, 11, 5), conn),
        Ok(11)
    );
    assert_eq!(weekly.counter_value(weekly_counters::views, conn), Ok(111));
}

#[test]
fn months_are_filed_under_their_first_day() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let monthly = MonthlyArticle { id: 1 };
    monthly
        .incr_counter(monthly_counters::views, &mut conn)
        .unwrap();
    assert_eq!(rows(&article, &mut conn)[0].day, day(2026, 12, 1));
    let value = monthly.counter_value_on(monthly_counters::views, day(2026, 12, 25), &mut conn);
    assert_eq!(value, Ok(1));
}

#[test]
fn what_has_no_time_is_filed_under_1970() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let timeless = TimelessArticle { id: 1 };
    timeless
        .incr_counter(timeless_counters::views, &mut conn)
        .unwrap();
    increment(timeless_counters::views)
        .of(1_i64)
        .on(day(2026, 1, 1))
        .execute(&mut conn)
        .unwrap();
    let [row] = &rows(&article, &mut conn)[..] else {
        panic!("not one row");
    };
    assert_eq!((row.day, row.views), (day(1970, 1, 1), 2));
}

#[test]
fn a_model_may_say_which_day_it_is() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    WeeklyArticle { id: 1 }
        .incr_counter(weekly_counters::views, &mut conn)
        .unwrap();
    // A Thursday.
    assert_eq!(new_years_eve(), day(2026, 12, 31));
    assert_eq!(rows(&article, &mut conn)[0].day, day(2026, 12, 28));
}

#[test]
fn the_first_and_the_last_day_can_be_counted_on() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for d in [day(1000, 1, 1), day(9999, 12, 31)] {
        increment(views).of(1_i64).on(d).execute(&mut conn).unwrap();
        assert_eq!(article.counter_value_on(views, d, &mut conn), Ok(1));
    }
}

#[test]
fn a_day_that_a_database_cannot_store_is_an_error() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    let (before, after) = (day(999, 12, 31), day(9999, 12, 31).succ_opt().unwrap());
    for d in [NaiveDate::MIN, before, after, NaiveDate::MAX] {
        is_refused(increment(views).of(1_i64).on(d).execute(conn));
        is_refused(increment(views).on(d).of_many([(1_i64, 1)]).execute(conn));
        is_refused(article.counter_value_on(views, d, conn));
    }
    // These have no Monday and no first of the month that could be stored.
    for d in [NaiveDate::MIN, NaiveDate::MAX] {
        is_refused(
            increment(weekly_counters::views)
                .of(1_i64)
                .on(d)
                .execute(conn),
        );
        is_refused(
            increment(monthly_counters::views)
                .of(1_i64)
                .on(d)
                .execute(conn),
        );
    }
    assert_eq!(rows(&article, conn), []);
}

fn is_refused<T: std::fmt::Debug>(result: QueryResult<T>) {
    let Err(Error::SerializationError(error)) = result else {
        panic!("{result:?}");
    };
    assert!(
        error.to_string().contains("1000-01-01 to 9999-12-31"),
        "{error}"
    );
}

#[test]
fn a_day_that_cannot_be_stored_can_be_shown() {
    let query = increment(views).of(1_i64).on(NaiveDate::MAX);
    let shown = diesel::debug_query::<<crate::Conn as Connection>::Backend, _>(&query).to_string();
    assert!(shown.contains("+262142-12-31"), "{shown}");
}
