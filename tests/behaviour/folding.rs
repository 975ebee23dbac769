//! Folding old days into one undated row.

use chrono::NaiveDate;
use diesel::RunQueryDsl;
use diesel_counters::Period;
use diesel_counters::dsl::{compact, fold};
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{Site, weekly_counters};
use diesel_counters_tests::schema::article_counters::{self, likes, views};
use diesel_counters_tests::schema::site_counters;

use super::compacting::insert_row;
use super::{article, day, rows};
use crate::TestDatabase;

#[test]
fn old_days_become_one_row_without_a_day() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    for month in 1..=6 {
        for slot in 0..3 {
            insert_row(1, day(2026, month, 9), slot, (1, 10, 0), conn);
        }
    }
    insert_row(2, day(2026, 6, 9), 1, (1, 0, 0), conn);
    let before = rows(&article, conn);

    let done = fold(article_counters::table)
        .before(day(2026, 4, 9))
        .execute(conn)
        .unwrap();

    assert_eq!((done.merged, done.left), (9, 0));
    let after = rows(&article, conn);
    let undated = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
    assert_eq!((after[0].day, after[0].slot), (undated, 0));
    assert_eq!((after[0].views, after[0].likes), (9, 90));
    // Days at the limit and after it are as they were.
    assert_eq!(after[1..], before[9..]);
    assert_eq!(article.counter_value((views, likes), conn), Ok((18, 180)));
    let series = article.daily_counts(views, day(2026, 3, 9)..=day(2026, 4, 9), conn);
    let series = series.unwrap();
    assert_eq!(series[0], (day(2026, 3, 9), 0));
    assert_eq!(series[31], (day(2026, 4, 9), 3));
}

#[test]
fn folding_again_adds_to_the_same_row() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    for month in 1..=4 {
        insert_row(1, day(2026, month, 9), 3, (1, 0, 0), conn);
        fold(article_counters::table)
            .before(day(2026, month, 10))
            .execute(conn)
            .unwrap();
        assert_eq!(rows(&article, conn).len(), 1);
        let total = i64::from(month);
        assert_eq!(article.counter_value(views, conn), Ok(total));
    }
    let nothing = fold(article_counters::table)
        .before(day(2030, 1, 1))
        .execute(conn)
        .unwrap();
    assert_eq!((nothing.merged, nothing.left), (0, 0));
}

#[test]
fn a_set_count_stays_as_it_was_set() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    insert_row(1, day(2026, 1, 9), 3, (5, 0, 0), conn);
    // This writes zeros to the undated row.
    article.set_counter(views, 40, conn).unwrap();
    fold(article_counters::table)
        .before(day(2026, 2, 1))
        .execute(conn)
        .unwrap();
    assert_eq!(article.counter_value(views, conn), Ok(40));
    article.set_counter(views, 2, conn).unwrap();
    assert_eq!(article.counter_value(views, conn), Ok(2));
}

#[test]
fn what_had_no_day_from_the_start_is_only_compacted() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    let undated = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();
    for slot in 1..=4 {
        insert_row(1, undated, slot, (1, 0, 0), conn);
    }
    let folded = fold(article_counters::table)
        .before(day(2026, 1, 1))
        .execute(conn)
        .unwrap();
    assert_eq!(folded.merged, 0);
    let compacted = compact(article_counters::table).execute(conn).unwrap();
    assert_eq!(compacted.merged, 4);
    assert_eq!(rows(&article(1), conn).len(), 1);
}

#[test]
fn the_last_week_before_any_day_is_folded() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    let last_day = day(9999, 12, 31);
    let counting = increment(weekly_counters::views).of(1_i64).on(last_day);
    counting.execute(conn).unwrap();
    let folded = fold(weekly_counters::table).before(NaiveDate::MAX);
    assert_eq!(folded.execute(conn).unwrap().merged, 1);
}

#[test]
fn a_sites_days_are_folded_too() {
    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    for on in [day(2026, 1, 1), day(2026, 1, 2), day(2026, 1, 3)] {
        increment(site_counters::hits).on(on).execute(conn).unwrap();
    }
    let done = fold(site_counters::table)
        .before(day(2026, 1, 3))
        .execute(conn)
        .unwrap();
    assert_eq!((done.merged, done.left), (2, 0));
    assert_eq!(Site.counter_value(site_counters::hits, conn), Ok(3));
    let dated = Site.counter_value_between(site_counters::hits, day(2026, 1, 1).., conn);
    assert_eq!(dated, Ok(1));
}

#[test]
fn old_days_become_months_and_months_years() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    let january_24 = day(2024, 1, 1)..=day(2024, 1, 31);
    for on in january_24.start().iter_days().take(800) {
        for slot in [1, 3] {
            insert_row(1, on, slot, (1, 0, 2), conn);
        }
    }
    let today = day(2026, 3, 10);
    let months = counter_series(views).of(1_i64).per(Period::Month);
    let years = counter_series(views).of(1_i64).per(Period::Year);
    let (of_months, of_years) = (months.clone().load(conn), years.clone().load(conn));

    let fold_months = || fold(article_counters::table).per(Period::Month);
    let done = fold_months().before(today).execute(conn).unwrap();
    // Of each of 26 months one row is left, and of each day of March 2026 two rows.
    assert_eq!((done.merged, done.left), (1600 - 2 * 10, 0));
    assert_eq!(rows(&article, conn).len(), 26 + 2 * 10);
    assert_eq!(months.load(conn), of_months);
    assert_eq!(years.clone().load(conn), of_years);
    let january = article.counter_value_between(views, january_24, conn);
    assert_eq!(january, Ok(62));
    assert_eq!(
        article.counter_value_on(views, day(2024, 1, 1), conn),
        Ok(62)
    );
    assert_eq!(
        article.counter_value_on(views, day(2024, 1, 2), conn),
        Ok(0)
    );

    increment(views)
        .of(1_i64)
        .on(day(2024, 2, 29))
        .execute(conn)
        .unwrap();
    let late = fold_months().before(today).execute(conn).unwrap();
    assert_eq!((late.merged, late.left), (1, 0));
    assert_eq!(
        article.counter_value_on(views, day(2024, 2, 1), conn),
        Ok(59)
    );

    let fold_years = fold(article_counters::table).per(Period::Year);
    let done = fold_years.before(day(2025, 12, 31)).execute(conn).unwrap();
    assert_eq!((done.merged, done.left), (12 - 1, 0), "2025 is not over");
    assert_eq!(article.counter_value(views, conn), Ok(1601));
    assert_eq!(
        article.counter_value_on(views, day(2024, 1, 1), conn),
        Ok(733)
    );
}

#[test]
fn weeks_begin_on_monday_and_the_first_period_is_left() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    let undated = NaiveDate::default();
    let days = (0..400).map(|n| undated + chrono::Days::new(n));
    for on in days.chain([day(2026, 11, 15), day(2026, 11, 16), day(2026, 11, 22)]) {
        insert_row(1, on, 0, (1, 0, 0), conn);
    }
    for (period, before, first, last) in [
        (
            Period::Week,
            day(2026, 11, 22),
            day(1970, 1, 5),
            day(2026, 11, 9),
        ),
        (
            Period::Month,
            day(2026, 11, 1),
            day(1970, 2, 1),
            day(1971, 2, 1),
        ),
        (
            Period::Year,
            day(2026, 1, 1),
            day(1971, 1, 1),
            day(1971, 1, 1),
        ),
    ] {
        let folding = fold(article_counters::table).per(period);
        assert_eq!(folding.before(before).execute(conn).unwrap().left, 0);
        let days = rows(&article, conn).into_iter().map(|row| row.day);
        let days: Vec<_> = days.filter(|day| (first..=last).contains(day)).collect();
        assert!(
            days.iter().all(|&day| period.start(day) == day),
            "{period:?}: {days:?}"
        );
        assert_eq!(days.first(), Some(&first), "{period:?}");
        assert_eq!(
            article.counter_value_on(views, undated, conn),
            Ok(1),
            "{period:?}"
        );
        assert_eq!(article.counter_value(views, conn), Ok(403), "{period:?}");
    }
}
