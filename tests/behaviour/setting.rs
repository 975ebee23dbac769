//! Giving a counter another value.

use diesel::prelude::*;
use diesel_counters::dsl::set_counter;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{Site, monthly_counters, weekly_counters};
use diesel_counters_tests::schema::article_counters::{likes, views};
use diesel_counters_tests::schema::page_counters::hits;
use diesel_counters_tests::schema::site_counters;

use super::compacting::insert_row;
use super::{article, count_on, day, views_on};
use crate::{TestDatabase, write_transaction};

#[test]
fn a_day_is_set_and_the_others_stay() {
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    let [first, second] = [1, 2].map(|d| day(2026, 3, d));
    for (on, slot) in [(first, 1), (second, 1), (second, 2)] {
        insert_row(1, on, slot, (10, 0, 0), conn);
    }
    let set = |on, to| set_counter(views).of(1_i64).on(on).to(to);
    assert_eq!(set(second, 7).execute(conn), Ok(20));
    let series = |conn: &mut _| article.daily_counts(views, first..=second, conn);
    assert_eq!(series(conn), Ok(vec![(first, 10), (second, 7)]));
    let in_a_transaction = write_transaction(conn, |conn| set(first, 0).execute(conn));
    assert_eq!(in_a_transaction, Ok(10));
    assert_eq!(series(conn), Ok(vec![(first, 0), (second, 7)]));
    assert_eq!(article.counter_value(views, conn), Ok(7));
}

#[test]
fn many_days_of_many_entities_are_set_and_a_second_time_nothing_changes() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let days = Vec::from_iter(day(2026, 1, 1).iter_days().take(300));
    count_on(2, days[3], 5, conn);
    let count = increment((views, likes)).of(1_i64).on(days[0]).by((9, 1));
    count.execute(conn).unwrap();
    count_on(1, days[299].succ_opt().unwrap(), 1, conn);
    let log = || {
        let all = (1..=5_i64).flat_map(|id| days.iter().zip(1..).map(move |(on, n)| (id, *on, n)));
        // Twice the same day: they are added up.
        all.chain([(5, days[0], 100)])
    };
    // In two transactions.
    for different in [1500, 0] {
        let set = set_counter(views).of_days(log());
        assert_eq!(set.execute(conn), Ok(different));
    }

    let total = 300 * 301 / 2;
    for (id, more) in [(1, 1), (2, 0), (3, 0), (4, 0), (5, 100)] {
        let value = article(id).counter_value(views, conn);
        assert_eq!(value, Ok(total + more), "{id}");
    }
    assert_eq!(article(1).counter_value(likes, conn), Ok(1));
    assert_eq!(views_on(2, days[3], conn), Ok(4));

    let lower = set_counter((views, likes)).of_days([(1_i64, days[0], (0, 0))]);
    assert_eq!(lower.execute(conn), Ok(1));
    let found = article(1).counter_value((views, likes), conn);
    assert_eq!(found, Ok((total, 0)));
    let none = set_counter(views).of_days(Vec::<(i64, _, _)>::new());
    assert_eq!(none.execute(conn), Ok(0));
}

#[test]
fn days_of_keys_of_text_and_of_a_site_are_set() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let [first, second] = [1, 2].map(|d| day(2026, 3, d));
    for different in [3, 0] {
        let log = [("/a", first, 1), ("/b", second, 2), ("/b", first, 3)];
        let set = set_counter(hits).of_days(log);
        assert_eq!(set.execute(conn), Ok(different));
        let log = [((), first, 4), ((), second, 5)];
        let set = set_counter(site_counters::hits).of_days(log);
        assert_eq!(set.execute(conn), Ok(different.min(2)));
    }
    let page = counter_value(hits).of("/b").get_result(conn);
    assert_eq!(page, Ok(5_i64));
    assert_eq!(Site.counter_value(site_counters::hits, conn), Ok(9));
}

diesel_counters_tests::article_counters!(yearly_counters (views) { period = Year });

/// As after a change of the table's `period`. Counts of two days of a period are added up.
#[test]
fn the_count_of_a_period_is_set_also_if_its_days_were_counted() {
    macro_rules! set_by {
        ($table:ident, $days:expr, $starts:expr) => {
            let (conn, _database, article) = &mut TestDatabase::with_connection();
            for (month, d, n) in [(1, 5, 3), (1, 8, 1), (1, 15, 4), (2, 3, 100)] {
                count_on(1, day(2026, month, d), n, conn);
            }
            let log = [(15, 9), (16, 1)].map(|(d, n)| (1_i64, day(2026, 1, d), n));
            let before: i64 = article.counter_value_between(views, $days, conn).unwrap();
            let elsewhere = article.counter_value(views, conn).unwrap() - before;
            for different in [1, 0] {
                let set = set_counter($table::views).of_days(log);
                assert_eq!(set.execute(conn), Ok(different));
                let set = article.counter_value_between(views, $days, conn);
                assert_eq!(set, Ok(10), "{}", stringify!($table));
                let total = article.counter_value(views, conn);
                assert_eq!(total, Ok(elsewhere + 10));
            }
            let is_first = |row: &super::Row| row.day == $starts;
            assert!(super::rows(article, conn).iter().any(is_first));
        };
    }
    let on = |month, d| day(2026, month, d);
    set_by!(weekly_counters, on(1, 12)..=on(1, 18), on(1, 12));
    set_by!(monthly_counters, on(1, 1)..=on(1, 31), on(1, 1));
    set_by!(yearly_counters, on(1, 1)..=on(12, 31), on(1, 1));
}
