//! Giving a counter another value.

use diesel::connection::{Connection, SimpleConnection};
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::dsl::set_counter;
use diesel_counters::is_retryable;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{TimelessArticle, Visitor, timeless_counters};
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::schema::user_counters::visits;

use super::{article, day, utc_today};
use crate::{TestDatabase, write_transaction};

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
    assert_eq!(article.reset_counter(views, conn), Ok(-3));
    assert_eq!(article.reset_counter((views, likes), conn), Ok((0, 1)));
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
fn a_total_beyond_an_i64_is_set() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    let count = |amount: i64, conn: &mut crate::Conn| {
        for d in 1..=5 {
            let day = increment(views).of(1_i64).on(day(2026, 1, d)).by(amount);
            day.execute(conn).unwrap();
        }
    };
    count(i64::MAX, conn);
    assert_eq!(article.set_counter(views, 100, conn), Ok(i64::MAX));
    assert_eq!(article.counter_value(views, conn), Ok(100));
    assert_eq!(article.reset_counter(views, conn), Ok(100));
    count(i64::MIN / 2, conn);
    let before = article.reset_counter((views, likes), conn);
    assert_eq!(before, Ok((i64::MIN, 0)));
    assert_eq!(article.counter_value(views, conn), Ok(0));
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
