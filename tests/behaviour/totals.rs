//! Totals as expressions in Diesel's queries.

use diesel::connection::SimpleConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::dsl::Total;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, likes, views};
use diesel_counters_tests::schema::{articles, comments};
use diesel_counters_tests::watch::watch;

use super::{article, day};
use crate::{Conn, TestDatabase};

type Backend = <Conn as Connection>::Backend;

/// Articles 1 to 5 have 30, 0, 20, 20, and 2^53 + 1 views, some of them on the second
/// day; article 3 has a like on it.
fn counted() -> (TestDatabase, Conn) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for (id, d, n) in [
        (1, 1, 10),
        (1, 2, 20),
        (3, 1, 20),
        (4, 2, 20),
        (5, 1, 1 << 53),
        (5, 2, 1),
    ] {
        let counts = increment(views).of(id).on(day(2026, 1, d)).by(n);
        counts.execute(&mut conn).unwrap();
    }
    let like = increment(likes).of(3).on(day(2026, 1, 2));
    like.execute(&mut conn).unwrap();
    (database, conn)
}

const LARGE: i64 = (1 << 53) + 1;

#[test]
fn a_total_is_selected_next_to_the_model() {
    let (_database, mut conn) = counted();
    let rows: Vec<(Article, i64, i64)> = articles::table
        .select((Article::as_select(), total(views), total(likes)))
        .order(articles::id)
        .load(&mut conn)
        .unwrap();
    let rows: Vec<_> = rows.into_iter().map(|(a, v, l)| (a.id, v, l)).collect();
    assert_eq!(
        rows,
        [(1, 30, 0), (2, 0, 0), (3, 20, 1), (4, 20, 0), (5, LARGE, 0)]
    );
}

#[test]
fn a_total_may_be_of_some_days() {
    let (_database, mut conn) = counted();
    let d = |d| day(2026, 1, d);
    let rows: Vec<(i64, i64, i64, i64, i64, i64)> = articles::table
        .select((
            articles::id,
            total(views).on(d(2)),
            total(views).between(d(2)..),
            total(views).between(..d(2)),
            total(views).between(d(1)..=d(2)),
            total(views).between(d(2)..d(1)),
        ))
        .filter(articles::id.le(3))
        .order(articles::id)
        .load(&mut conn)
        .unwrap();
    assert_eq!(
        rows,
        [
            (1, 20, 20, 10, 30, 0),
            (2, 0, 0, 0, 0, 0),
            (3, 0, 0, 20, 20, 0)
        ]
    );
}

#[test]
fn a_total_filters_and_orders() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let popular = articles::table
        .filter(total(views).gt(10))
        .filter(total(views).lt(LARGE).or(total(likes).eq(7)))
        .order(total(likes).desc())
        .then_order_by(total(views).desc())
        .then_order_by(articles::id)
        .select(articles::id);
    assert_eq!(popular.load(conn), Ok(vec![3_i64, 1, 4]));
    assert_eq!(popular.limit(1).offset(1).load(conn), Ok(vec![1_i64]));
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = articles)]
struct Listed {
    title: String,
    #[diesel(select_expression = total(article_counters::views))]
    read: i64,
    #[diesel(select_expression = total(likes))]
    #[diesel(select_expression_type = Total<likes>)]
    liked: i64,
}

#[test]
fn a_total_may_be_a_field_of_a_model() {
    let (_database, mut conn) = counted();
    let listed = articles::table
        .find(3)
        .select(Listed::as_select())
        .first(&mut conn)
        .unwrap();
    assert_eq!((listed.read, listed.liked), (20, 1));
    assert_eq!(listed.title, "Article 3");
}

fn comment_on(id: i64, body: &str, conn: &mut Conn) {
    diesel::insert_into(comments::table)
        .values((comments::article_id.eq(id), comments::body.eq(body)))
        .execute(conn)
        .unwrap();
}

#[test]
fn a_total_is_part_of_joins() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    comment_on(3, "on three", conn);
    let inner: Vec<(String, i64)> = comments::table
        .inner_join(articles::table)
        .select((comments::body, total(views)))
        .filter(total(views).eq(20))
        .load(conn)
        .unwrap();
    assert_eq!(inner, [("on three".to_owned(), 20)]);

    let left: Vec<(i64, Option<String>, i64)> = articles::table
        .left_join(comments::table)
        .select((articles::id, comments::body.nullable(), total(views)))
        .filter(articles::id.between(2, 3))
        .order(articles::id)
        .load(conn)
        .unwrap();
    assert_eq!(left, [(2, None, 0), (3, Some("on three".to_owned()), 20)]);

    // The article is missing, and its total is 0 and not NULL.
    let outer: Vec<(i64, i64)> = articles::table
        .left_join(comments::table.on(comments::body.eq("no such")))
        .select((articles::id, total(views).of(articles::id)))
        .order(articles::id)
        .limit(1)
        .load(conn)
        .unwrap();
    assert_eq!(outer, [(1, 30)]);
    let missing: Vec<(String, i64)> = comments::table
        .left_join(articles::table.on(articles::id.eq(99)))
        .select((comments::body, total(views)))
        .load(conn)
        .unwrap();
    assert_eq!(missing, [("on three".to_owned(), 0)]);

    // The counter table itself is in the query, too.
    let rows: Vec<(i64, i64)> = articles::table
        .inner_join(article_counters::table)
        .filter(article_counters::article_id.eq(1))
        .filter(article_counters::day.eq(day(2026, 1, 1)))
        .select((article_counters::views, total(views)))
        .load(conn)
        .unwrap();
    assert_eq!(rows, [(10, 30)]);
}

#[test]
fn a_total_may_be_of_any_key_in_the_query() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    comment_on(3, "on three", conn);
    let of_a_foreign_key: Vec<(String, i64)> = comments::table
        .select((comments::body, total(views).of(comments::article_id)))
        .load(conn)
        .unwrap();
    assert_eq!(of_a_foreign_key, [("on three".to_owned(), 20)]);

    let other = diesel::alias!(articles as other);
    let of_an_alias: i64 = other
        .filter(other.field(articles::id).eq(1))
        .select(total(views).of(other.field(articles::id)))
        .first(conn)
        .unwrap();
    assert_eq!(of_an_alias, 30);

    // The name of the counter table stays the outer one's.
    let of_a_row: i64 = article_counters::table
        .filter(article_counters::day.eq(day(2026, 1, 2)))
        .filter(article_counters::article_id.eq(1))
        .select(total(views).of(article_counters::article_id))
        .first(conn)
        .unwrap();
    assert_eq!(of_a_row, 30);
}

#[test]
fn a_total_is_part_of_boxed_queries() {
    let (_database, mut conn) = counted();
    for (only_popular, by_views, expected) in [
        (true, true, vec![5_i64, 1, 3, 4]),
        (true, false, vec![1, 3, 4, 5]),
        (false, true, vec![5, 1, 3, 4, 2]),
    ] {
        let mut query = articles::table.select(articles::id).into_boxed();
        if only_popular {
            query = query.filter(total(views).ge(20).and(articles::id.ne(0)));
        }
        if by_views {
            query = query.order(total(views).desc());
        }
        let ids = query.then_order_by(articles::id).load(&mut conn);
        assert_eq!(ids, Ok(expected));
    }
}

#[test]
fn a_total_is_part_of_subqueries_and_updates() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    comment_on(3, "on three", conn);
    comment_on(2, "on two", conn);
    let of_popular = comments::table
        .filter(
            comments::article_id.eq_any(
                articles::table
                    .filter(total(views).gt(10))
                    .select(articles::id),
            ),
        )
        .select(comments::body);
    assert_eq!(of_popular.load(conn), Ok(vec!["on three".to_owned()]));

    let updated = diesel::update(articles::table.filter(total(views).eq(20)))
        .set(articles::total_views.eq(total(views)))
        .execute(conn);
    assert_eq!(updated, Ok(2));
    let held = articles::table.find(3).select(articles::total_views);
    assert_eq!(held.first(conn), Ok(20_i64));
}

#[test]
fn a_total_may_be_grouped_by_its_key() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    comment_on(3, "one", conn);
    comment_on(3, "two", conn);
    let rows: Vec<(i64, i64, i64)> = articles::table
        .inner_join(comments::table)
        .group_by(articles::id)
        .select((articles::id, count_star(), total(views)))
        .load(conn)
        .unwrap();
    assert_eq!(rows, [(3, 2, 20)]);
}

#[test]
fn a_query_with_totals_is_prepared_once() {
    let (_database, mut conn) = counted();
    let watched = watch(&mut conn, |conn| {
        for d in 1..=20 {
            let page: Vec<(i64, i64)> = articles::table
                .select((articles::id, total(views)))
                .order(total(views).between(day(2026, 1, d)..).desc())
                .limit(i64::from(d))
                .load(conn)
                .unwrap();
            assert_eq!(page.len(), (d as usize).min(5));
        }
    });
    assert_eq!(watched.queries.len(), 20);
    assert_eq!(
        watched.prepared.len(),
        super::KEPT,
        "{:?}",
        watched.prepared
    );
}

#[test]
fn totals_of_boxed_keys_are_not_taken_for_each_other() {
    type Key = Box<dyn BoxableExpression<articles::table, Backend, SqlType = BigInt>>;
    let (_database, mut conn) = counted();
    let keys: [(Key, i64); 3] = [
        (Box::new(articles::id), 30),
        (Box::new(articles::id + 1), 0),
        (Box::new(articles::id + 2), 20),
    ];
    for (key, views_of_it) in keys {
        let of_the_first = articles::table.find(1).select(total(views).of(key));
        assert_eq!(of_the_first.get_result(&mut conn), Ok(views_of_it));
    }
}

#[test]
fn a_total_beyond_an_i64_is_an_error() {
    let (_database, mut conn) = counted();
    for d in 1..=2 {
        let counts = increment(views).of(2).on(day(2026, 1, d));
        counts.by(i64::MAX).execute(&mut conn).unwrap();
    }
    // Twice: the connection and its statement stay usable.
    for _ in 0..2 {
        let result = articles::table.select(total(views)).load::<i64>(&mut conn);
        assert!(
            result.as_ref().is_err_and(diesel_counters::is_overflow),
            "{result:?}"
        );
    }
    assert_eq!(article(1).counter_value(views, &mut conn), Ok(30));
}

#[test]
fn totals_can_be_calculated_with() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    article
        .incr_counter_by((views, likes), (10, 3), conn)
        .unwrap();
    let score = total(views) + total(likes) * 2_i64 - 1_i64;
    let scores = articles::table
        .select((articles::id, score))
        .filter((total(views) / 5_i64).eq(2))
        .load::<(i64, i64)>(conn);
    assert_eq!(scores, Ok(vec![(1, 15)]));
}

#[test]
fn a_total_may_be_of_a_key_that_can_be_null() {
    diesel::table! {
        replies (id) {
            id -> BigInt,
            article_id -> Nullable<BigInt>,
        }
    }
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    conn.batch_execute(
        "CREATE TABLE replies (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT);
         INSERT INTO replies VALUES (1, 3), (2, NULL)",
    )
    .unwrap();
    let read: Vec<(i64, i64)> = replies::table
        .select((replies::id, total(views).of(replies::article_id)))
        .order(replies::id)
        .load(conn)
        .unwrap();
    assert_eq!(read, [(1, 20), (2, 0)]);
}
