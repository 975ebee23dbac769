//! Reading an entity's counters.

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text, Untyped};
use diesel_counters::dsl::LayoutSum;
use diesel_counters::prelude::*;
use diesel_counters::{Layout, Period};
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
        .incr_counters((views.by(1), likes.by(2), comments.by(3)), &mut conn)
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

#[test]
fn a_filter_of_a_layouts_sums_may_have_an_or() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    for (d, slot, n) in [(1, 0, 1), (2, 1, 10), (2, 2, 100)] {
        insert_row(d, slot, n, &mut conn);
    }
    let layout = layout();
    let sums = layout.sums().filter(sql::<Bool>("slot = 0 OR slot = 1"));
    let sum: LayoutSum = sums
        .between(day(2026, 1, 2)..)
        .get_result(&mut conn)
        .unwrap();
    assert_eq!((sum.rows, &*sum.sums), (1, &[10][..]));
}

#[test]
fn the_sums_of_a_layout_are_those_of_all_rows() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    insert_row(1, 0, 1, conn);
    conn.batch_execute(
        "INSERT INTO article_counters (article_id, day, slot, views)
         VALUES (1, '0999-12-31', 0, 10), (1, '1970-01-01', 0, 100)",
    )
    .unwrap();
    assert_eq!(article.counter_value(views, conn), Ok(111));
    let layout = layout();
    let all: LayoutSum = layout.sums().get_result(conn).unwrap();
    assert_eq!((all.rows, &*all.sums), (3, &[111][..]));
    let first = Some(day(2026, 1, 1));
    assert_eq!((all.first_day, all.last_day), (first, first));
    let days: Vec<LayoutSum> = layout.sums().by_day().load(conn).unwrap();
    assert_eq!(days.len(), 2);
}

#[test]
fn the_sums_of_a_layout_are_grouped_by_entity_or_slot() {
    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    conn.batch_execute(
        "INSERT INTO article_counters (article_id, day, slot, views)
         VALUES (1, '2026-01-01', 0, 1), (2, '2026-01-01', 0, 3), (2, '2026-01-02', 1, 4), (3, '2026-01-01', 1, 5)",
    )
    .unwrap();
    let layout = layout();
    let slots: Vec<LayoutSum> = layout.sums().by_slot().load(conn).unwrap();
    let slots: Vec<_> = slots.iter().map(|sum| (sum.slot, sum.sums[0])).collect();
    assert_eq!(slots, [(Some(0), 4), (Some(1), 9)]);

    let key = || sql::<Text>("concat(article_id, '')");
    let of = |sums: Vec<LayoutSum>| -> Vec<_> {
        let sum = |sum: LayoutSum| (sum.entity.unwrap(), sum.sums[0]);
        sums.into_iter().map(sum).collect()
    };
    let [one, two, three] = [("1", 1), ("2", 7), ("3", 5)].map(|(key, n)| (key.to_owned(), n));
    let all = layout.sums().by_entity(key()).load(conn).unwrap();
    assert_eq!(of(all), [one, two.clone(), three.clone()]);
    let greatest = layout.sums().by_entity(key()).greatest(2);
    assert_eq!(of(greatest.load(conn).unwrap()), [two, three]);
}

/// The layout of `article_counters`, with one of its counters.
fn layout() -> Layout<SqlLiteral<Untyped>> {
    Layout {
        table: sql("article_counters"),
        name: "article_counters".into(),
        period: Period::Day,
        entity: vec!["article_id".into()],
        day: "day".into(),
        slot: "slot".into(),
        counters: vec!["views".into()],
        others: vec![],
    }
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
