//! Locks of others.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::views;
use diesel_counters_tests::schema::{article_counters, articles};

use super::Test;
use crate::behaviour::wait_until;

/// On SQLite, any writer would make all others wait.
#[test]
fn a_locked_row_is_written_after_the_others() {
    if !crate::HAS_SLOTS {
        return;
    }
    let mut test = Test::new();
    let buffer = test.buffer();
    // Rows that exist have no gaps beside them, which MySQL would lock too.
    let all = increment(views).of_many((1..=4_i64).map(|id| (id, 1)));
    buffer.count(all).unwrap();
    assert_eq!(test.flush(&buffer).written, 4);
    let article_2 = articles::table.find(2_i64);
    let other = &mut test.connections.database.connect();
    other
        .transaction(|conn| {
            diesel::delete(article_2).execute(conn)?;
            for id in 1..=3_i64 {
                buffer.count(increment(views).of(id)).unwrap();
            }
            let write = test.flush(&buffer);
            assert_eq!((write.written, write.pending), (2, 1), "{write}");
            assert!(write.error.is_some() && write.refused.is_empty());
            assert_eq!([1, 2, 3].map(|id| test.views(id)), [2, 1, 2]);
            // What is counted meanwhile waits with it.
            buffer.count(increment(views).of(2_i64)).unwrap();
            buffer.count(increment(views).of(4_i64)).unwrap();
            let write = test.flush(&buffer);
            assert_eq!((write.written, write.pending), (1, 1), "{write}");
            assert_eq!(buffer.pending_of(views, &2_i64), 2);
            Err::<(), _>(diesel::result::Error::RollbackTransaction)
        })
        .unwrap_err();
    let write = test.flush(&buffer);
    assert_eq!((write.written, write.pending), (1, 0), "{write}");
    assert_eq!([1, 2, 3, 4].map(|id| test.views(id)), [2, 3, 2, 2]);
}

/// Each attempt waits for the lock. Only SQLite locks the whole database.
#[test]
fn a_locked_database_is_tried_once_a_write() {
    if crate::HAS_SLOTS {
        return;
    }
    let mut test = Test::new();
    let buffer = test.buffer();
    let all = increment(views).of_many((1..=5_i64).map(|id| (id, 1)));
    buffer.count(all).unwrap();
    let pooled = test.pool.get().unwrap().batch_execute(crate::GIVE_UP_SOON);
    pooled.unwrap();
    test.conn.batch_execute("BEGIN EXCLUSIVE").unwrap();
    test.connections.transactions.store(0, SeqCst);
    let write = test.flush(&buffer);
    assert_eq!((write.written, write.pending), (0, 5), "{write}");
    assert_eq!(test.connections.transactions.load(SeqCst), 1);
    test.conn.batch_execute("COMMIT").unwrap();
    assert_eq!(test.flush(&buffer).written, 5);
}

#[test]
fn the_connection_waits_for_locks_as_long_as_before() {
    if !crate::IS_MYSQL {
        return; // PostgreSQL limits the time of a transaction, and SQLite's is not changed.
    }
    let test = Test::new();
    let buffer = test.buffer();
    let limits = "SET SESSION innodb_lock_wait_timeout = 7, SESSION lock_wait_timeout = 9";
    test.pool.get().unwrap().batch_execute(limits).unwrap();
    for _ in 0..2 {
        buffer.count(increment(views).of(1_i64)).unwrap();
        assert_eq!(test.flush(&buffer).written, 1);
        let limits = diesel::dsl::sql::<Text>(
            "CONCAT(@@SESSION.innodb_lock_wait_timeout, ' ', @@SESSION.lock_wait_timeout)",
        );
        let limits = diesel::select(limits).get_result::<String>(&mut *test.pool.get().unwrap());
        assert_eq!(limits.as_deref(), Ok("7 9"));
    }
}

/// A migration that waits for a transaction keeps back all that come after it.
#[test]
fn a_write_waits_a_second_for_a_table_that_is_altered() {
    if !crate::IS_MYSQL {
        return; // PostgreSQL has one limit for both, and SQLite locks the whole database.
    }
    let mut test = Test::new();
    let buffer = test.buffer();
    let connections = Arc::clone(&test.connections);
    let database = &connections.database;
    let reader = &mut database.connect();
    reader.batch_execute("BEGIN").unwrap();
    let rows = article_counters::table.count().get_result(reader);
    assert_eq!(rows, Ok(0_i64));
    thread::scope(|scope| {
        let migration = scope.spawn(|| {
            // If the buffer waited too, this would end first.
            let sql = "SET SESSION lock_wait_timeout = 60;
                ALTER TABLE article_counters COMMENT = 'altered'";
            database.connect().batch_execute(sql)
        });
        let waits = diesel::dsl::sql::<BigInt>(
            "SELECT COUNT(*) FROM information_schema.processlist \
             WHERE db = DATABASE() AND state LIKE 'Waiting for table metadata lock%'",
        );
        assert!(wait_until(
            || waits.clone().get_result(&mut test.conn) == Ok(1_i64)
        ));
        buffer.count(increment(views).of(1_i64)).unwrap();
        let write = test.flush(&buffer);
        assert_eq!((write.written, write.pending), (0, 1), "{write}");
        reader.batch_execute("COMMIT").unwrap();
        migration.join().unwrap().unwrap();
    });
    assert_eq!(test.flush(&buffer).written, 1);
}
