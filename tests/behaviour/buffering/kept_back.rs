//! What is refused or kept back.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::prelude::*;
use diesel_counters::buffer::BufferError;
use diesel_counters::prelude::*;
use diesel_counters::{BackgroundError, CounterBuffer, is_overflow};
use diesel_counters_tests::schema::article_counters::views;
use diesel_counters_tests::schema::page_counters::hits;

use super::{NEVER, SHORT, Test};
use crate::behaviour::{day, insert_articles};

/// Its counts would not be committed. Any function that returns a connection is a source.
#[test]
fn a_connection_with_an_open_transaction_is_refused() {
    let mut test = Test::new();
    let connections = Arc::clone(&test.connections);
    let begins = AtomicBool::new(true);
    let connect = move || {
        let mut conn = connections.database.connect();
        if begins.swap(false, SeqCst) {
            AnsiTransactionManager::begin_transaction(&mut conn)?;
        }
        QueryResult::Ok(conn)
    };
    let buffer = CounterBuffer::builder(connect)
        .every(NEVER)
        .start()
        .unwrap();
    buffer.count(increment(views).of(1_i64)).unwrap();
    let write = buffer.flush();
    let is_refused = matches!(write.error, Some(BackgroundError::Database(_)));
    assert!(is_refused, "{write}");
    assert_eq!((write.written, write.pending), (0, 1), "{write}");
    assert_eq!(buffer.flush().written, 1);
    assert_eq!(test.views(1), 1);
}

#[test]
fn a_full_buffer_refuses_new_keys_and_says_so() {
    let mut test = Test::with_timeout(SHORT);
    test.set_away(true);
    let buffer = test.builder().max_keys(2).start().unwrap();
    let count = |id: i64| buffer.count(increment(views).of(id));
    assert_eq!([count(1), count(2)], [Ok(()), Ok(())]);
    let full = Err(BufferError::Full { max_keys: 2 });
    assert_eq!([count(3), count(1)], [full, Ok(())]);
    let many = |ids: [i64; 3]| buffer.count(increment(views).of_many(ids.map(|id| (id, 1))));
    assert_eq!([many([1, 4, 5]), many([1, 2, 2])], [full, Ok(())]);
    assert_eq!(buffer.flush().pending, 2);
    // They have moved to the backlog, and still take room.
    assert_eq!([count(3), count(1)], [full, full]);

    test.set_away(false);
    let write = test.flush(&buffer);
    assert_eq!((write.written, write.pending), (2, 0), "{write}");
    assert_eq!(count(3), Ok(()));
    test.flush(&buffer);
    assert_eq!([1, 2, 3, 4].map(|id| test.views(id)), [3, 3, 1, 0]);
}

/// Article 6 does not exist, as four fifths of those from 100 on. Article 2 would overflow, and no
/// database stores the day.
#[test]
fn keys_that_cannot_be_written_fail_alone_however_many_they_are() {
    let mut test = Test::new();
    let buffer = test.buffer();
    let count = increment(views).of(2_i64).by(i64::MAX);
    buffer.count(count).unwrap();
    assert_eq!(test.flush(&buffer).written, 1);
    let exists = |id: &i64| id % 5 == 0;
    insert_articles((100..600).filter(exists), &mut test.conn);
    for id in (100..600_i64).chain([1, 2, 3, 6]) {
        buffer.count(increment(views).of(id).by(4)).unwrap();
    }
    let count = increment(views).of(3_i64).on(day(999, 1, 1));
    buffer.count(count).unwrap();
    let too_large = increment(views).of_many([(4_i64, i64::MAX), (4, i64::MAX)]);
    buffer.count(too_large).unwrap();
    let write = test.flush(&buffer);
    assert!(write.error.is_none(), "{write}");
    let refused = write.refused.iter();
    let mut refused = Vec::from_iter(refused.map(|row| (row.key.clone(), row.amounts.clone())));
    refused.sort();
    let twice = 2 * i128::from(i64::MAX);
    let missing = (100..600).filter(|id| !exists(id)).chain([2, 6]);
    let missing = missing.map(|id| (id, 4)).chain([(3, 1), (4, twice)]);
    let mut expected = Vec::from_iter(missing.map(|(id, n)| (id.to_string(), vec![("views", n)])));
    expected.sort();
    assert_eq!(refused, expected);
    assert!(write.refused.iter().all(|r| r.table == "article_counters"));
    let overflow = write.refused.iter().find(|r| r.key == "2").unwrap();
    assert!(is_overflow(&overflow.error), "{overflow}");
    let shown = overflow.to_string();
    assert!(shown.contains("article_counters"), "{shown}");
    assert_eq!((write.written, write.pending), (102, 0));
    let mut ids = (100..600).filter(exists).chain([1, 3]);
    assert!(ids.all(|id| test.views(id) == 4));
    assert_eq!(test.views(2), i64::MAX);
    // The buffer goes on.
    buffer.count(increment(views).of(1_i64)).unwrap();
    assert_eq!(test.flush(&buffer).written, 1);
    assert_eq!(test.views(1), 5);
}

/// Each attempt may wait for a lock. Nothing is refused for a reason that passes.
#[test]
fn a_table_that_takes_no_rows_loses_none_and_keeps_back_no_other_table() {
    let mut test = Test::new();
    let buffer = test.buffer();
    for (table, others) in [("article_counters", 100), ("page_counters", 4)] {
        let rename = format!("ALTER TABLE {table} RENAME TO other_counters");
        test.conn.batch_execute(&rename).unwrap();
        for i in 0..100 {
            buffer.count(increment(hits).of(i.to_string())).unwrap();
        }
        let count = increment(views).of_many((1..=4_i64).map(|id| (id, 1)));
        buffer.count(count).unwrap();
        // A sum of 0 is not written, so it does not show that the table takes rows.
        buffer.count(increment(views).of(5_i64)).unwrap();
        buffer.count(increment(views).of(5_i64).by(-1)).unwrap();
        for written in [others, 0, 0] {
            test.connections.transactions.store(0, SeqCst);
            let write = test.flush(&buffer);
            assert!(test.connections.transactions.load(SeqCst) < 50);
            assert!(matches!(write.error, Some(BackgroundError::Database(_))));
            assert_eq!((write.written, write.refused.len()), (written, 0));
            assert_eq!(write.pending, 104 - others);
        }
        let rename = format!("ALTER TABLE other_counters RENAME TO {table}");
        test.conn.batch_execute(&rename).unwrap();
        let write = test.flush(&buffer);
        assert_eq!((write.written, write.pending), (104 - others, 0), "{write}");
    }
    let pages = counter_value(hits).get_result(&mut test.conn);
    assert_eq!(pages, Ok(200_i64));
}
