//! The most counted.

use diesel::prelude::*;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{Article, WeeklyArticle, comment_counters, weekly_counters};
use diesel_counters_tests::schema::article_counters::{likes, views};
use diesel_counters_tests::schema::{articles, comments};
use diesel_counters_tests::watch::watch;

use super::day;
use crate::{Conn, TestDatabase};

/// In all 5 has 40 views, 2 and 4 have 20, 1 has -1, and 3 was never counted; on the
/// second day 4 has 20 and 5 has 10.
fn counted() -> (TestDatabase, Conn) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for (id, d, n) in [(5, 1, 30), (5, 2, 10), (4, 2, 20), (2, 1, 20), (1, 1, -1)] {
        let counts = increment(views).of(id).on(day(2026, 1, d)).by(n);
        counts.execute(&mut conn).unwrap();
    }
    (database, conn)
}

#[test]
fn the_top_are_keys_and_totals_with_ties_by_key() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let all = vec![(5, 40), (2, 20), (4, 20), (1, -1)];
    assert_eq!(Article::top(views, 100, .., conn), Ok(all.clone()));
    assert_eq!(Article::top(views, 2, .., conn), Ok(all[..2].to_vec()));
    assert_eq!(Article::top(views, 0, .., conn), Ok(vec![]));
    let second = day(2026, 1, 2);
    assert_eq!(
        Article::top(views, 9, second.., conn),
        Ok(vec![(4, 20), (5, 10)])
    );
    assert_eq!(Article::top(likes, 1, second.., conn), Ok(vec![(4, 0)]));
    // Of the model's week, of which that Friday is.
    let friday = increment(weekly_counters::views).of(3_i64).on(second);
    friday.execute(conn).unwrap();
    assert_eq!(
        WeeklyArticle::top(weekly_counters::views, 9, second..=second, conn).unwrap()[1],
        (2, 20)
    );
}

#[test]
fn a_ranking_is_a_query() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let most: Vec<(i64, i64)> = ranking(views).limit(1).load(conn).unwrap();
    assert_eq!(most, [(5, 40)]);
    let first = ranking(views)
        .between(..day(2026, 1, 2))
        .first::<(i64, i64)>(conn);
    assert_eq!(first, Ok((5, 30)));
}

#[test]
fn models_are_loaded_with_their_ranking() {
    let (_database, mut conn) = counted();
    let watched = watch(&mut conn, |conn| {
        let top = ranking(views).limit(3);
        let rows: Vec<(Article, i64)> = articles::table
            .inner_join(top)
            .select((Article::as_select(), top.total()))
            .order((top.total().desc(), articles::id))
            .load(conn)
            .unwrap();
        let rows: Vec<_> = rows.into_iter().map(|(a, n)| (a.title, n)).collect();
        let expected = [("Article 5", 40), ("Article 2", 20), ("Article 4", 20)];
        assert_eq!(rows, expected.map(|(title, n)| (title.to_owned(), n)));
    });
    assert_eq!(watched.queries.len(), 1);
}

#[test]
fn a_ranking_is_joined_as_any_table_is() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let top = ranking(views).between(day(2026, 1, 2)..).limit(10);
    let left: Vec<(i64, i64)> = articles::table
        .left_join(top)
        .select((articles::id, top.total()))
        .order(articles::id)
        .load(conn)
        .unwrap();
    assert_eq!(left, [(1, 0), (2, 0), (3, 0), (4, 20), (5, 10)]);

    let on: Vec<(i64, i64)> = articles::table
        .inner_join(top.on(top.entity().eq(articles::id)))
        .filter(top.total().gt(10))
        .select((articles::id, total(views)))
        .load(conn)
        .unwrap();
    assert_eq!(on, [(4, 20)]);

    let everything = articles::table
        .inner_join(top)
        .select(Article::as_select())
        .order(articles::id)
        .into_boxed()
        .filter(articles::title.ne("Article 4"))
        .load(conn)
        .unwrap();
    assert_eq!(everything.len(), 1);
}

/// Comment 1 is on article 5, 4 on 2, and 5 on 1; 4 has 7 likes, and 5 has 3.
fn commented() -> (TestDatabase, Conn) {
    let (database, mut conn) = counted();
    for (id, article) in [(1, 5), (4, 2), (5, 1)] {
        let article = comments::article_id.eq(article);
        let comment = (comments::id.eq(id), article, comments::body.eq("Nice"));
        let insert = diesel::insert_into(comments::table).values(comment);
        insert.execute(&mut conn).unwrap();
    }
    increment_many(comment_counters::likes, [(4_i64, 7), (5, 3)], &mut conn).unwrap();
    (database, conn)
}

// The tables and their `counter_table!` are in another crate than this.
#[test]
fn a_ranking_is_joined_beside_a_table_with_counters_of_its_own() {
    let (_database, mut conn) = commented();
    let conn = &mut conn;
    let read = ranking(views).limit(2);
    let articles_first: Vec<(i64, i64, i64)> = articles::table
        .inner_join(read)
        .inner_join(comments::table)
        .select((comments::id, articles::id, read.total()))
        .order(comments::id)
        .load(conn)
        .unwrap();
    assert_eq!(articles_first, [(1, 5, 40), (4, 2, 20)]);

    let comments_first: Vec<(i64, i64, i64)> = comments::table
        .inner_join(articles::table.left_join(read))
        .select((comments::id, articles::id, read.total()))
        .order(comments::id)
        .load(conn)
        .unwrap();
    assert_eq!(comments_first, [(1, 5, 40), (4, 2, 20), (5, 1, 0)]);

    let without_articles: Vec<(i64, i64)> = comments::table
        .inner_join(read.on(read.entity().eq(comments::article_id)))
        .select((comments::id, read.total()))
        .order(comments::id)
        .load(conn)
        .unwrap();
    assert_eq!(without_articles, [(1, 40), (4, 20)]);

    let liked = ranking(comment_counters::likes).limit(2);
    let of_the_comments: Vec<(i64, i64)> = comments::table
        .inner_join(liked)
        .inner_join(articles::table)
        .select((articles::id, liked.total()))
        .order(articles::id)
        .load(conn)
        .unwrap();
    assert_eq!(of_the_comments, [(1, 3), (2, 7)]);
}

#[test]
fn an_article_that_is_not_in_a_ranking_has_no_entity_and_a_total_of_0() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    let top = ranking(views).limit(1);
    let left = articles::table
        .left_join(top)
        .filter(articles::id.ge(4))
        .order(articles::id);
    let nullable = left
        .select((top.entity().nullable(), top.total().nullable()))
        .load::<(Option<i64>, Option<i64>)>(conn);
    assert_eq!(nullable.unwrap(), [(None, Some(0)), (Some(5), Some(40))]);

    let selected = left.select((Article::as_select(), (top.entity(), top.total()).nullable()));
    let selected = selected
        .load::<(Article, Option<(i64, i64)>)>(conn)
        .unwrap();
    let selected: Vec<_> = selected.into_iter().map(|(_, ranked)| ranked).collect();
    assert_eq!(selected, [None, Some((5, 40))]);
}

#[test]
fn a_ranking_is_prepared_once() {
    let (_database, mut conn) = counted();
    let watched = watch(&mut conn, |conn| {
        for n in 0..20 {
            let top = ranking(views)
                .between(day(2026, 1, 1 + n)..)
                .limit(n.into());
            let joined = articles::table.inner_join(top).select(top.total());
            joined.load::<i64>(conn).unwrap();
        }
    });
    assert_eq!(
        watched.prepared.len(),
        super::KEPT,
        "{:?}",
        watched.prepared
    );
}

#[test]
fn a_limit_may_be_any_number() {
    let (_database, mut conn) = counted();
    let conn = &mut conn;
    for (n, expected) in [(0, 0), (1, 1), (4, 4), (5, 4), (i64::MAX, 4)] {
        assert_eq!(Article::top(views, n, .., conn).unwrap().len(), expected);
        let joined = articles::table.inner_join(ranking(views).limit(n));
        let joined = joined.select(articles::id).load::<i64>(conn);
        assert_eq!(joined.unwrap().len(), expected);
    }
    // As with Diesel's own `limit`, some databases take it for none, and some refuse it.
    for n in [-1, i64::MIN] {
        let top = Article::top(views, n, .., conn);
        assert!(top.as_ref().map_or(true, |top| top.len() == 4), "{top:?}");
    }
}
