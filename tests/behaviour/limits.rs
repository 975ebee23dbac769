//! The ends of what can be counted, stored and read, and what is refused beyond.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Date, Integer};
use diesel_counters::dsl::{delete_counters, fold, recount, set_counter, total};
use diesel_counters::prelude::*;
use diesel_counters::{Period, is_overflow};
use diesel_counters_tests::models::{
    Article, monthly_counters, timeless_counters, weekly_counters,
};
use diesel_counters_tests::schema::article_counters::{self, likes, views};
use diesel_counters_tests::schema::articles;
use diesel_counters_tests::schema::user_counters::{self, visits};
use diesel_counters_tests::watch::watch;

use super::{count_on, day, rows, utc_today, views_on};
use crate::{Conn, HAS_SLOTS, TestDatabase};

#[test]
fn adding_nothing_does_not_reach_the_database() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let watched = watch(&mut conn, |conn| {
        article.incr_counter_by(views, 0, conn).unwrap();
        let both = article.incr_counter_by((views, likes), (0, 0), conn);
        assert_eq!(both, Ok(()));
        for counts in [vec![(1, 0)], vec![(1, 2), (1, -2)], vec![]] {
            assert_eq!(increment(views).of_many(counts).execute(conn), Ok(0));
        }
        assert_eq!(Article::counter_values(&[], views, conn), Ok(vec![]));
    });
    assert_eq!(watched.queries, [""; 0]);
}

#[test]
fn a_model_is_given_where_a_key_goes() {
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    let article = &*article;
    increment(views).of(article).by(3).execute(conn).unwrap();
    let value = counter_value(views).of(article).get_result(conn);
    assert_eq!(value, Ok(3_i64));
    let page = [article, &super::article(2)];
    let values = counter_value(views).of_many(page).load(conn);
    assert_eq!(values, Ok(vec![3, 0]));
    let set = set_counter(views).of(article).to(1);
    assert_eq!(set.execute(conn), Ok(3));
    let bars = counter_series(views).of(article).load(conn).unwrap();
    assert_eq!(bars.iter().map(|bar| bar.1).sum::<i64>(), 1);
}

/// More than a statement can bind, each twice.
#[test]
fn each_operation_on_many_takes_any_number_of_keys() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let number = 17_000;
    let keys: Vec<i32> = (0..number).chain((0..number).rev()).collect();
    let counts = increment(visits).of_many(keys.iter().map(|&key| (key, 1)));
    assert_eq!(counts.execute(conn), Ok(number as usize));
    let values = counter_value(visits).of_many(&keys).load(conn);
    assert_eq!(values, Ok(vec![2; keys.len()]));
    let series = counter_series(visits).of_many(&keys).load(conn).unwrap();
    assert!(series.iter().all(|series| series[0].1 == 2));
    assert_eq!(series.len(), keys.len());
    let top: Vec<(i32, i64)> = ranking(visits).load(conn).unwrap();
    assert_eq!(top.len(), number as usize);

    let nobody = articles::table.filter(articles::id.eq(0));
    let nobody = nobody.select((1.into_sql::<Integer>(), articles::id));
    let corrected = recount(visits, nobody).execute::<i32, _>(conn).unwrap();
    assert_eq!(corrected.len(), number as usize);
    assert_eq!(recount(visits, nobody).dry_run::<i32, _>(conn), Ok(vec![]));

    let delete = |keys: &[i32], conn: &mut _| {
        let delete = delete_counters(user_counters::table).of_many(keys);
        delete.execute(conn)
    };
    assert_eq!(delete(&keys[1..], conn), Ok(number as usize));
    assert_eq!(delete(&keys, conn), Ok(0));
    assert_eq!(delete(&[], conn), Ok(0));
    assert_eq!(user_counters::table.count().get_result(conn), Ok(0_i64));
}

#[track_caller]
fn assert_overflows<T: std::fmt::Debug>(result: QueryResult<T>) {
    assert!(result.as_ref().is_err_and(is_overflow), "{result:?}");
}

#[test]
fn an_increment_beyond_an_i64_is_an_error_and_changes_nothing() {
    let (max, min) = (i64::MAX, i64::MIN);
    for (start, step) in [(max, 1), (min, -1), (max - 4, 5), (min, min)] {
        let (_database, mut conn, article) = TestDatabase::with_article();
        article.incr_counter_by(views, start, &mut conn).unwrap();
        let result = article.incr_counter_by((views, likes), (step, 1), &mut conn);
        assert_overflows(result);
        for counts in [vec![(1, step), (2, 1)], vec![(2, step), (2, start)]] {
            assert_overflows(increment(views).of_many(counts).execute(&mut conn));
        }
        assert_eq!(super::article(2).counter_value(views, &mut conn), Ok(0));
        let value = article.counter_value((views, likes), &mut conn);
        assert_eq!(value, Ok((start, 0)));
    }
}

#[test]
fn a_correction_beyond_an_i64_is_an_error_and_changes_nothing() {
    let first = day(2026, 1, 1);
    // The count, and then only the difference, is beyond it.
    for (counted, to) in [([i64::MAX; 2], 100), ([-5, 0], i64::MAX)] {
        let (conn, _database, article) = &mut TestDatabase::with_connection();
        for (slot, n) in (1..).zip(counted) {
            super::compacting::insert_row(1, first, slot, (n, 0, 0), conn);
        }
        let before = rows(article, conn);
        let set = || set_counter(views).of(1_i64).to(to);
        assert_overflows(set().execute(conn));
        assert_overflows(set().on(first).execute(conn));
        for log in [vec![(1_i64, first, to)], vec![(1, first, i64::MAX); 2]] {
            assert_overflows(set_counter(views).of_days(log).execute(conn));
        }
        let source = || articles::table.filter(articles::id.eq(1));
        let number = to.into_sql::<BigInt>();
        let in_all = source().select((articles::id, number));
        let by_day = source().select((articles::id, first.into_sql::<Date>(), number));
        let (in_all, by_day) = (recount(views, in_all), recount(views, by_day));
        assert_overflows(in_all.clone().of(1_i64).execute::<i64, _>(conn));
        assert_overflows(by_day.clone().of(1_i64).execute::<i64, _>(conn));
        assert_overflows(in_all.execute::<i64, _>(conn));
        assert_overflows(by_day.execute::<i64, _>(conn));
        assert_eq!(rows(article, conn), before);
    }
}

/// The days differ by an `i64`, and both together by more.
#[test]
fn days_whose_total_is_beyond_an_i64_are_corrected() {
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    for d in 1..=2 {
        count_on(1, day(2026, 1, d), i64::MAX, conn);
    }
    let nothing = articles::table.filter(articles::id.eq(0));
    let today = utc_today().into_sql::<Date>();
    let nothing = nothing.select((articles::id, today, articles::total_views));
    let corrected = recount(views, nothing).of(1_i64).execute::<i64, _>(conn);
    assert_eq!(corrected.map(|days| days.len()), Ok(2));
    assert_eq!(article.counter_value(views, conn), Ok(0));
}

#[test]
fn a_total_beyond_an_i64_is_an_error_wherever_it_is_read_copied_or_merged() {
    for n in [i64::MAX, i64::MIN] {
        let (conn, _database, article) = &mut TestDatabase::with_connection();
        for d in 1..=2 {
            count_on(1, day(2026, 1, d), n, conn);
        }
        let before = rows(article, conn);
        let value = || counter_value(views);
        let months = || counter_series(views).per(Period::Month);
        let since = value().of(1_i64).between(day(2026, 1, 1)..);
        assert_overflows(value().of(1_i64).get_result::<i64>(conn));
        assert_overflows(since.get_result::<i64>(conn));
        assert_overflows(value().get_result::<i64>(conn));
        assert_overflows(value().of_many([1_i64]).load(conn));
        assert_overflows(months().of(1_i64).load(conn));
        assert_overflows(months().of_many([1_i64]).load(conn));
        assert_overflows(ranking(views).load::<(i64, i64)>(conn));
        assert_overflows(articles::table.select(total(views)).load::<i64>(conn));
        let copied = Article::materialize(views, articles::total_views);
        assert_overflows(copied.execute(conn));
        let folded = fold(article_counters::table).before(day(2026, 2, 1));
        assert_overflows(folded.execute(conn));
        assert_eq!(rows(article, conn), before);
    }
}

#[test]
fn the_docs_say_how_to_find_a_total_beyond_an_i64() {
    let docs = include_str!("../../docs/reading.md");
    let (_, section) = docs.split_once("## A total beyond an `i64`").unwrap();
    let of_database = if HAS_SLOTS { 1 } else { 2 };
    let block = section.split("```sql").nth(of_database).unwrap();
    let (sql, _) = block.split_once("```").unwrap();

    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    for (id, n) in [(1_i64, 10), (2, i64::MAX), (3, i64::MIN), (4, -10)] {
        let count = |d| increment(views).of(id).on(day(2026, 1, d));
        count(1).by(n).execute(conn).unwrap();
        count(2).by(n.signum()).execute(conn).unwrap();
    }
    assert_overflows(ranking(views).limit(1).load::<(i64, i64)>(conn));

    let mut found: Vec<Entity> = diesel::sql_query(sql).load(conn).unwrap();
    found.sort();
    assert_eq!(found, [2, 3].map(|article_id| Entity { article_id }));
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, QueryableByName)]
struct Entity {
    #[diesel(sql_type = BigInt)]
    article_id: i64,
}

#[test]
fn a_day_that_a_database_cannot_store_is_an_error() {
    fn is_refused<T: std::fmt::Debug>(result: QueryResult<T>) {
        let Err(Error::SerializationError(error)) = result else {
            panic!("{result:?}");
        };
        let error = error.to_string();
        assert!(error.contains("1000-01-01 to 9999-12-31"), "{error}");
    }
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    let (before, after) = (day(999, 12, 31), day(10_000, 1, 1));
    for d in [NaiveDate::MIN, before, after, NaiveDate::MAX] {
        is_refused(increment(views).of(1_i64).on(d).execute(conn));
        is_refused(increment(views).on(d).of_many([(1_i64, 1)]).execute(conn));
        is_refused(views_on(1, d, conn));
    }
    // These have no Monday and no first of the month that could be stored.
    for d in [NaiveDate::MIN, NaiveDate::MAX] {
        let weekly = increment(weekly_counters::views).of(1_i64).on(d);
        is_refused(weekly.execute(conn));
        let monthly = increment(monthly_counters::views).of(1_i64).on(d);
        is_refused(monthly.execute(conn));
    }
    assert_eq!(rows(article, conn), []);

    let query = increment(views).of(1_i64).on(NaiveDate::MAX);
    let shown = diesel::debug_query::<<Conn as Connection>::Backend, _>(&query).to_string();
    assert!(shown.contains("+262142-12-31"), "{shown}");
}

#[test]
fn a_range_from_the_first_or_to_the_last_day_has_each_of_its_periods() {
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    article.incr_counter(views, conn).unwrap();
    let (first, last) = (day(1000, 1, 1), day(9999, 12, 31));
    let days = |days: std::ops::RangeInclusive<NaiveDate>, conn: &mut Conn| {
        article.daily_counts(views, days, conn).unwrap().len()
    };
    assert_eq!(days(first..=day(1000, 1, 3), conn), 3);
    assert_eq!(days(day(9999, 12, 30)..=last, conn), 2);
    assert_eq!(days(NaiveDate::MIN..=day(1000, 1, 3), conn), 0);
    let months = counter_series(views).of(1_i64).per(Period::Month);
    let months = months.between(day(1000, 1, 15)..=day(1000, 2, 1));
    let expected = [1, 2].map(|month| (day(1000, month, 1), 0));
    assert_eq!(months.load(conn), Ok(expected.to_vec()));
}

/// Also where the table has one period, of which every day is a part.
#[test]
fn a_range_before_the_first_or_after_the_last_date_has_no_counts() {
    use std::ops::Bound::{Excluded, Unbounded};
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let count = increment(timeless_counters::views).of(1_i64);
    count.execute(conn).unwrap();
    for days in [
        (Unbounded, Excluded(NaiveDate::MIN)),
        (Excluded(NaiveDate::MAX), Unbounded),
    ] {
        let value = counter_value(timeless_counters::views).of(1_i64);
        let value = value.between(days).get_result(conn);
        assert_eq!(value, Ok(0_i64), "{days:?}");
    }
}

#[test]
fn a_series_that_is_refused_or_of_a_reversed_range_sends_no_query() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    count_on(1, day(2026, 1, 15), 1, conn);
    let watched = watch(conn, |conn| {
        let month = counter_series(monthly_counters::views).of(1_i64);
        let timeless = counter_series(timeless_counters::views).of_many([1_i64]);
        for (refused, reason) in [
            (month.per(Period::Day), "counts by Month"),
            (month.per(Period::Week), "counts by Month"),
            (month.per(Period::Total), "counter_value"),
        ] {
            let error = refused.load(conn).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
        let error = timeless.per(Period::Month).load(conn).unwrap_err();
        assert!(error.to_string().contains("counter_value"), "{error}");
        let series = counter_series(views).between(day(2026, 1, 20)..=day(2026, 1, 10));
        for period in [Period::Day, Period::Month] {
            assert_eq!(series.of(1_i64).per(period).load(conn), Ok(vec![]));
            let many = series.of_many([1_i64, 2]).per(period);
            assert_eq!(many.load(conn), Ok(vec![vec![], vec![]]));
        }
    });
    assert_eq!(watched.queries, [""; 0]);
}

/// The greatest count, 1 and -5: whether it overflows in between depends on the order.
#[test]
fn only_the_sum_itself_has_to_be_in_range() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let amounts = [i64::MAX, 1, -5];
    for (on, amount) in day(2026, 1, 1).iter_days().zip(amounts) {
        count_on(1, on, amount, conn);
    }
    let sum = i64::MAX - 4;
    let months = counter_series(views).of(1_i64).per(Period::Month);
    assert_eq!(months.load(conn), Ok(vec![(day(2026, 1, 1), sum)]));
    let set = set_counter(views).of(1_i64).to(7).execute(conn);
    if HAS_SLOTS {
        assert_eq!(set, Ok(sum));
    } else {
        // A SUM of SQLite overflows if a part of it does.
        assert!(is_overflow(&set.unwrap_err()));
    }
    for order in [[0, 1, 2], [2, 1, 0]] {
        let counts = order.map(|i| (2_i64, amounts[i]));
        let added = increment(likes).of_many(counts).execute(conn);
        assert_eq!(added, Ok(1), "{order:?}");
        let back = increment(likes).of(2_i64).by(-sum);
        back.execute(conn).unwrap();
    }
    let overflow = increment(likes).of_many([(2_i64, i64::MAX), (2, 1)]);
    assert!(is_overflow(&overflow.execute(conn).unwrap_err()));
}
