//! A statement that fails in a savepoint of a `counting_transaction`, which goes on.

use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::UniqueViolation;
use diesel::result::Error::{BrokenTransactionManager, DatabaseError};
use diesel_counters::counting_transaction;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::views;
use diesel_counters_tests::schema::articles;

use crate::behaviour::article;
use crate::{Conn, HAS_SLOTS, IS_MYSQL, TestDatabase};

fn publish(id: i64, conn: &mut Conn) -> QueryResult<()> {
    let insert = diesel::insert_into(articles::table).values(article(id));
    insert.execute(conn).map(drop)
}

/// The number of articles, and the views of articles 1, 2 and 3.
fn written(conn: &mut Conn) -> (i64, Vec<i64>) {
    let articles = articles::table.count().get_result(conn).unwrap();
    let counts = counter_value(views).of_many([1_i64, 2, 3]).load(conn);
    (articles, counts.unwrap())
}

#[test]
fn an_error_that_is_ignored_outside_of_its_savepoint_drops_the_savepoint_only() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let ran = counting_transaction(conn, |tx| {
        tx.count(increment(views).of(1));
        let saved = tx.transaction(|tx| {
            publish(6, tx.conn())?;
            tx.count(increment(views).of(2));
            publish(1, tx.conn()) // it exists
        });
        let is_refused = matches!(saved, Err(DatabaseError(UniqueViolation, _)));
        assert!(is_refused, "{saved:?}");
        tx.count(increment(views).of(3));
        publish(7, tx.conn())
    });
    assert_eq!(ran, Ok(()));
    assert_eq!(written(conn), (6, vec![1, 0, 1]));
}

/// PostgreSQL then refuses every statement of the savepoint. The others only drop the statement.
#[test]
fn an_error_that_is_ignored_inside_of_its_savepoint_fails_on_postgres() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let ran = counting_transaction(conn, |tx| {
        tx.count(increment(views).of(1));
        let saved = tx.transaction(|tx| {
            publish(6, tx.conn())?;
            tx.count(increment(views).of(2));
            let _ignored = publish(1, tx.conn());
            QueryResult::Ok(())
        });
        let is_postgres = HAS_SLOTS && !IS_MYSQL;
        assert_eq!(saved.is_err(), is_postgres, "{saved:?}");
        tx.count(increment(views).of(3));
        publish(7, tx.conn())
    });
    if HAS_SLOTS && !IS_MYSQL {
        assert!(matches!(ran, Err(BrokenTransactionManager)), "{ran:?}");
        assert_eq!(written(conn), (5, vec![0, 0, 0]));
    } else {
        assert_eq!(ran, Ok(()));
        assert_eq!(written(conn), (7, vec![1, 1, 1]));
    }
    // The connection can go on.
    let again = counting_transaction(conn, |tx| {
        tx.count(increment(views).of(3));
        publish(8, tx.conn())
    });
    assert_eq!(again, Ok(()));
}
