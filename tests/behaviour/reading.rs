//! Reading an entity's counters.

use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{self, comments, likes, views};
use diesel_counters_tests::watch::watch;

use super::day;
use crate::TestDatabase;

#[test]
fn an_entity_never_counted_has_zero() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    assert_eq!(article.counter_value(views, &mut conn), Ok(0));
    assert_eq!(
        article.counter_value_on((views, likes), day(2026, 1, 1), &mut conn),
        Ok((0, 0))
    );
}

#[test]
fn a_value_is_the_sum_over_days_and_slots() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for (d, slot, n) in [(1, 0, 1), (1, 1, 10), (2, 0, 100), (2, 31, 1000)] {
        insert_row(d, slot, n, &mut conn);
    }
    assert_eq!(article.counter_value(views, &mut conn), Ok(1111));
    for (d, sum) in [(1, 11), (2, 1100), (3, 0)] {
        let value = article.counter_value_on(views, day(2026, 1, d), &mut conn);
        assert_eq!(value, Ok(sum));
    }
}

#[test]
fn several_counters_are_read_in_one_query() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article
        .incr_counter_by((views, likes, comments), (1, 2, 3), &mut conn)
        .unwrap();
    let watched = watch(&mut conn, |conn| {
        let value = article.counter_value((comments, views, likes), conn);
        assert_eq!(value, Ok((3, 1, 2)));
    });
    assert_eq!(watched.queries.len(), 1);
}

#[test]
fn without_a_model_an_entity_is_named_by_its_key() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    increment(views)
        .of(1_i64)
        .on(day(2026, 1, 1))
        .by(3)
        .execute(conn)
        .unwrap();
    article.incr_counter(views, conn).unwrap();
    let all = counter_value(views).of(1_i64).get_result::<i64>(conn);
    assert_eq!(all, Ok(4));
    let of_a_day = counter_value((views, likes))
        .of(&article.id)
        .on(day(2026, 1, 1));
    assert_eq!(of_a_day.get_result::<(i64, i64)>(conn), Ok((3, 0)));
}

#[test]
fn a_value_beyond_2_to_the_53_is_exact() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let big = (1 << 53) + 1;
    insert_row(1, 0, big, &mut conn);
    insert_row(2, 0, 1 << 61, &mut conn);
    article.incr_counter(views, &mut conn).unwrap();
    assert_eq!(
        article.counter_value(views, &mut conn),
        Ok(big + (1 << 61) + 1)
    );
}

fn insert_row(d: u32, slot: i16, n: i64, conn: &mut crate::Conn) {
    diesel::insert_into(article_counters::table)
        .values((
            article_counters::article_id.eq(1),
            article_counters::day.eq(day(2026, 1, d)),
            article_counters::slot.eq(slot),
            views.eq(n),
        ))
        .execute(conn)
        .unwrap();
}
