//! "Weeks" in docs/reading.md. A week begins on Monday; one that begins on another day is a range.

use chrono::{Days, NaiveDate, Weekday};
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::views;
use diesel_counters_tests::schema::articles;

use crate::behaviour::{count_on, day};
use crate::{Conn, TestDatabase};

/// Thursday.
const TODAY: NaiveDate = NaiveDate::from_ymd_opt(2026, 1, 22).unwrap();

/// Article 1 has a view on January 1st, two on the 2nd, and so on until today.
fn viewed() -> (Conn, TestDatabase, Article) {
    let (mut conn, database, article) = TestDatabase::with_connection();
    for d in 1..=22 {
        count_on(1, day(2026, 1, d), i64::from(d), &mut conn);
    }
    (conn, database, article)
}

fn sum(days: std::ops::RangeInclusive<i64>) -> i64 {
    days.sum()
}

#[test]
fn a_week_begins_on_monday() {
    let (conn, _database, _article) = &mut viewed();
    let weeks = counter_series(views).of(1_i64).per(Period::Week).load(conn);
    let expected = vec![
        (day(2025, 12, 29), sum(1..=4)),
        (day(2026, 1, 5), sum(5..=11)),
        (day(2026, 1, 12), sum(12..=18)),
        (day(2026, 1, 19), sum(19..=22)),
    ];
    assert_eq!(weeks, Ok(expected));
}

#[test]
fn days_are_added_up_to_weeks_that_begin_on_sunday() {
    let (conn, _database, article) = &mut viewed();
    let sunday = TODAY.week(Weekday::Sun).first_day();
    let days = article
        .daily_counts(views, sunday - Days::new(14)..=TODAY, conn)
        .unwrap();
    let weeks = days.chunks(7).map(|week| {
        let counts = week.iter().map(|(_, count)| count);
        (week[0].0, counts.sum::<i64>())
    });
    let expected = [
        (day(2026, 1, 4), sum(4..=10)),
        (day(2026, 1, 11), sum(11..=17)),
        (day(2026, 1, 18), sum(18..=22)),
    ];
    assert!(weeks.eq(expected));
}

#[test]
fn a_list_has_this_week_and_the_week_before() {
    let (conn, _database, _article) = &mut viewed();
    let sunday = TODAY.week(Weekday::Sun).first_day();
    let before = total(views).between(sunday - Days::new(7)..sunday);
    let this_week = total(views).between(sunday..);
    let list = articles::table
        .select((articles::id, before, this_week))
        .order((this_week.desc(), articles::id))
        .limit(2)
        .load(conn);
    let expected = vec![(1_i64, sum(11..=17), sum(18..=22)), (2, 0, 0)];
    assert_eq!(list, Ok(expected));
}
