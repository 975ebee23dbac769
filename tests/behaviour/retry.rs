//! What conflicts with another transaction is run again, on the same connection.

use std::sync::Barrier;
use std::sync::mpsc::channel;
use std::thread;

use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::{self, SerializationFailure, UniqueViolation, Unknown};
use diesel::result::Error;
use diesel_counters::dsl::{recount, set_counter, total};
use diesel_counters::prelude::*;
use diesel_counters::{Retry, is_overflow, is_retryable, retry, retry_if};
use diesel_counters_tests::models::{Article, busy_counters};
use diesel_counters_tests::schema::article_counters::{comments, views};
use diesel_counters_tests::schema::articles;

use super::{PATIENCE, article, comments_by_article, count_on, day};
use crate::{Conn, GIVE_UP_SOON, HAS_SLOTS, IS_MYSQL, TestDatabase, count_in_slot};

/// An increment of the one slot that all of these tests count in.
fn count(id: i64, conn: &mut Conn) -> QueryResult<usize> {
    count_in_slot(1, conn);
    increment(views).of(id).execute(conn)
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
            let runs = transactions.map(|t| t.join().unwrap().unwrap());
            runs[0] + runs[1]
        });
        // One that runs again at once can deadlock with the other one again.
        assert!(runs >= 3, "{runs}");
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

    let mut failed = 0;
    let mut runs = 0;
    retry_if(|error| {
        failed += 1;
        AnsiTransactionManager::rollback_transaction(other).unwrap();
        is_retryable(error)
    })
    .transaction(conn, |conn| {
        runs += 1;
        count(2, conn)?;
        count(1, conn)
    })
    .unwrap();
    assert_eq!((runs, failed), (2, 1));
    assert_eq!([1, 2].map(|id| counted(id, conn)), [2, 2]);
}

#[test]
fn the_last_attempt_returns_its_error_and_no_attempt_has_counted() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let mut seen = 0;
    let limited = retry_if(|error| {
        seen += 1;
        is_retryable(error) && seen < 3
    });
    assert_eq!(fail(limited, conn, conflict), 3);
    assert_eq!(fail(retry(), conn, conflict), 5);
    // Another error is returned at once.
    assert_eq!(fail(retry(), conn, || Error::NotFound), 1);
    assert_eq!(counted(1, conn), 0);
}

#[test]
fn the_number_of_attempts_can_be_set() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    for (attempts, runs) in [(0, 1), (1, 1), (2, 2), (7, 7)] {
        assert_eq!(fail(retry().attempts(attempts), conn, conflict), runs);
        let chosen = retry_if(is_retryable).attempts(attempts);
        assert_eq!(fail(chosen, conn, conflict), runs);
    }
    // Another error is returned at once, and so is a success.
    let many = || retry().attempts(u32::MAX);
    assert_eq!(fail(many(), conn, || Error::NotFound), 1);
    assert_eq!(counted(1, conn), 0);
    assert_eq!(many().transaction(conn, |conn| count(1, conn)), Ok(1));
}

#[test]
fn in_an_open_transaction_it_runs_once() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let mut runs = 0;
    let result = retry().transaction(&mut conn, |conn| {
        runs += fail(retry(), conn, conflict);
        // The savepoint has ended, and the transaction goes on.
        count(2, conn)?;
        Err::<(), _>(conflict())
    });
    assert_eq!((result, runs), (Err(conflict()), 5));

    conn.begin_test_transaction().unwrap();
    assert_eq!(fail(retry(), &mut conn, conflict), 1);
    assert_eq!([1, 2].map(|id| counted(id, &mut conn)), [0, 0]);
}

#[test]
fn one_statement_is_run_again_unless_it_has_left_a_transaction_open() {
    for leaves_open in [false, true] {
        let (_database, mut conn, _article) = TestDatabase::with_article();
        let mut runs = 0;
        let result = retry().run(&mut conn, |conn| {
            runs += 1;
            if leaves_open {
                AnsiTransactionManager::begin_transaction(conn)?;
            }
            match runs {
                1 => Err(conflict()),
                _ => count(1, conn),
            }
        });
        match leaves_open {
            false => assert_eq!((result, runs, counted(1, &mut conn)), (Ok(1), 2, 1)),
            true => assert_eq!((result, runs), (Err(conflict()), 1)),
        }
    }
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
    let result = retry_if(|error| match error {
        AppError::Taken(id) => {
            taken.push(*id);
            true
        }
        AppError::Database(error) => is_retryable(error),
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
    let level = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
    let lock = format!("{level}; BEGIN; UPDATE article_counters SET likes = 1");
    other.batch_execute(&lock).unwrap();

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

type Query = fn(&mut Conn) -> QueryResult<()>;

/// Under SERIALIZABLE, MySQL's and MariaDB's queries lock what they read. `set_counter` always does.
#[test]
fn a_query_that_waited_too_long_can_be_run_again() {
    if !IS_MYSQL {
        return; // Elsewhere queries wait for nobody.
    }
    let queries: [(&str, Query); 6] = [
        ("set_counter", |conn| {
            let set = set_counter(busy_counters::views).of(1_i64).to(7);
            set.execute(conn).map(drop)
        }),
        ("counter_value", |conn| {
            article(1).counter_value(views, conn).map(drop)
        }),
        ("counter_values", |conn| {
            Article::counter_values(&[article(1)], views, conn).map(drop)
        }),
        ("total", |conn| {
            let totals = articles::table.select(total(views));
            totals.load::<i64>(conn).map(drop)
        }),
        ("recount, dry", |conn| {
            let recount = recount(comments, comments_by_article());
            recount.dry_run::<i64, _>(conn).map(drop)
        }),
        ("materialize", |conn| {
            let copy = Article::materialize(views, articles::total_views);
            copy.execute(conn).map(drop)
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

fn error(kind: DatabaseErrorKind, message: &str) -> Error {
    Error::DatabaseError(kind, Box::new(message.to_owned()))
}

/// No test runs these servers. YugabyteDB's and CockroachDB's are the last two.
#[test]
fn conflicts_on_clusters_are_retryable() {
    for message in [
        "Plugin instructed the server to rollback the current transaction.",
        "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT",
        "Write conflict, txnStartTS=416617006551793665, conflictStartTS=416617018650001409, \
         conflictCommitTS=416617023093080065, key={tableID=47} [try again later]",
        "Information schema is changed during the execution of the statement(for example, table \
         definition may be updated by other DDL ran in parallel). [try again later]",
        "Error: KV error safe to retry [try again later]",
        "[0] can not retry select for update statement",
        "deadlock detected",
    ] {
        assert!(is_retryable(&error(Unknown, message)), "{message}");
    }
    let restart = "restart transaction: TransactionRetryWithProtoRefreshError: WriteTooOldError";
    assert!(is_retryable(&error(SerializationFailure, restart)));
    let ambiguous = "result is ambiguous: error=rpc error [exhausted]";
    assert!(!is_retryable(&error(Unknown, ambiguous)));
}

#[test]
fn errors_are_recognized_by_their_text_under_any_kind_but_that_of_a_duplicate() {
    let later = DatabaseErrorKind::UnableToSendCommand;
    assert!(is_retryable(&error(later, "deadlock detected")));
    let later = DatabaseErrorKind::CheckViolation;
    assert!(is_overflow(&error(later, "bigint out of range")));
    let duplicate = "Duplicate entry 'Write conflict' for key 'posts.title'";
    assert!(!is_retryable(&error(UniqueViolation, duplicate)));
    let duplicate = "Duplicate entry 'integer overflow' for key 'posts.title'";
    assert!(!is_overflow(&error(UniqueViolation, duplicate)));
}
