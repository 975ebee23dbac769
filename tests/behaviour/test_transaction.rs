//! Programs whose tests run in `begin_test_transaction`, which is never committed.

use diesel::prelude::*;
use diesel_counters::Drift;
use diesel_counters::dsl::{compact, fold, recount};
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, comments, views};
use diesel_counters_tests::schema::articles;

use super::together::insert_comment;
use super::{article, comments_by_article, day};
use crate::TestDatabase;

#[test]
fn every_operation_works_in_a_test_transaction() {
    let (database, mut conn, article_1) = TestDatabase::with_article();
    let conn = &mut conn;
    conn.begin_test_transaction().unwrap();

    article_1.incr_counter(views, conn).unwrap();
    increment(views)
        .of_many([(1_i64, 2), (2, 3)])
        .execute(conn)
        .unwrap();
    let retried = diesel_counters::retry().run(conn, |conn| article_1.incr_counter(views, conn));
    assert_eq!(retried, Ok(()));
    for d in 1..=2 {
        for slot in 0..3 {
            let slot = diesel_counters::Slot::Partition {
                index: slot,
                of: 32,
            };
            let counts = increment(views).of(1_i64).on(day(2026, 1, d)).slot(slot);
            counts.execute(conn).unwrap();
        }
    }
    let table = article_counters::table;
    assert_eq!(compact(table).execute(conn).unwrap().left, 0);
    assert_eq!(
        fold(table)
            .before(day(2026, 2, 1))
            .execute(conn)
            .unwrap()
            .left,
        0
    );
    assert_eq!(article_1.counter_value(views, conn), Ok(10));

    insert_comment(1, conn).unwrap();
    assert_eq!(
        article_1.recount(comments, comments_by_article(), conn),
        Ok(1)
    );
    insert_comment(2, conn).unwrap();
    let drift: Vec<Drift<i64>> = recount(comments, comments_by_article())
        .execute(conn)
        .unwrap();
    assert_eq!(drift.len(), 1);
    assert_eq!(article_1.set_counter(views, 7, conn), Ok(10));
    let written = Article::materialize(views, articles::total_views).execute(conn);
    assert_eq!(written, Ok(2));
    assert_eq!(article(2).delete_counters(conn), Ok(1));
    assert_eq!(article_1.counter_value(views, conn), Ok(7));

    let other = &mut database.connect();
    assert_eq!(
        article_1.counter_value((views, comments), other),
        Ok((0, 0))
    );
}
