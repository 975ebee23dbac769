//! The most counted.

use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters_tests::models::{Article, WeeklyArticle, weekly_counters};
use diesel_counters_tests::schema::article_counters::{likes, views};
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
fn a_ranking_is_prepared_once() {
    let (_database, mut conn) = counted();
    let watched = watch(&mut conn, |conn| {
        for n in 0..20 {
            let top = ranking(views)
                .between(day(2026, 1, 1 + n)..)
                .limit(n.into());
            top.load::<(i64, i64)>(conn).unwrap();
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
    }
    // As with Diesel's own `limit`, some databases take it for none, and some refuse it.
    for n in [-1, i64::MIN] {
        let top = Article::top(views, n, .., conn);
        assert!(top.as_ref().map_or(true, |top| top.len() == 4), "{top:?}");
    }
}
