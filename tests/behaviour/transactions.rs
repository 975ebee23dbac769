//! Operations in a transaction of the caller's.

use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::Drift;
use diesel_counters::dsl::{compact, delete_counters, fold, recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, comments, views};
use diesel_counters_tests::schema::articles;
use diesel_counters_tests::watch::watch;

use super::{added, comments_by_article, day, insert_comment};
use crate::{Conn, IS_MYSQL, TestDatabase, write_transaction};

/// The SQL of what is refused cannot be written, and an instrumentation prints each statement.
#[test]
fn what_an_open_transaction_forbids_is_refused_before_there_is_a_statement() {
    type Run = fn(&mut Conn) -> QueryResult<()>;
    fn one_day() -> [(i64, chrono::NaiveDate, i64); 1] {
        [(1, super::day(2026, 1, 1), 5)]
    }
    let runs: [Run; 3] = [
        |conn| {
            let set = set_counter(views).of_days(one_day());
            set.execute(conn).map(drop)
        },
        |conn| {
            let recount = recount(comments, super::comments_by_article());
            recount.of(1_i64).execute::<i64, _>(conn).map(drop)
        },
        |conn| {
            let recounted: QueryResult<Vec<Drift<i64>>> =
                recount(comments, super::comments_by_article()).execute(conn);
            recounted.map(drop)
        },
    ];
    for run in runs {
        let (_database, mut conn, _article) = TestDatabase::with_article();
        let watched = watch(&mut conn, |conn| {
            let result = write_transaction(conn, run);
            let is_refused = matches!(result, Err(Error::QueryBuilderError(_)));
            assert_eq!(is_refused, IS_MYSQL, "{result:?}");
        });
        let mut queries = watched.queries.iter();
        let of_counters = queries.find(|sql| sql.contains("article_counters"));
        assert_eq!(of_counters.is_none(), IS_MYSQL, "{of_counters:?}");
    }
}

/// As in programs whose tests run in `begin_test_transaction`, which is never committed.
#[test]
fn every_operation_works_in_a_test_transaction() {
    let (conn, database, article_1) = &mut TestDatabase::with_connection();
    conn.begin_test_transaction().unwrap();

    article_1.incr_counter(views, conn).unwrap();
    let count = increment(views).of_many([(1_i64, 2), (2, 3)]);
    count.execute(conn).unwrap();
    let retried = diesel_counters::retry().run(conn, |conn| article_1.incr_counter(views, conn));
    assert_eq!(retried, Ok(()));
    for d in 1..=2 {
        for index in 0..3 {
            crate::count_in_slot(index + 1, conn);
            let counts = increment(views).of(1_i64).on(day(2026, 1, d));
            counts.execute(conn).unwrap();
        }
    }
    let table = article_counters::table;
    assert_eq!(compact(table).execute(conn).unwrap().left, 0);
    let folded = fold(table).before(day(2026, 2, 1)).execute(conn);
    assert_eq!(folded.unwrap().left, 0);
    assert_eq!(article_1.counter_value(views, conn), Ok(10));

    insert_comment(1, "", conn).unwrap();
    let corrected = recount(comments, comments_by_article()).of(&*article_1);
    assert_eq!(added(corrected.execute::<i64, _>(conn)), Ok(1));
    insert_comment(2, "", conn).unwrap();
    let drift = recount(comments, comments_by_article()).execute::<i64, _>(conn);
    assert_eq!(drift.map(|drift| drift.len()), Ok(1));
    let set = set_counter(views).of(1_i64).to(7);
    assert_eq!(set.execute(conn), Ok(10));
    let written = Article::materialize(views, articles::total_views).execute(conn);
    assert_eq!(written, Ok(2));
    let delete = delete_counters(table).of(2_i64);
    assert_eq!(delete.execute(conn), Ok(1));
    assert_eq!(article_1.counter_value(views, conn), Ok(7));

    let other = &mut database.connect();
    let found = article_1.counter_value((views, comments), other);
    assert_eq!(found, Ok((0, 0)));
}
