//! What users of Rails' counter caches and of its slotted-counter gem rely on.

use chrono::{NaiveDate, NaiveDateTime};
use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{Article, Visitor};
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::schema::user_counters::visits;
use diesel_counters_tests::schema::{self, articles, notes};
use diesel_counters_tests::watch::watch;

use super::{comments_by_article, day};
use crate::{Conn, TestDatabase, write_transaction};

#[test]
fn increment_once_gives_1() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article.incr_counter(views, &mut conn).unwrap();
    assert_eq!(article.counter_value(views, &mut conn), Ok(1));
}

#[test]
fn decrement_once_gives_minus_1() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    article.incr_counter_by(views, -1, &mut conn).unwrap();
    assert_eq!(article.counter_value(views, &mut conn), Ok(-1));
}

#[test]
fn update_by_an_id() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let by_id = increment(views).of(article.id).by(5);
    assert_eq!(by_id.execute(&mut conn), Ok(1));
    assert_eq!(article.counter_value(views, &mut conn), Ok(5));
}

#[test]
fn update_by_a_list_of_ids() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let ids = [1_i64, 3, 4];
    let by_ids = increment(views).of_many(ids.map(|id| (id, 2)));
    assert_eq!(by_ids.execute(&mut conn), Ok(3));
    let values = Article::counter_values(&[1, 2, 3, 4].map(super::article), views, &mut conn);
    assert_eq!(values, Ok(vec![2, 0, 2, 2]));
}

#[test]
fn more_increments_than_slots_give_as_many() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for _ in 0..101 {
        let one = increment(views).of(article.id);
        let one = one.slot(diesel_counters::Slot::Random);
        one.execute(&mut conn).unwrap();
    }
    assert_eq!(article.counter_value(views, &mut conn), Ok(101));
}

#[test]
fn more_decrements_than_slots_give_as_many() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for _ in 0..101 {
        let one = increment(views).of(article.id).by(-1);
        let one = one.slot(diesel_counters::Slot::Random);
        one.execute(&mut conn).unwrap();
    }
    assert_eq!(article.counter_value(views, &mut conn), Ok(-101));
}

fn insert_comment(of: &Article, conn: &mut Conn) {
    use schema::comments::{article_id, body, table};
    diesel::insert_into(table)
        .values((article_id.eq(of.id), body.eq("Nice.")))
        .execute(conn)
        .unwrap();
}

#[test]
fn creating_and_destroying_children_gives_1_2_0() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for expected in 1..=2 {
        write_transaction(&mut conn, |conn| {
            insert_comment(&article, conn);
            article.incr_counter(comments, conn)
        })
        .unwrap();
        assert_eq!(article.counter_value(comments, &mut conn), Ok(expected));
    }
    write_transaction(&mut conn, |conn| {
        let destroyed = diesel::delete(schema::comments::table).execute(conn)?;
        article.incr_counter_by(comments, -(destroyed as i64), conn)
    })
    .unwrap();
    assert_eq!(article.counter_value(comments, &mut conn), Ok(0));
}

#[test]
fn two_models_share_one_kind_of_child_and_count_apart() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    // Of the same key.
    let visitor = Visitor { id: 1, name: "" };
    let note = |subject: &str, conn: &mut Conn| {
        diesel::insert_into(notes::table)
            .values((notes::subject.eq(subject), notes::subject_id.eq(1)))
            .execute(conn)
    };
    for _ in 0..3 {
        note("article", conn).unwrap();
        article.incr_counter(likes, conn).unwrap();
    }
    note("visitor", conn).unwrap();
    visitor.incr_counter(visits, conn).unwrap();
    assert_eq!(article.counter_value(likes, conn), Ok(3));
    assert_eq!(visitor.counter_value(visits, conn), Ok(1));

    let of_articles = notes::table
        .filter(notes::subject.eq("article"))
        .group_by(notes::subject_id)
        .select((notes::subject_id, count_star()));
    assert_eq!(article.recount(likes, of_articles, conn), Ok(0));
    assert_eq!(Article::recount_all(likes, of_articles, conn), Ok(vec![]));
}

#[test]
fn recount_from_0_to_1_after_a_raw_insert() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    insert_comment(&article, conn);
    assert_eq!(article.counter_value(comments, conn), Ok(0));
    article
        .recount(comments, comments_by_article(), conn)
        .unwrap();
    assert_eq!(article.counter_value(comments, conn), Ok(1));
}

#[test]
fn recount_clears_a_wrong_value() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    insert_comment(&article, conn);
    article.incr_counter(comments, conn).unwrap();
    insert_comment(&article, conn);
    assert_eq!(article.counter_value(comments, conn), Ok(1));
    article
        .recount(comments, comments_by_article(), conn)
        .unwrap();
    assert_eq!(article.counter_value(comments, conn), Ok(2));
}

#[test]
fn two_counters_in_one_call() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    article
        .incr_counter_by((views, likes), (2, -1), conn)
        .unwrap();
    assert_eq!(article.counter_value((views, likes), conn), Ok((2, -1)));
}

#[test]
fn two_counters_recounted_in_one_call() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    insert_comment(&article, conn);
    article
        .incr_counter_by((comments, likes), (5, 5), conn)
        .unwrap();
    let both = {
        use schema::comments::{article_id, table};
        table
            .group_by(article_id)
            .select((article_id, count_star(), count_star()))
    };
    let added = article.recount((comments, likes), both, conn);
    assert_eq!(added, Ok((-4, -4)));
    assert_eq!(article.counter_value((comments, likes), conn), Ok((1, 1)));
}

#[test]
fn a_page_of_twenty_with_counts_takes_at_most_two_queries() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    for id in 6..=20 {
        let article = super::article(id);
        diesel::insert_into(articles::table)
            .values(&article)
            .execute(conn)
            .unwrap();
    }
    let counts = (1..=20).map(|id| (id, (id, 1)));
    increment((views, likes))
        .of_many(counts)
        .execute(conn)
        .unwrap();

    let watched = watch(conn, |conn| {
        let page = articles::table.order(articles::id).limit(20);
        let page = page.select(Article::as_select()).load(conn).unwrap();
        let counts = Article::counter_values(&page, (views, likes), conn).unwrap();
        assert_eq!((counts.len(), counts[19]), (20, (20, 1)));
    });
    assert_eq!(watched.queries.len(), 2);

    let watched = watch(conn, |conn| {
        let page: Vec<(Article, i64, i64)> = articles::table
            .order(articles::id)
            .limit(20)
            .select((Article::as_select(), total(views), total(likes)))
            .load(conn)
            .unwrap();
        assert_eq!((page.len(), page[19].1, page[19].2), (20, 20, 1));
    });
    assert_eq!(watched.queries.len(), 1);
}

#[test]
fn the_models_own_counter_column_is_left_alone() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    diesel::update(articles::table.find(1))
        .set(articles::total_views.eq(articles::total_views + 7))
        .execute(conn)
        .unwrap();
    article.incr_counter(views, conn).unwrap();
    article.set_counter(views, 50, conn).unwrap();
    article.set_counter(views, 0, conn).unwrap();
    let own = articles::table.find(1).select(articles::total_views);
    assert_eq!(own.first(conn), Ok(7_i64));
    assert_eq!(article.counter_value(views, conn), Ok(0));
}

#[test]
fn touching_a_timestamp_is_the_callers_own_statement() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let now: NaiveDateTime = day(2026, 11, 21).and_hms_opt(12, 0, 0).unwrap();
    let watched = watch(&mut conn, |conn| {
        write_transaction(conn, |conn| {
            article.incr_counter(comments, conn)?;
            diesel::update(articles::table.find(article.id))
                .set(articles::updated_at.eq(now))
                .execute(conn)
        })
        .unwrap();
    });
    let of_articles = watched
        .queries
        .iter()
        .filter(|sql| sql.contains("updated_at"));
    assert_eq!(of_articles.count(), 1);
    let touched = articles::table.find(1).select(articles::updated_at);
    assert_eq!(touched.first(&mut conn), Ok(Some(now)));
    assert_eq!(article.counter_value(comments, &mut conn), Ok(1));
    let _: NaiveDate = now.date();
}
