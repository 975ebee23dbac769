//! The caller owns the transaction.

use diesel::connection::Connection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool};
use diesel::result::Error;
use diesel_counters::Drift;
use diesel_counters::dsl::{recount, set_counter};
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{comments, views};
use diesel_counters_tests::schema::{self};
use diesel_counters_tests::watch::watch;

use crate::{Conn, IS_MYSQL, TestDatabase, write_transaction};

#[test]
fn a_count_commits_with_the_rows_next_to_it() {
    let (database, mut conn, article) = TestDatabase::with_article();
    let elsewhere = &mut database.connect();
    write_transaction(&mut conn, |conn| {
        diesel::insert_into(schema::comments::table)
            .values((
                schema::comments::article_id.eq(article.id),
                schema::comments::body.eq("Nice."),
            ))
            .execute(conn)?;
        article.incr_counter(comments, conn)?;
        // Nobody else sees it yet.
        assert_eq!(article.counter_value(comments, elsewhere), Ok(0));
        assert_eq!(article.counter_value(comments, conn), Ok(1));
        QueryResult::Ok(())
    })
    .unwrap();
    assert_eq!(article.counter_value(comments, elsewhere), Ok(1));
    assert_eq!(
        schema::comments::table.count().get_result(elsewhere),
        Ok(1_i64)
    );
}

#[test]
fn a_transaction_that_rolls_back_counts_nothing() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let result: QueryResult<()> = conn.transaction(|conn| {
        article.incr_counter(views, conn)?;
        Err(Error::RollbackTransaction)
    });
    assert_eq!(result, Err(Error::RollbackTransaction));
    assert_eq!(article.counter_value(views, &mut conn), Ok(0));
}

#[test]
fn a_savepoint_that_rolls_back_takes_only_its_own_count() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    conn.transaction(|conn| {
        article.incr_counter_by(views, 1, conn)?;
        let inner: QueryResult<()> = conn.transaction(|conn| {
            article.incr_counter_by(views, 10, conn)?;
            Err(Error::RollbackTransaction)
        });
        assert_eq!(inner, Err(Error::RollbackTransaction));
        conn.transaction(|conn| article.incr_counter_by(views, 100, conn))
    })
    .unwrap();
    assert_eq!(article.counter_value(views, &mut conn), Ok(101));
}

#[test]
fn counting_works_inside_a_test_transaction() {
    let (database, mut conn, article) = TestDatabase::with_article();
    conn.begin_test_transaction().unwrap();
    article.incr_counter(views, &mut conn).unwrap();
    conn.transaction(|conn| article.incr_counter(views, conn))
        .unwrap();
    assert_eq!(article.counter_value(views, &mut conn), Ok(2));
    drop(conn);
    assert_eq!(article.counter_value(views, &mut database.connect()), Ok(0));
}

#[test]
fn counting_works_on_a_pooled_connection() {
    let (database, _conn, article) = TestDatabase::with_article();
    let pool = Pool::builder()
        .max_size(1)
        .build(ConnectionManager::<Conn>::new(database.url()))
        .unwrap();
    let conn = &mut pool.get().unwrap();
    article.incr_counter(views, conn).unwrap();
    article
        .incr_counter_by((views, comments), (1, 1), conn)
        .unwrap();
    increment(views)
        .of_many([(1_i64, 1), (2, 1)])
        .execute(conn)
        .unwrap();
    conn.transaction(|conn| article.incr_counter(views, conn))
        .unwrap();
    assert_eq!(article.counter_value((views, comments), conn), Ok((4, 1)));
}

#[test]
fn an_increment_is_one_statement_and_begins_no_transaction() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let watched = watch(&mut conn, |conn| article.incr_counter(views, conn).unwrap());
    assert_eq!(watched.queries.len(), 1, "{:?}", watched.queries);
    assert!(
        watched.queries[0].starts_with("INSERT INTO"),
        "{:?}",
        watched.queries
    );
}

#[test]
fn an_increment_of_an_entity_that_is_not_there_is_the_databases_error() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let result = increment(views).of(404_i64).execute(&mut conn);
    assert!(
        matches!(
            result,
            Err(Error::DatabaseError(
                diesel::result::DatabaseErrorKind::ForeignKeyViolation,
                _
            ))
        ),
        "{result:?}"
    );
}

/// The SQL of what is refused cannot be written, and an instrumentation prints each statement.
#[test]
fn what_an_open_transaction_forbids_is_refused_before_there_is_a_statement() {
    type Run = fn(&mut Conn) -> QueryResult<()>;
    fn one_day() -> [(i64, chrono::NaiveDate, i64); 1] {
        [(1, super::day(2026, 1, 1), 5)]
    }
    let runs: [Run; 4] = [
        |conn| {
            set_counter(views)
                .of_days(one_day())
                .execute(conn)
                .map(drop)
        },
        |conn| {
            set_counter(views)
                .of_days(one_day())
                .dry_run(conn)
                .map(drop)
        },
        |conn| {
            let recount = recount(comments, super::comments_by_article());
            recount.of(1_i64).execute(conn).map(drop)
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
        let of_counters = watched
            .queries
            .iter()
            .find(|sql| sql.contains("article_counters"));
        assert_eq!(of_counters.is_none(), IS_MYSQL, "{of_counters:?}");
    }
}
