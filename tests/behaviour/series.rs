//! Counts through time.

use chrono::{Days, NaiveDate};
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{
    Article, TimelessArticle, monthly_counters, timeless_counters, weekly_counters,
};
use diesel_counters_tests::schema::article_counters::{likes, views};
use diesel_counters_tests::watch::watch;

use super::{article, day};
use crate::{Conn, TestDatabase};

/// In November 2026: article 1 has 1 on the 2nd, a Monday, 2 and 3 in two slots on the
/// 4th, 4 on Sunday the 8th, and 5 on the 30th; article 2 has 10 on the 3rd.
fn counted() -> (TestDatabase, Conn) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for (id, d, n) in [
        (1, 2, 1),
        (1, 4, 2),
        (1, 4, 3),
        (1, 8, 4),
        (1, 30, 5),
        (2, 3, 10),
    ] {
        increment(views)
            .of(id)
            .on(nov(d))
            .by(n)
            .slot(diesel_counters::Slot::Random)
            .execute(&mut conn)
            .unwrap();
    }
    (database, conn)
}

fn nov(d: u32) -> NaiveDate {
    day(2026, 11, d)
}

#[test]
fn days_have_no_gaps_and_are_oldest_first() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let watched = watch(conn, |conn| {
        let bars = article(1).daily_counts(views, nov(1)..=nov(5), conn);
        let expected = vec![
            (nov(1), 0),
            (nov(2), 1),
            (nov(3), 0),
            (nov(4), 5),
            (nov(5), 0),
        ];
        assert_eq!(bars, Ok(expected));
    });
    assert_eq!(watched.queries.len(), 1);
    let several = article(1).daily_counts((views, likes), nov(4)..=nov(4), conn);
    assert_eq!(several, Ok(vec![(nov(4), (5, 0))]));
    let never_counted = article(5).daily_counts(views, nov(4)..=nov(5), conn);
    assert_eq!(never_counted, Ok(vec![(nov(4), 0), (nov(5), 0)]));
}

#[test]
fn a_range_may_be_half_open_closed_or_unbounded() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let article = article(1);
    let ends = |bars: QueryResult<Vec<(NaiveDate, i64)>>| {
        let bars = bars.unwrap();
        let sum: i64 = bars.iter().map(|bar| bar.1).sum();
        let first_and_last = bars.first().zip(bars.last()).map(|(f, l)| (f.0, l.0));
        (bars.len(), first_and_last, sum)
    };
    let all = article.daily_counts(views, .., conn);
    assert_eq!(ends(all), (29, Some((nov(2), nov(30))), 15));
    let until = article.daily_counts(views, ..nov(8), conn);
    assert_eq!(ends(until), (6, Some((nov(2), nov(7))), 6));
    let up_to = article.daily_counts(views, ..=nov(8), conn);
    assert_eq!(ends(up_to), (7, Some((nov(2), nov(8))), 10));
    let since = article.daily_counts(views, nov(3).., conn);
    assert_eq!(ends(since), (28, Some((nov(3), nov(30))), 14));
    let between = article.daily_counts(views, nov(2)..nov(4), conn);
    assert_eq!(ends(between), (2, Some((nov(2), nov(3))), 1));
    let after_all = article.daily_counts(views, nov(30) + Days::new(9).., conn);
    assert_eq!(ends(after_all), (0, None, 0));
    let never_counted = super::article(5).daily_counts(views, .., conn);
    assert_eq!(ends(never_counted), (0, None, 0));
}

#[test]
fn an_empty_or_reversed_range_has_nothing() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let empty = [nov(2)..nov(2), nov(30)..nov(2)];
    let watched = watch(conn, |conn| {
        for days in empty.clone() {
            let article = article(1);
            assert_eq!(article.daily_counts(views, days.clone(), conn), Ok(vec![]));
            assert_eq!(
                counter_series(views)
                    .per(Period::Week)
                    .of(article.id)
                    .between(days.clone())
                    .load(conn),
                Ok(vec![])
            );
            assert_eq!(
                counter_series(views)
                    .per(Period::Month)
                    .of(article.id)
                    .between(days.clone())
                    .load(conn),
                Ok(vec![])
            );
            let both = counter_series(views)
                .of_many([1_i64, 1])
                .between(days)
                .load(conn);
            assert_eq!(both, Ok(vec![vec![], vec![]]));
        }
    });
    assert_eq!(watched.queries, [""; 0]);
    for days in empty {
        assert_eq!(
            article(1).counter_value_between(views, days.clone(), conn),
            Ok(0)
        );
        assert_eq!(Article::top(views, 9, days, conn), Ok(vec![]));
    }
}

#[test]
fn a_range_may_reach_as_far_as_it_likes() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let ever = NaiveDate::MIN..=NaiveDate::MAX;
    assert_eq!(
        article(1).counter_value_between(views, ever.clone(), conn),
        Ok(15)
    );
    assert_eq!(Article::top(views, 1, ever, conn), Ok(vec![(1, 15)]));
    let months = counter_series(views)
        .per(Period::Month)
        .of(1_i64)
        .between(nov(1)..NaiveDate::MAX)
        .load(conn);
    assert_eq!(months.unwrap()[0], (nov(1), 15));
    let before_time = NaiveDate::MIN..=day(999, 12, 31);
    assert_eq!(
        article(1).daily_counts(views, before_time, conn),
        Ok(vec![])
    );
}

#[test]
fn a_range_from_the_first_or_to_the_last_day_has_each_of_its_periods() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let (first, last) = (day(1000, 1, 1), day(9999, 12, 31));
    let days = |days: std::ops::RangeInclusive<NaiveDate>, conn: &mut Conn| {
        article(1).daily_counts(views, days, conn).unwrap().len()
    };
    assert_eq!(days(first..=day(1000, 1, 3), conn), 3);
    assert_eq!(days(day(9999, 12, 30)..=last, conn), 2);
    assert_eq!(days(NaiveDate::MIN..=day(1000, 1, 3), conn), 0);
    let months = counter_series(views).of(1_i64).per(Period::Month);
    let months = months
        .between(day(1000, 1, 15)..=day(1000, 2, 1))
        .load(conn);
    let expected = [1, 2].map(|month| (day(1000, month, 1), 0));
    assert_eq!(months, Ok(expected.to_vec()));
}

#[test]
fn weeks_are_whole_and_begin_on_monday() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let bars = counter_series(views)
        .per(Period::Week)
        .of(1_i64)
        .between(nov(5)..=nov(9))
        .load(conn);
    assert_eq!(bars, Ok(vec![(nov(2), 10), (nov(9), 0)]));
    let all = counter_series(views)
        .per(Period::Week)
        .of(1_i64)
        .between(..)
        .load(conn);
    let expected = [(2, 10), (9, 0), (16, 0), (23, 0), (30, 5)].map(|(d, n)| (nov(d), n));
    assert_eq!(all, Ok(expected.to_vec()));
}

#[test]
fn months_are_whole_and_begin_on_the_first() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let december = increment(views).of(1_i64).on(day(2027, 1, 31));
    december.execute(conn).unwrap();
    let bars = counter_series(views)
        .per(Period::Month)
        .of(1_i64)
        .between(nov(29)..=day(2027, 1, 1))
        .load(conn);
    let expected = vec![(nov(1), 15), (day(2026, 12, 1), 0), (day(2027, 1, 1), 1)];
    assert_eq!(bars, Ok(expected));
}

#[test]
fn many_are_read_in_one_query_over_the_same_days() {
    let (_database, mut conn) = counted();
    let articles = [2, 5, 1, 2].map(article);
    let watched = watch(&mut conn, |conn| {
        let all = counter_series(views)
            .of_many(articles.iter().map(|a| a.id))
            .between(..=nov(4))
            .load(conn)
            .unwrap();
        let two = vec![(nov(2), 0), (nov(3), 10), (nov(4), 0)];
        let five = vec![(nov(2), 0), (nov(3), 0), (nov(4), 0)];
        let one = vec![(nov(2), 1), (nov(3), 0), (nov(4), 5)];
        assert_eq!(all, [two.clone(), five, one, two]);
    });
    assert_eq!(watched.queries.len(), 1);

    let weeks = counter_series((views, likes))
        .per(Period::Week)
        .of_many(&[1_i64, 2]);
    let weeks = weeks.between(nov(2)..=nov(2)).load(&mut conn);
    assert_eq!(
        weeks,
        Ok(vec![vec![(nov(2), (10, 0))], vec![(nov(2), (10, 0))]])
    );
    let nobody = counter_series(views).of_many([0_i64; 0]).load(&mut conn);
    assert_eq!(nobody, Ok(vec![]));
}

#[test]
fn what_has_no_day_is_in_no_series_but_in_the_total() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    TimelessArticle { id: 1 }
        .incr_counter(timeless_counters::views, conn)
        .unwrap();
    assert_eq!(article(1).counter_value(views, conn), Ok(16));
    let bars = article(1).daily_counts(views, .., conn).unwrap();
    assert_eq!(bars[0], (nov(2), 1));
    let all = counter_series(views).of_many([1_i64]).load(conn).unwrap();
    assert_eq!(all[0], bars);
}

#[test]
fn a_week_beyond_an_i64_is_an_error() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    for d in [2, 3] {
        let counts = increment(views).of(3_i64).on(nov(d));
        counts.by(i64::MAX).execute(conn).unwrap();
    }
    let week = counter_series(views)
        .per(Period::Week)
        .of(3_i64)
        .between(..)
        .load(conn);
    assert!(diesel_counters::is_overflow(&week.unwrap_err()));
    let days = article(3).daily_counts(views, .., conn);
    assert_eq!(days, Ok(vec![(nov(2), i64::MAX), (nov(3), i64::MAX)]));
}

#[test]
fn years_are_whole_and_begin_on_the_first_of_january() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let later = increment(views).of(1_i64).on(day(2028, 2, 29));
    later.execute(conn).unwrap();
    let years = counter_series(views).of(1_i64).per(Period::Year);
    let expected = [(2026, 15), (2027, 0), (2028, 1)].map(|(y, n)| (day(y, 1, 1), n));
    assert_eq!(years.load(conn), Ok(expected.to_vec()));
}

#[test]
fn a_models_series_is_per_its_own_period_or_a_longer_one() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let weeks = counter_series(weekly_counters::views).of(2_i64);
    // Counted by day, before it was counted by week.
    assert_eq!(weeks.clone().load(conn), Ok(vec![(nov(2), 10)]));
    let months = weeks.per(Period::Month).load(conn);
    assert_eq!(months, Ok(vec![(nov(1), 10)]));

    let watched = watch(conn, |conn| {
        let month = counter_series(monthly_counters::views).of(1_i64);
        for (period, reason) in [
            (Period::Day, "counts by Month"),
            (Period::Week, "counts by Month"),
            (Period::Total, "counter_value"),
        ] {
            let error = month.clone().per(period).load(conn).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
        let timeless = counter_series(timeless_counters::views).of_many([1_i64]);
        let error = timeless.per(Period::Month).load(conn).unwrap_err();
        assert!(error.to_string().contains("counter_value"), "{error}");
    });
    assert_eq!(watched.queries, [""; 0]);
}
