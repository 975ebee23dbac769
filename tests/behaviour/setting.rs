//! Giving a counter another value.

use diesel::connection::{Connection, SimpleConnection};
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::dsl::set_counter;
use diesel_counters::is_retryable;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{
    Page, Site, TimelessArticle, Visitor, monthly_counters, timeless_counters, weekly_counters,
};
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::schema::page_counters::hits;
use diesel_counters_tests::schema::site_counters;
use diesel_counters_tests::schema::user_counters::visits;

use super::compacting::insert_row;
use super::{article, day, utc_today};
use crate::{IS_MYSQL, TestDatabase, write_transaction};

#[test]
fn a_counter_is_set_and_tells_what_it_was() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    assert_eq!(article.set_counter(views, 7, conn), Ok(0));
    article.incr_counter(views, conn).unwrap();
    assert_eq!(article.set_counter(views, -3, conn), Ok(8));
    assert_eq!(
        article.set_counter((likes, comments), (1, 2), conn),
        Ok((0, 0))
    );
    let value = article.counter_value((views, likes, comments), conn);
    assert_eq!(value, Ok((-3, 1, 2)));
    assert_eq!(article.set_counter(views, 0, conn), Ok(-3));
    assert_eq!(
        article.set_counter((views, likes), (0, 0), conn),
        Ok((0, 1))
    );
    let value = article.counter_value((views, likes, comments), conn);
    assert_eq!(value, Ok((0, 0, 2)));
    assert_eq!(super::article(2).counter_value(views, conn), Ok(0));
}

#[test]
fn the_days_before_stay_as_they_were() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    let yesterday = utc_today().pred_opt().unwrap();
    for d in [day(2026, 1, 1), yesterday] {
        let counts = increment(views).of(1_i64).on(d).by(10);
        counts.execute(conn).unwrap();
    }
    assert_eq!(article.set_counter(views, 5, conn), Ok(20));
    assert_eq!(article.counter_value_on(views, yesterday, conn), Ok(10));
    let before = article.counter_value_between(views, ..=yesterday, conn);
    assert_eq!(before, Ok(20));
    assert_eq!(article.counter_value_on(views, utc_today(), conn), Ok(-15));
    let bars = article.daily_counts(views, .., conn).unwrap();
    assert_eq!(bars[0], (day(2026, 1, 1), 10));
}

#[test]
fn an_entity_may_be_named_by_its_key() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let visitor = Visitor { id: 7, name: "" };
    assert_eq!(set_counter(visits).of(7).to(3).execute(&mut conn), Ok(0));
    assert_eq!(visitor.set_counter(visits, 4, &mut conn), Ok(3));
    assert_eq!(visitor.counter_value(visits, &mut conn), Ok(4));
}

#[test]
fn a_model_without_days_is_set_too() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let timeless = TimelessArticle { id: 1 };
    timeless
        .incr_counter(timeless_counters::views, &mut conn)
        .unwrap();
    assert_eq!(
        timeless.set_counter(timeless_counters::views, 10, &mut conn),
        Ok(1)
    );
    assert_eq!(
        timeless.counter_value(timeless_counters::views, &mut conn),
        Ok(10)
    );
}

#[test]
fn a_value_is_set_in_the_callers_transaction() {
    let (database, mut conn, article) = TestDatabase::with_article();
    let result: QueryResult<()> = write_transaction(&mut conn, |conn| {
        article.incr_counter(views, conn)?;
        assert_eq!(article.set_counter(views, 10, conn), Ok(1));
        article.incr_counter(views, conn)?;
        assert_eq!(article.counter_value(views, conn), Ok(11));
        assert_eq!(article.counter_value(views, &mut database.connect()), Ok(0));
        Err(Error::RollbackTransaction)
    });
    assert_eq!(result, Err(Error::RollbackTransaction));
    assert_eq!(article.counter_value(views, &mut conn), Ok(0));
}

#[test]
fn what_others_committed_since_the_transaction_began_is_seen() {
    if !crate::HAS_SLOTS {
        return; // SQLite lets nobody else write meanwhile.
    }
    let (database, mut conn, article) = TestDatabase::with_article();
    let elsewhere = &mut database.connect();
    conn.batch_execute(crate::OVERWRITE_CHANGED_ROWS).unwrap();
    conn.transaction(|conn| {
        assert_eq!(article.counter_value(views, conn), Ok(0));
        article.incr_counter_by(views, 100, elsewhere)?;
        assert_eq!(article.set_counter(views, 7, conn), Ok(100));
        QueryResult::Ok(())
    })
    .unwrap();
    assert_eq!(article.counter_value(views, &mut conn), Ok(7));
}

/// A transaction that is open has read the counts that are no longer there.
#[test]
fn a_set_of_counters_that_were_deleted_since_the_transaction_began_conflicts() {
    let (database, mut conn, article) = TestDatabase::with_article();
    let (conn, other) = (&mut conn, &mut database.connect());
    article.incr_counter_by(views, 31, conn).unwrap();
    let fails = crate::FAIL_ON_CHANGED_ROWS.map(|sql| conn.batch_execute(sql).is_ok());
    if fails != Some(true) {
        return;
    }
    let set = conn.transaction(|conn| {
        assert_eq!(article.counter_value(views, conn), Ok(31));
        assert_eq!(article.delete_counters(other), Ok(1));
        article.set_counter(views, 100, conn)
    });
    assert!(set.as_ref().is_err_and(is_retryable), "{set:?}");
    assert_eq!(article.counter_value(views, conn), Ok(0));
    assert_eq!(article.set_counter(views, 100, conn), Ok(0));
    assert_eq!(article.counter_value(views, conn), Ok(100));
}

#[test]
fn a_total_beyond_an_i64_is_an_error_and_nothing_is_set() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    for d in 1..=2 {
        let of_day = increment(views).of(1_i64).on(day(2026, 1, d));
        of_day.by(i64::MAX).execute(conn).unwrap();
    }
    let set = article.set_counter(views, 100, conn);
    assert!(diesel_counters::is_overflow(&set.unwrap_err()));
    let first = article.counter_value_on(views, day(2026, 1, 1), conn);
    assert_eq!(first, Ok(i64::MAX));
}

#[test]
fn a_difference_beyond_an_i64_is_an_error_and_changes_nothing() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let article = article(1);
    article.incr_counter_by(views, i64::MIN, &mut conn).unwrap();
    let result = article.set_counter(views, i64::MAX, &mut conn);
    assert!(diesel_counters::is_overflow(&result.unwrap_err()));
    assert_eq!(article.counter_value(views, &mut conn), Ok(i64::MIN));
}

#[test]
fn a_day_is_set_and_the_others_stay() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
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
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    let days = Vec::from_iter(day(2026, 1, 1).iter_days().take(300));
    increment(views)
        .of(2_i64)
        .on(days[3])
        .by(5)
        .execute(conn)
        .unwrap();
    increment((views, likes))
        .of(1_i64)
        .on(days[0])
        .by((9, 1))
        .execute(conn)
        .unwrap();
    increment(views)
        .of(1_i64)
        .on(days[299].succ_opt().unwrap())
        .execute(conn)
        .unwrap();
    let log = || {
        let all = (1..=5_i64).flat_map(|id| days.iter().zip(1..).map(move |(on, n)| (id, *on, n)));
        // Twice the same day: they are added up.
        all.chain([(5, days[0], 100)])
    };
    let mut seen = Vec::new();
    let set = set_counter(views).of_days(log()).batch(400);
    let set = set.on_progress(|so_far| seen.push(so_far.compared));
    let set = set.execute(conn).unwrap();
    assert_eq!((set.compared, set.different), (1500, 1500));
    assert_eq!(seen, [400, 800, 1200, 1500]);
    let again = set_counter(views).of_days(log()).execute(conn).unwrap();
    assert_eq!((again.compared, again.different), (1500, 0));

    let total = 300 * 301 / 2;
    for (id, more) in [(1, 1), (2, 0), (3, 0), (4, 0), (5, 100)] {
        assert_eq!(
            article(id).counter_value(views, conn),
            Ok(total + more),
            "{id}"
        );
    }
    assert_eq!(article(1).counter_value(likes, conn), Ok(1));
    assert_eq!(article(2).counter_value_on(views, days[3], conn), Ok(4));

    let lower = set_counter((views, likes)).of_days([(1_i64, days[0], (0, 0))]);
    assert_eq!(lower.execute(conn).unwrap().different, 1);
    assert_eq!(
        article(1).counter_value((views, likes), conn),
        Ok((total, 0))
    );
    let none = set_counter(views).of_days(Vec::<(i64, _, _)>::new());
    assert_eq!(none.execute(conn).unwrap().compared, 0);
}

#[test]
fn days_of_keys_of_text_and_of_a_site_are_set() {
    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    let [first, second] = [1, 2].map(|d| day(2026, 3, d));
    for different in [3, 0] {
        let log = [("/a", first, 1), ("/b", second, 2), ("/b", first, 3)];
        let set = set_counter(hits).of_days(log).execute(conn).unwrap();
        assert_eq!(set.different, different);
        let log = [((), first, 4), ((), second, 5)];
        let set = set_counter(site_counters::hits).of_days(log);
        assert_eq!(set.execute(conn).unwrap().different, different.min(2));
    }
    let page = Page {
        url: "/b".to_owned(),
    };
    assert_eq!(page.counter_value(hits, conn), Ok(5));
    assert_eq!(Site.counter_value(site_counters::hits, conn), Ok(9));
    // In a table of weeks, the days of a week are added up: Monday and Sunday.
    let week = [(1_i64, day(2026, 11, 16), 1), (1, day(2026, 11, 22), 2)];
    let set = set_counter(weekly_counters::views)
        .of_days(week)
        .execute(conn);
    assert_eq!(set.unwrap().compared, 1);
    let total = counter_value(weekly_counters::views).of(1_i64);
    assert_eq!(total.on(day(2026, 11, 18)).get_result(conn), Ok(3_i64));
}

#[test]
fn an_import_in_the_callers_transaction_rolls_back_with_it_or_is_refused() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let import = || set_counter(views).of_days([(1_i64, day(2026, 1, 1), 5)]);
    let result = write_transaction(&mut conn, |conn| {
        let set = import().execute(conn);
        if IS_MYSQL {
            let error = set.unwrap_err().to_string();
            assert!(
                error.contains("run this outside of a transaction"),
                "{error}"
            );
        } else {
            assert_eq!(set.unwrap().different, 1);
        }
        QueryResult::<()>::Err(Error::RollbackTransaction)
    });
    assert_eq!(result, Err(Error::RollbackTransaction));
    assert_eq!(article.counter_value(views, &mut conn), Ok(0));
}

#[test]
fn a_key_that_is_spelled_in_two_ways_is_refused() {
    let database = TestDatabase::create();
    let conn = &mut database.connect();
    let [before, caseless] = crate::CASELESS;
    conn.batch_execute(&format!(
        "{before} CREATE TABLE page_counters (
            path {caseless} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            hits BIGINT NOT NULL, PRIMARY KEY (path, day, slot)
        )"
    ))
    .unwrap();
    let on = day(2026, 1, 1);
    let set = |log: &[(&'static str, i64)], conn: &mut _| {
        let log = log.iter().map(|&(path, count)| (path, on, count));
        set_counter(hits).of_days(log).execute(conn)
    };
    assert!(set(&[("foo", 3), ("FOO", 4)], conn).is_err());
    assert_eq!(set(&[("foo", 3), ("bar", 4)], conn).unwrap().different, 2);
    assert_eq!(set(&[("FOO", 3), ("BAR", 5)], conn).unwrap().different, 1);
    let sum = counter_value(hits).of("Foo").get_result(conn);
    assert_eq!(sum, Ok(3_i64));
    let log = [("FOO", on, 3), ("bar", on, 4), ("foo", on, 5)];
    let one_by_one = set_counter(hits).of_days(log).batch(1).execute(conn);
    assert!(one_by_one.is_err(), "{one_by_one:?}");
}

diesel::table! {
    #[sql_name = "article_counters"]
    yearly_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(yearly_counters { period = Year });

/// As after a change of the table's `period`.
#[test]
fn the_count_of_a_period_is_set_also_if_its_days_were_counted() {
    macro_rules! set_by {
        ($table:ident, $days:expr, $starts:expr) => {
            let (_database, mut conn, article) = TestDatabase::with_article();
            let conn = &mut conn;
            for (month, d, n) in [(1, 5, 3), (1, 8, 1), (1, 15, 4), (2, 3, 100)] {
                let count = increment(views).of(1_i64).on(day(2026, month, d)).by(n);
                count.execute(conn).unwrap();
            }
            let log = [(15, 9), (16, 1)].map(|(d, n)| (1_i64, day(2026, 1, d), n));
            let before: i64 = article.counter_value_between(views, $days, conn).unwrap();
            let elsewhere = article.counter_value(views, conn).unwrap() - before;
            for different in [1, 0] {
                let set = || set_counter($table::views).of_days(log);
                assert_eq!(set().dry_run(conn).unwrap().different, different);
                assert_eq!(set().execute(conn).unwrap().different, different);
                let set = article.counter_value_between(views, $days, conn);
                assert_eq!(set, Ok(10), "{}", stringify!($table));
                let total = article.counter_value(views, conn);
                assert_eq!(total, Ok(elsewhere + 10));
            }
            let is_first = |row: &super::Row| row.day == $starts;
            assert!(super::rows(&article, conn).iter().any(is_first));
        };
    }
    let on = |month, d| day(2026, month, d);
    set_by!(weekly_counters, on(1, 12)..=on(1, 18), on(1, 12));
    set_by!(monthly_counters, on(1, 1)..=on(1, 31), on(1, 1));
    set_by!(yearly_counters, on(1, 1)..=on(12, 31), on(1, 1));
}
