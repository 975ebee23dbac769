//! Folding old days into one undated row.

use chrono::{Datelike, NaiveDate, Weekday};
use diesel::RunQueryDsl;
use diesel_counters::Period;
use diesel_counters::dsl::fold;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::weekly_counters;
use diesel_counters_tests::schema::article_counters::{self, views};

use super::compacting::insert_row;
use super::{count_on, day, rows, views_on};
use crate::TestDatabase;

#[test]
fn the_last_week_before_any_day_is_folded() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let last_day = day(9999, 12, 31);
    let counting = increment(weekly_counters::views).of(1_i64).on(last_day);
    counting.execute(conn).unwrap();
    let folded = fold(weekly_counters::table).before(NaiveDate::MAX);
    assert_eq!(folded.execute(conn).unwrap().merged, 1);
}

#[test]
fn old_days_become_months_and_months_years() {
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    let january_24 = day(2024, 1, 1)..=day(2024, 1, 31);
    for on in january_24.start().iter_days().take(800) {
        for slot in [1, 3] {
            insert_row(1, on, slot, (1, 0, 2), conn);
        }
    }
    let today = day(2026, 3, 10);
    let months = counter_series(views).of(1_i64).per(Period::Month);
    let years = counter_series(views).of(1_i64).per(Period::Year);
    let (of_months, of_years) = (months.load(conn), years.load(conn));

    let fold_months = || fold(article_counters::table).per(Period::Month);
    let done = fold_months().before(today).execute(conn).unwrap();
    // Of each of 26 months one row is left, and of each day of March 2026 two rows.
    assert_eq!((done.merged, done.left), (1600 - 2 * 10, 0));
    assert_eq!(rows(article, conn).len(), 26 + 2 * 10);
    assert_eq!(months.load(conn), of_months);
    assert_eq!(years.load(conn), of_years);
    let january = article.counter_value_between(views, january_24, conn);
    assert_eq!(january, Ok(62));
    assert_eq!(views_on(1, day(2024, 1, 1), conn), Ok(62));
    assert_eq!(views_on(1, day(2024, 1, 2), conn), Ok(0));

    count_on(1, day(2024, 2, 29), 1, conn);
    let late = fold_months().before(today).execute(conn).unwrap();
    assert_eq!((late.merged, late.left), (1, 0));
    assert_eq!(views_on(1, day(2024, 2, 1), conn), Ok(59));

    let fold_years = fold(article_counters::table).per(Period::Year);
    let done = fold_years.before(day(2025, 12, 31)).execute(conn).unwrap();
    assert_eq!((done.merged, done.left), (12 - 1, 0), "2025 is not over");
    assert_eq!(article.counter_value(views, conn), Ok(1601));
    assert_eq!(views_on(1, day(2024, 1, 1), conn), Ok(733));
}

/// The row of a month is stored under its first day, and cannot be told from that of the day.
#[test]
fn a_fold_into_weeks_leaves_what_was_folded_into_months() {
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    let first = day(2024, 1, 1);
    for (on, n) in first.iter_days().take(500).zip(1..) {
        insert_row(1, on, 0, (n, 0, 0), conn);
    }
    let months = counter_series(views).of(1_i64).per(Period::Month);
    let weeks = counter_series(views).of(1_i64).per(Period::Week);
    let recent = weeks.between(day(2025, 1, 6)..);
    let (of_months, of_weeks) = (months.load(conn), recent.load(conn));
    // As a program's `Compactor` does each day.
    for _ in 0..3 {
        for (period, before) in [
            (Period::Week, (2025, 4, 10)),
            (Period::Month, (2024, 12, 10)),
        ] {
            let (year, month, of_month) = before;
            let folding = fold(article_counters::table).per(period);
            let done = folding
                .before(day(year, month, of_month))
                .execute(conn)
                .unwrap();
            assert_eq!(done.left, 0);
            assert_eq!(months.load(conn), of_months);
            assert_eq!(recent.load(conn), of_weeks);
        }
    }
    assert_eq!(article.counter_value(views, conn), Ok(500 * 501 / 2));
    let days: Vec<_> = rows(article, conn).into_iter().map(|row| row.day).collect();
    let is_first = |day: &NaiveDate| day.weekday() == Weekday::Mon || day.day() == 1;
    let of_months = days.iter().filter(|&&on| on < day(2024, 12, 1));
    let of_weeks = days
        .iter()
        .filter(|&&on| on >= day(2024, 12, 1) && on < day(2025, 4, 7));
    assert_eq!(of_months.count(), 11);
    assert!(of_weeks.clone().all(is_first), "{days:?}");
    // Of these 18 weeks, four span two months, as does that of Sunday, December 1.
    assert_eq!(of_weeks.count(), 18 + 4 + 1);
}

#[test]
fn weeks_begin_on_monday_and_the_first_period_is_left() {
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    let undated = NaiveDate::default();
    let days = (0..400).map(|n| undated + chrono::Days::new(n));
    for on in days.chain([day(2026, 11, 15), day(2026, 11, 16), day(2026, 11, 22)]) {
        insert_row(1, on, 0, (1, 0, 0), conn);
    }
    for (period, days) in [
        (Period::Week, ["2026-11-22", "1970-01-05", "2026-11-09"]),
        (Period::Month, ["2026-11-01", "1970-02-01", "1971-02-01"]),
        (Period::Year, ["2026-01-01", "1971-01-01", "1971-01-01"]),
    ] {
        let [before, first, last] = days.map(|day| day.parse::<NaiveDate>().unwrap());
        let folding = fold(article_counters::table).per(period);
        assert_eq!(folding.before(before).execute(conn).unwrap().left, 0);
        let days = rows(article, conn).into_iter().map(|row| row.day);
        let days: Vec<_> = days.filter(|day| (first..=last).contains(day)).collect();
        // A week that spans two months becomes two rows.
        let is_first =
            |day: NaiveDate| period.start(day) == day || period == Period::Week && day.day() == 1;
        let are_first = days.iter().all(|&day| is_first(day));
        assert!(are_first, "{period:?}: {days:?}");
        assert_eq!(days.first(), Some(&first), "{period:?}");
        let of_undated = views_on(1, undated, conn);
        let all = article.counter_value(views, conn);
        assert_eq!((of_undated, all), (Ok(1), Ok(403)), "{period:?}");
    }
}
