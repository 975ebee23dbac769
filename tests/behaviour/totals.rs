//! Totals as expressions in Diesel's queries.

use diesel::connection::SimpleConnection;
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::dsl::Total;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{self, likes, views};
use diesel_counters_tests::schema::{articles, comments};

use super::{count_on, day, insert_comment};
use crate::{Conn, TestDatabase};

type Backend = <Conn as Connection>::Backend;

/// Articles 1 to 5 have 30, 0, 20, 20, and 2^53 + 1 views, some of them on the second
/// day; article 3 has a like on it.
fn counted() -> (Conn, TestDatabase) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    let of_small = [(1, 1, 10), (1, 2, 20), (3, 1, 20), (4, 2, 20)];
    for (id, d, n) in of_small.into_iter().chain([(5, 1, 1 << 53), (5, 2, 1)]) {
        count_on(id, day(2026, 1, d), n, &mut conn);
    }
    let like = increment(likes).of(3).on(day(2026, 1, 2));
    like.execute(&mut conn).unwrap();
    (conn, database)
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
    let (conn, _database) = &mut counted();
    let listed = articles::table.find(3).select(Listed::as_select());
    let listed = listed.first(conn).unwrap();
    assert_eq!((listed.read, listed.liked), (20, 1));
    assert_eq!(listed.title, "Article 3");
}

/// As a user of Diesel would read it.
#[test]
fn a_total_is_its_own_first_row() {
    let (conn, _database) = &mut counted();
    let of_one = counter_value(views).of(1_i64);
    assert_eq!(of_one.first(conn), Ok(30_i64));
    let of_none = counter_value((views, likes)).of(2_i64);
    assert_eq!(of_none.first(conn), Ok((0_i64, 0_i64)));
}

#[test]
fn a_total_is_part_of_joins() {
    let (conn, _database) = &mut counted();
    insert_comment(3, "one", conn).unwrap();
    insert_comment(3, "two", conn).unwrap();
    // The article of the second one is missing, and its total is 0 and not NULL.
    let found = articles::id.eq(comments::article_id);
    let left = comments::table.left_join(articles::table.on(found.and(comments::body.eq("one"))));
    let left = left.select((comments::body, total(views)));
    let left: Vec<(String, i64)> = left.order(comments::id).load(conn).unwrap();
    assert_eq!(left, [("one".to_owned(), 20), ("two".to_owned(), 0)]);

    let grouped = articles::table.inner_join(comments::table);
    let grouped = grouped.filter(total(views).eq(20)).group_by(articles::id);
    let grouped = grouped.select((articles::id, count_star(), total(views)));
    assert_eq!(grouped.load(conn), Ok(vec![(3_i64, 2_i64, 20_i64)]));

    // The counter table itself is in the query, too.
    let rows = articles::table.inner_join(article_counters::table);
    let rows = rows.filter(article_counters::article_id.eq(1));
    let rows = rows.filter(article_counters::day.eq(day(2026, 1, 1)));
    let rows = rows.select((article_counters::views, total(views)));
    assert_eq!(rows.load(conn), Ok(vec![(10_i64, 30_i64)]));
}

#[test]
fn a_total_may_be_of_any_key_in_the_query() {
    let (conn, _database) = &mut counted();
    insert_comment(3, "on three", conn).unwrap();
    let of_a_foreign_key = comments::table.select(total(views).of(comments::article_id));
    assert_eq!(of_a_foreign_key.load(conn), Ok(vec![20_i64]));

    let other = diesel::alias!(articles as other);
    let of_an_alias = other.filter(other.field(articles::id).eq(1));
    let of_an_alias = of_an_alias.select(total(views).of(other.field(articles::id)));
    assert_eq!(of_an_alias.first(conn), Ok(30_i64));

    // The name of the counter table stays the outer one's.
    let rows = article_counters::table.filter(article_counters::day.eq(day(2026, 1, 2)));
    let rows = rows.filter(article_counters::article_id.eq(1));
    let of_a_row = rows.select(total(views).of(article_counters::article_id));
    assert_eq!(of_a_row.first(conn), Ok(30_i64));
}

#[test]
fn a_total_is_part_of_boxed_queries_subqueries_and_updates() {
    let (conn, _database) = &mut counted();
    insert_comment(3, "on three", conn).unwrap();
    insert_comment(2, "on two", conn).unwrap();
    let mut query = articles::table.select(articles::id).into_boxed();
    query = query.filter(total(views).ge(20).and(articles::id.ne(0)));
    query = query.order(total(views).desc());
    let ids = query.then_order_by(articles::id).load(conn);
    assert_eq!(ids, Ok(vec![5_i64, 1, 3, 4]));

    let popular = articles::table.filter(total(views).gt(10));
    let of_popular = comments::article_id.eq_any(popular.select(articles::id));
    let bodies = comments::table.filter(of_popular).select(comments::body);
    assert_eq!(bodies.load(conn), Ok(vec!["on three".to_owned()]));

    let update = diesel::update(articles::table.filter(total(views).eq(20)));
    let update = update.set(articles::total_views.eq(total(views)));
    assert_eq!(update.execute(conn), Ok(2));
    let held = articles::table.find(3).select(articles::total_views);
    assert_eq!(held.first(conn), Ok(20_i64));
}

#[test]
fn totals_of_boxed_keys_are_not_taken_for_each_other() {
    type Key = Box<dyn BoxableExpression<articles::table, Backend, SqlType = BigInt>>;
    let (conn, _database) = &mut counted();
    let keys: [(Key, i64); 3] = [
        (Box::new(articles::id), 30),
        (Box::new(articles::id + 1), 0),
        (Box::new(articles::id + 2), 20),
    ];
    for (key, views_of_it) in keys {
        let of_the_first = articles::table.find(1).select(total(views).of(key));
        assert_eq!(of_the_first.get_result(conn), Ok(views_of_it));
    }
}

#[test]
fn totals_can_be_calculated_with() {
    let (conn, _database) = &mut counted();
    let score = total(views) + total(likes) * 2_i64 - 1_i64;
    let scores = articles::table.select((articles::id, score));
    let scores = scores.filter((total(views) / 5_i64).eq(4));
    let scores = scores.order(articles::id).load(conn);
    assert_eq!(scores, Ok(vec![(3_i64, 21_i64), (4, 19)]));
}

#[test]
fn a_total_may_be_of_a_key_that_can_be_null() {
    diesel::table! {
        replies (id) { id -> BigInt, article_id -> Nullable<BigInt> }
    }
    let (conn, _database) = &mut counted();
    conn.batch_execute(
        "CREATE TABLE replies (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT);
         INSERT INTO replies VALUES (1, 3), (2, NULL)",
    )
    .unwrap();
    let read = (replies::id, total(views).of(replies::article_id));
    let read = replies::table.select(read).order(replies::id);
    assert_eq!(read.load(conn), Ok(vec![(1_i64, 20_i64), (2, 0)]));
}

/// Diesel writes a column of SQLite's RETURNING without its table.
#[test]
fn a_key_without_its_table_is_not_the_counter_tables_own() {
    if crate::HAS_SLOTS {
        return;
    }
    let (conn, _database) = &mut counted();
    insert_comment(3, "Nice!", conn).unwrap();
    let article_id = diesel::dsl::sql::<BigInt>("article_id");
    let read = comments::table.select(total(views).of(article_id));
    assert_eq!(read.load(conn), Ok(vec![20_i64]));
    // Nor a name of our own.
    diesel::table! {
        notes (entity) { entity -> BigInt }
    }
    conn.batch_execute("CREATE TABLE notes (entity BIGINT); INSERT INTO notes VALUES (3)")
        .unwrap();
    let entity = diesel::dsl::sql::<BigInt>("entity");
    let read = notes::table.select(total(views).of(entity));
    assert_eq!(read.load(conn), Ok(vec![20_i64]));
}
