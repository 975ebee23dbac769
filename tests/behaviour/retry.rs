//! What conflicts with another transaction is run again, on the same connection.

use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::{SerializationFailure, UniqueViolation};
use diesel::result::Error;
use diesel_counters::dsl::{recount, total};
use diesel_counters::prelude::*;
use diesel_counters::{Retry, Slot, is_overflow, is_retryable, retry, retry_if};
use diesel_counters_tests::models::{Article, BusyArticle, busy_counters};
use diesel_counters_tests::schema::article_counters::{comments, views};
use diesel_counters_tests::schema::articles;

use super::{PATIENCE, article, comments_by_article, count_on, day};
use crate::{Conn, GIVE_UP_SOON, HAS_SLOTS, IS_MYSQL, TestDatabase};

/// An increment of the one slot that all of these tests count in.
fn count(id: i64, conn: &mut Conn) -> QueryResult<usize> {
    let one_slot = Slot::Partition { index: 0, of: 32 };
    increment(views).of(id).slot(one_slot).execute(conn)
}

fn counted(id: i64, conn: &mut Conn) -> i64 {
    article(id).counter_value(views, conn).unwrap()
}

fn conflict() -> Error {
    Error::DatabaseError(SerializationFailure, Box::new("by this test".to_owned()))
}

/// Counts and fails, and tells how often it ran.
fn fail(retry: Retry<'_, Error>, conn: &mut Conn, error: fn() -> Error) -> usize {
    let mut runs = 0;
    let result = retry.transaction(conn, |conn| {
        runs += 1;
        count(1, conn)?;
        Err::<(), _>(error())
    });
    assert_eq!(result, Err(error()));
    runs
}

fn at_once() -> Retry<'static, Error> {
    retry().delay(Duration::ZERO..=Duration::ZERO)
}

#[test]
fn a_transaction_that_deadlocked_is_run_again_as_a_whole() {
    if !HAS_SLOTS {
        return; // SQLite has one writer.
    }
    for in_savepoint in [false, true] {
        let database = TestDatabase::with_tables();
        let both_have_one = Barrier::new(2);
        let runs: usize = thread::scope(|scope| {
            let transactions = [(1, 2), (2, 1)].map(|(first, second)| {
                let (database, both_have_one) = (&database, &both_have_one);
                scope.spawn(move || {
                    let mut runs = 0;
                    let result = retry().transaction(&mut database.connect(), |conn| {
                        runs += 1;
                        count(first, conn)?;
                        if runs == 1 {
                            both_have_one.wait();
                        }
                        match in_savepoint {
                            true => retry().transaction(conn, |conn| count(second, conn)),
                            false => count(second, conn),
                        }
                    });
                    result.map(|_| runs)
                })
            });
            transactions
                .map(|t| t.join().unwrap().unwrap())
                .iter()
                .sum()
        });
        assert_eq!(runs, 3);
        let conn = &mut database.connect();
        assert_eq!([1, 2].map(|id| counted(id, conn)), [2, 2]);
    }
}

#[test]
fn a_transaction_that_waited_too_long_is_run_again_as_a_whole() {
    let database = TestDatabase::with_tables();
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    for id in [1, 2] {
        count(id, conn).unwrap();
    }
    conn.batch_execute(GIVE_UP_SOON).unwrap();
    AnsiTransactionManager::begin_transaction(other).unwrap();
    count(1, other).unwrap();

    let mut seen = vec![];
    let mut runs = 0;
    retry()
        .on_retry(|error, failed| {
            seen.push((is_retryable(error), failed));
            AnsiTransactionManager::rollback_transaction(other).unwrap();
        })
        .transaction(conn, |conn| {
            runs += 1;
            count(2, conn)?;
            count(1, conn)
        })
        .unwrap();
    assert_eq!((runs, seen), (2, vec![(true, 1)]));
    assert_eq!([1, 2].map(|id| counted(id, conn)), [2, 2]);
}

#[test]
fn the_last_attempt_returns_its_error_and_no_attempt_has_counted() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let mut seen = vec![];
    let retry = at_once().attempts(3).on_retry(|error, failed| {
        assert!(is_retryable(error));
        seen.push(failed);
    });
    assert_eq!(fail(retry, conn, conflict), 3);
    assert_eq!(seen, [1, 2]);
    assert_eq!(fail(at_once(), conn, conflict), 5);
    assert_eq!(fail(at_once().attempts(1), conn, conflict), 1);
    assert_eq!(fail(at_once().attempts(0), conn, conflict), 1);
    assert_eq!(counted(1, conn), 0);
}

#[test]
fn another_error_is_returned_at_once() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let retry = at_once().on_retry(|error, _| panic!("{error}"));
    assert_eq!(fail(retry, &mut conn, || Error::NotFound), 1);
    assert_eq!(counted(1, &mut conn), 0);
}

#[test]
fn in_an_open_transaction_it_runs_once() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let mut runs = 0;
    let result = at_once().attempts(3).transaction(&mut conn, |conn| {
        runs += fail(at_once(), conn, conflict);
        // The savepoint has ended, and the transaction goes on.
        count(2, conn)?;
        Err::<(), _>(conflict())
    });
    assert_eq!((result, runs), (Err(conflict()), 3));

    conn.begin_test_transaction().unwrap();
    assert_eq!(fail(at_once(), &mut conn, conflict), 1);
    assert_eq!([1, 2].map(|id| counted(id, &mut conn)), [0, 0]);
}

#[test]
fn a_transaction_that_was_left_open_is_not_run_again() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let mut runs = 0;
    let result = at_once().run(&mut conn, |conn| {
        runs += 1;
        AnsiTransactionManager::begin_transaction(conn)?;
        Err::<(), _>(conflict())
    });
    assert_eq!((result, runs), (Err(conflict()), 1));
}

#[test]
fn one_statement_is_run_again() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let mut runs = 0;
    let result = at_once().run(&mut conn, |conn| {
        runs += 1;
        match runs {
            1 => Err(conflict()),
            _ => count(1, conn),
        }
    });
    assert_eq!((result, runs), (Ok(1), 2));
    assert_eq!(counted(1, &mut conn), 1);
}

#[test]
fn errors_of_the_applications_own_type_are_retried() {
    #[derive(Debug)]
    enum AppError {
        Taken(i64),
        Database(Error),
    }
    impl From<Error> for AppError {
        fn from(error: Error) -> Self {
            AppError::Database(error)
        }
    }
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let mut taken = vec![];
    let mut ids = [1, 2, 9].into_iter();
    let result = retry_if(|error| matches!(error, AppError::Taken(_)))
        .delay(Duration::ZERO..=Duration::ZERO)
        .on_retry(|error, _| match error {
            AppError::Taken(id) => taken.push(*id),
            AppError::Database(error) => panic!("{error}"),
        })
        .transaction(&mut conn, |conn| {
            let id = ids.next().expect("9 is free");
            count(3, conn)?;
            let insert = diesel::insert_into(articles::table).values(article(id));
            match insert.execute(conn) {
                Err(Error::DatabaseError(UniqueViolation, _)) => Err(AppError::Taken(id)),
                result => Ok(result?),
            }
        });
    assert!(matches!(result, Ok(1)), "{result:?}");
    assert_eq!(taken, [1, 2]);
    assert_eq!(counted(3, &mut conn), 1);
}

/// Runs `work` in a transaction, twice. The first time a row of the counter table is locked
/// by another transaction, and the second time it is not.
fn run_again(name: &str, set_up: &str, work: fn(&mut Conn) -> QueryResult<()>) {
    let database = TestDatabase::with_tables();
    let (conn, other) = (&mut database.connect(), &mut database.connect());
    count_on(1, day(2026, 1, 1), 1, other);
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
    let queries: [(&str, Query); 5] = [
        ("counter_value", |conn| {
            article(1).counter_value(views, conn).map(drop)
        }),
        ("counter_values", |conn| {
            Article::counter_values(&[article(1)], views, conn).map(drop)
        }),
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
    let (conn, _database, article) = &mut TestDatabase::with_connection();
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
