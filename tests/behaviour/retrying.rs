//! What fails because of others can be run again, on the same connection.

use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::dsl::recount;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters::{Slot, is_overflow, is_retryable};
use diesel_counters_tests::models::{Article, BusyArticle, busy_counters};
use diesel_counters_tests::schema::article_counters::{comments, views};
use diesel_counters_tests::schema::articles;

use super::{PATIENCE, article, comments_by_article, day};
use crate::{Conn, GIVE_UP_SOON, HAS_SLOTS, IS_MYSQL, TestDatabase, write_transaction};

/// Runs `work` in a transaction, twice. The first time a row of the counter table is locked
/// by another transaction, and the second time it is not.
fn run_again(name: &str, set_up: &str, work: fn(&mut Conn) -> QueryResult<()>) {
    let database = TestDatabase::with_tables();
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    increment(views)
        .of(1_i64)
        .on(day(2026, 1, 1))
        .execute(other)
        .unwrap();
    conn.batch_execute(set_up).unwrap();
    // The row alone, and no gap before it.
    other
        .batch_execute(
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
             BEGIN; UPDATE article_counters SET likes = 1",
        )
        .unwrap();

    let (tell, told) = channel();
    let url = database.url();
    thread::scope(|scope| {
        scope.spawn(|| {
            let tell = tell;
            let first = conn.transaction(work);
            tell.send(()).unwrap();
            assert!(first.is_err(), "{name}: {first:?}");
            other.batch_execute("ROLLBACK").unwrap();
            let again = conn.transaction(work);
            tell.send(()).unwrap();
            again.unwrap_or_else(|error| panic!("{name}: {error}"));
        });
        for _ in 0..2 {
            if told.recv_timeout(PATIENCE).is_err() {
                // Its thread cannot be ended, nor joined.
                eprintln!("{name}: it hangs, on {url}");
                std::process::abort();
            }
        }
    });
}

#[test]
fn a_set_that_waited_too_long_can_be_run_again() {
    if !IS_MYSQL {
        return; // Elsewhere it waits for no row of others.
    }
    run_again("set_counter", GIVE_UP_SOON, |conn| {
        BusyArticle { id: 1 }
            .set_counter(busy_counters::views, 7, conn)
            .map(drop)
    });
}

type Query = fn(&mut Conn) -> QueryResult<()>;

/// Under SERIALIZABLE, MySQL's and MariaDB's queries lock what they read.
#[test]
fn a_query_that_waited_too_long_can_be_run_again() {
    if !IS_MYSQL {
        return; // Elsewhere queries wait for nobody.
    }
    let queries: [(&str, Query); 7] = [
        ("counter_value", |conn| {
            article(1).counter_value(views, conn).map(drop)
        }),
        ("counter_values", |conn| {
            Article::counter_values(&[article(1)], views, conn).map(drop)
        }),
        ("daily_counts", |conn| {
            article(1).daily_counts(views, .., conn).map(drop)
        }),
        ("top", |conn| Article::top(views, 3, .., conn).map(drop)),
        ("total", |conn| {
            articles::table
                .select(total(views))
                .load::<i64>(conn)
                .map(drop)
        }),
        ("recount, dry", |conn| {
            recount(comments, comments_by_article())
                .dry_run::<i64, _>(conn)
                .map(drop)
        }),
        ("materialize", |conn| {
            Article::materialize(views, articles::total_views)
                .execute(conn)
                .map(drop)
        }),
    ];
    for (name, query) in queries {
        let isolation = "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE";
        run_again(name, &format!("{GIVE_UP_SOON}; {isolation}"), query);
    }
}

/// An increment of the one slot that all of these tests count in.
fn count(id: i64, conn: &mut Conn) -> QueryResult<usize> {
    let one = increment(views).of(id).slot(ONE_SLOT);
    one.execute(conn)
}

const ONE_SLOT: Slot = Slot::Partition { index: 0, of: 32 };

#[test]
fn a_deadlock_can_be_run_again() {
    if !HAS_SLOTS {
        return; // SQLite has one writer.
    }
    for in_savepoint in [false, true] {
        let database = TestDatabase::with_tables();
        let both_have_one = Barrier::new(2);
        let results = thread::scope(|scope| {
            let transactions = [(1, 2), (2, 1)].map(|(first, second)| {
                let (database, both_have_one) = (&database, &both_have_one);
                scope.spawn(move || {
                    let conn = &mut database.connect();
                    conn.transaction(|conn| {
                        count(first, conn)?;
                        both_have_one.wait();
                        match in_savepoint {
                            true => conn.transaction(|conn| count(second, conn)),
                            false => count(second, conn),
                        }
                    })
                })
            });
            transactions.map(|transaction| transaction.join().unwrap())
        });
        let errors: Vec<_> = results.iter().filter_map(|r| r.as_ref().err()).collect();
        assert_eq!(errors.len(), 1, "{results:?}");
        assert!(is_retryable(errors[0]), "{errors:?}");
        assert!(!is_overflow(errors[0]));
    }
}

#[test]
fn a_lock_wait_timeout_can_be_run_again() {
    let database = TestDatabase::with_tables();
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    conn.batch_execute(GIVE_UP_SOON).unwrap();
    write_transaction(other, |other| {
        count(1, other)?;
        let error = count(1, conn).unwrap_err();
        assert!(is_retryable(&error), "{error:?}");
        QueryResult::Ok(())
    })
    .unwrap();
    assert!(count(1, conn).is_ok());
}

/// On SQLite the transaction has to begin as immediate: this one fails at once.
#[test]
fn a_transaction_that_read_before_others_wrote_can_be_run_again() {
    let database = TestDatabase::with_tables();
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    count(1, conn).unwrap();
    // MySQL and an older MariaDB have no such setting, and count on.
    let is_set = crate::FAIL_ON_CHANGED_ROWS.is_none_or(|sql| conn.batch_execute(sql).is_ok());
    let result = conn.transaction(|conn| {
        article(1).counter_value(views, conn)?;
        count(1, other)?;
        count(1, conn)
    });
    assert_eq!(result.is_err(), is_set, "{result:?}");
    assert!(result.err().is_none_or(|error| is_retryable(&error)));
    assert!(count(1, conn).is_ok());
}

#[test]
fn what_fails_each_time_is_not_to_be_run_again() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    article.incr_counter_by(views, i64::MAX, conn).unwrap();
    let too_much = article.incr_counter(views, conn).unwrap_err();
    let no_such_article = super::article(99).incr_counter(views, conn).unwrap_err();
    let no_such_table = conn.batch_execute("DELETE FROM missing").unwrap_err();
    for error in [&too_much, &no_such_article, &no_such_table] {
        assert!(!is_retryable(error), "{error:?}");
    }
    assert!(is_overflow(&too_much));
    assert!(!is_overflow(&no_such_article));
}
