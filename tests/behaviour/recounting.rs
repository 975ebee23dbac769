//! Recounting from the rows that were counted.

use diesel::dsl::count_star;
use diesel::prelude::*;
use diesel::sql_types::Integer;
use diesel_counters::dsl::recount;
use diesel_counters::prelude::*;
use diesel_counters::{Drift, is_overflow};
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema;
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::schema::user_counters::visits;
use diesel_counters_tests::watch::watch;

use super::{article, comments_by_article, day, rows};
use crate::{Conn, IS_MYSQL, TestDatabase, write_transaction};

fn comment_on(id: i64, conn: &mut Conn) {
    use schema::comments::{article_id, body, table};
    diesel::insert_into(table)
        .values((article_id.eq(id), body.eq("Nice.")))
        .execute(conn)
        .unwrap();
}

/// Articles 1 and 3 have two comments, 4 one; counted are 2, 0, and 1, and 7 of
/// article 5.
fn drifted() -> (TestDatabase, Conn) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for id in [1, 1, 3, 3, 4] {
        comment_on(id, &mut conn);
    }
    for d in 1..=2 {
        increment(comments)
            .on(day(2026, 1, d))
            .of_many([(1, 1), (5, 3)])
            .execute(&mut conn)
            .unwrap();
    }
    increment(comments)
        .of_many([(4, 1), (5, 1)])
        .execute(&mut conn)
        .unwrap();
    (database, conn)
}

fn drift(entity: i64, stored: i64, actual: i64) -> Drift<i64> {
    Drift {
        entity,
        day: None,
        stored,
        actual,
    }
}

#[test]
fn one_entity_is_put_right() {
    let (_database, mut conn) = drifted();
    let conn = &mut conn;
    assert_eq!(
        article(3).recount(comments, comments_by_article(), conn),
        Ok(2)
    );
    assert_eq!(
        article(5).recount(comments, comments_by_article(), conn),
        Ok(-7)
    );
    assert_eq!(
        article(1).recount(comments, comments_by_article(), conn),
        Ok(0)
    );
    let values = Article::counter_values(&[1, 2, 3, 4, 5].map(article), comments, conn);
    assert_eq!(values, Ok(vec![2, 0, 2, 1, 0]));
    let by_key = recount(comments, comments_by_article())
        .of(3_i64)
        .execute(conn);
    assert_eq!(by_key, Ok(0));
}

#[test]
fn a_dry_run_tells_the_drift_and_changes_nothing() {
    let (_database, mut conn) = drifted();
    let watched = watch(&mut conn, |conn| {
        let found: Vec<Drift<i64>> = recount(comments, comments_by_article())
            .dry_run(conn)
            .unwrap();
        assert_eq!(found, [drift(3, 0, 2), drift(5, 7, 0)]);
    });
    let reads = watched.queries.iter();
    let reads = reads.filter(|sql| sql.contains("article_counters"));
    assert_eq!(reads.count(), 1);
    assert_eq!(article(3).counter_value(comments, &mut conn), Ok(0));
    assert_eq!(rows(&article(3), &mut conn), []);
}

#[test]
fn a_whole_table_is_put_right_in_batches() {
    for batch in [1, 2, 1000] {
        let (_database, mut conn) = drifted();
        let conn = &mut conn;
        let corrected: Vec<Drift<i64>> = recount(comments, comments_by_article())
            .batch(batch)
            .execute(conn)
            .unwrap();
        assert_eq!(corrected, [drift(3, 0, 2), drift(5, 7, 0)]);
        let values = Article::counter_values(&[1, 2, 3, 4, 5].map(article), comments, conn);
        assert_eq!(values, Ok(vec![2, 0, 2, 1, 0]));
        let again = Article::recount_all(comments, comments_by_article(), conn);
        assert_eq!(again, Ok(vec![]));
    }
}

#[test]
fn a_batch_of_any_size_leaves_no_entity_out() {
    const ENTITIES: usize = 33_000;
    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    write_transaction(conn, |conn| {
        increment(visits)
            .of_many((0..ENTITIES as i32).map(|id| (id, 1)))
            .execute(conn)
    })
    .unwrap();
    let nobody = {
        use schema::notes::{id, table};
        table.select((1.into_sql::<Integer>(), id)).filter(id.eq(0))
    };
    let counts = recount(visits, nobody).batch(100_000);
    let corrected: Vec<Drift<i32>> = counts.execute(conn).unwrap();
    assert_eq!(corrected.len(), ENTITIES);
    let left: Vec<Drift<i32>> = recount(visits, nobody).dry_run(conn).unwrap();
    assert_eq!(left, []);
}

#[test]
fn nothing_is_removed_and_days_before_stay() {
    let (_database, mut conn) = drifted();
    let conn = &mut conn;
    article(5).incr_counter_by(likes, 9, conn).unwrap();
    Article::recount_all(comments, comments_by_article(), conn).unwrap();
    let five = article(5);
    assert_eq!(
        five.counter_value_on(comments, day(2026, 1, 1), conn),
        Ok(3)
    );
    assert_eq!(five.counter_value((comments, likes), conn), Ok((0, 9)));
}

#[test]
fn several_counters_are_recounted_in_one_call() {
    let (_database, mut conn) = drifted();
    let conn = &mut conn;
    let source = {
        use schema::comments::{article_id, id, table};
        table.group_by(article_id).select((
            article_id,
            count_star(),
            diesel::dsl::max(id).assume_not_null(),
        ))
    };
    let found: Vec<Drift<i64, (i64, i64)>> =
        recount((comments, views), source).dry_run(conn).unwrap();
    let stored: Vec<_> = found.iter().map(|d| (d.entity, d.stored)).collect();
    assert_eq!(stored, [(1, (2, 0)), (3, (0, 0)), (4, (1, 0)), (5, (7, 0))]);
    let added = article(3).recount((comments, views), source, conn).unwrap();
    assert_eq!(added.0, 2);
    assert_eq!(article(3).counter_value((comments, views), conn), Ok(added));
    Article::recount_all((comments, views), source, conn).unwrap();
    let again = Article::recount_all((comments, views), source, conn);
    assert_eq!(again, Ok(vec![]));
}

#[test]
fn the_source_may_be_any_query() {
    let (_database, mut conn) = drifted();
    let conn = &mut conn;
    use schema::comments::{article_id, body, table};
    let boxed = table
        .group_by(article_id)
        .select((article_id, count_star()))
        .filter(body.eq("Nice."))
        .into_boxed();
    let found: Vec<Drift<i64>> = recount(comments, boxed).dry_run(conn).unwrap();
    assert_eq!(found, [drift(3, 0, 2), drift(5, 7, 0)]);
    // Rows of the same entity add up, with and without a group.
    let one_each = table.select((article_id, 1_i64.into_sql::<diesel::sql_types::BigInt>()));
    let found: Vec<Drift<i64>> = recount(comments, one_each).dry_run(conn).unwrap();
    assert_eq!(found, [drift(3, 0, 2), drift(5, 7, 0)]);
}

#[test]
fn a_recount_in_the_callers_transaction_rolls_back_with_it_or_is_refused() {
    let (_database, mut conn) = drifted();
    let result: QueryResult<()> = write_transaction(&mut conn, |conn| {
        let added = article(3).recount(comments, comments_by_article(), conn);
        if IS_MYSQL {
            let error = added.unwrap_err().to_string();
            assert!(
                error.contains("run this outside of a transaction"),
                "{error}"
            );
        } else {
            assert_eq!(added, Ok(2));
        }
        Err(diesel::result::Error::RollbackTransaction)
    });
    assert_eq!(result, Err(diesel::result::Error::RollbackTransaction));
    assert_eq!(article(3).counter_value(comments, &mut conn), Ok(0));
}

/// What it could read of the counts there can be as old as the transaction.
#[test]
fn on_mysql_a_recount_in_a_transaction_is_refused_if_no_count_seems_wrong_too() {
    let (_database, mut conn) = drifted();
    let conn = &mut conn;
    Article::recount_all(comments, comments_by_article(), conn).unwrap();
    let again = conn.transaction(|conn| {
        let again: Vec<Drift<i64>> = Article::recount_all(comments, comments_by_article(), conn)?;
        QueryResult::Ok(again)
    });
    if IS_MYSQL {
        let error = again.unwrap_err().to_string();
        assert!(error.contains("outside of a transaction"), "{error}");
    } else {
        assert_eq!(again, Ok(vec![]));
    }
}

#[test]
fn a_recount_is_prepared_once() {
    let (_database, mut conn) = drifted();
    let watched = watch(&mut conn, |conn| {
        for _ in 0..20 {
            for id in 1..=5 {
                article(id)
                    .recount(comments, comments_by_article(), conn)
                    .unwrap();
            }
        }
    });
    let selects = watched
        .prepared
        .iter()
        .filter(|sql| sql.contains("UNION ALL"));
    assert_eq!(selects.count(), super::KEPT, "{:?}", watched.prepared);
}

#[test]
fn a_recount_of_a_total_beyond_an_i64_is_an_error_and_changes_nothing() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    comment_on(1, conn);
    for d in 1..=2 {
        let counts = increment(comments).of(1_i64).on(day(2026, 1, d));
        counts.by(i64::MAX).execute(conn).unwrap();
    }
    let before = rows(&article, conn);
    let all = || recount(comments, comments_by_article());
    let found = all().dry_run::<i64, _>(conn).map(drop);
    let corrected = all().execute::<i64, _>(conn).map(drop);
    let one = article.recount(comments, comments_by_article(), conn);
    for result in [found, corrected, one.map(drop)] {
        assert!(is_overflow(&result.unwrap_err()));
    }
    assert_eq!(rows(&article, conn), before);
}
