//! The thread of a buffer: what runs on it, and how it ends.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::thread;
use std::time::Duration;

use diesel::connection::InstrumentationEvent;
use diesel::prelude::*;
use diesel_counters::buffer::{BufferError, Write};
use diesel_counters::prelude::*;
use diesel_counters::{BackgroundError, CounterBuffer};
use diesel_counters_tests::schema::article_counters::views;

use super::buffering::{Buffer, Test};
use super::{PATIENCE, article};
use crate::{Conn, TestDatabase};

#[test]
fn whatever_is_written_is_written_on_it() {
    let database = TestDatabase::with_tables();
    let (send, threads) = channel();
    let reports = send.clone();
    let url = database.url();
    let connect = move || {
        send.send(thread::current().id()).unwrap();
        Conn::establish(&url)
    };
    let report = move |_: &Write| reports.send(thread::current().id()).unwrap();
    let builder = CounterBuffer::builder(connect).on_write(report);
    let buffer = builder.every(Duration::MAX).start().unwrap();
    let count = || buffer.count(increment(views).of(1_i64)).unwrap();
    count();
    assert_eq!(buffer.flush().written, 1);
    count();
    assert_eq!(buffer.stop().written, 1);
    drop(buffer);
    let threads = Vec::from_iter(threads);
    let all_are_one = threads.iter().all(|id| *id == threads[0]);
    assert!(all_are_one && threads[0] != thread::current().id());
    assert_eq!(threads.len(), 4);
}

#[test]
fn what_a_stop_could_not_write_is_written_by_another_stop_and_not_by_the_drop() {
    for stops_again in [false, true] {
        let mut test = Test::with_timeout(Duration::from_millis(200));
        test.set_away(true);
        let buffer = test.buffer();
        let count = || buffer.count(increment(views).of(1_i64));
        count().unwrap();
        let last = buffer.stop();
        let is_away = matches!(last.error, Some(BackgroundError::Connection(_)));
        assert!(is_away && last.pending == 1, "{last}");
        assert_eq!(count(), Err(BufferError::Stopped));
        test.set_away(false);
        while stops_again && buffer.stop().pending > 0 {
            // The busy machine had no connection in time.
        }
        drop(buffer);
        assert_eq!(test.views(1), i64::from(stops_again));
    }
}

#[test]
fn a_count_during_a_stop_is_written_or_refused() {
    let mut test = Test::new();
    let mut counted = 0;
    for _ in 0..20 {
        let buffer = test.buffer();
        counted += thread::scope(|scope| {
            let threads = [(); 4].map(|()| {
                scope.spawn(|| {
                    let count = || buffer.count(increment(views).of(1_i64));
                    (0..).take_while(|_| count().is_ok()).count()
                })
            });
            while buffer.pending() == 0 {
                thread::yield_now();
            }
            while buffer.stop().error.is_some() {
                // The busy machine had no connection in time.
            }
            threads.map(|thread| thread.join().unwrap() as i64)
        })
        .iter()
        .sum::<i64>();
        assert_eq!(buffer.pending(), 0);
    }
    assert_eq!(test.views(1), counted);
}

#[test]
fn a_buffer_may_be_flushed_stopped_and_dropped_in_its_own_on_write() {
    let mut test = Test::new();
    let itself = Arc::new(Mutex::new(None::<Buffer>));
    let of_the_write = Arc::clone(&itself);
    let (said, writes) = channel();
    let mut held = itself.lock().unwrap();
    let builder = test.builder().on_write(move |write| {
        said.send(write.written).unwrap();
        let Some(buffer) = of_the_write.lock().unwrap().take() else {
            return;
        };
        let count = increment(views).of(1_i64).by(10);
        buffer.count(count).unwrap();
        said.send(buffer.flush().written).unwrap();
        said.send(buffer.stop().written).unwrap();
    });
    let buffer = builder.every(Duration::from_millis(1)).start().unwrap();
    buffer.count(increment(views).of(1_i64)).unwrap();
    *held = Some(buffer);
    drop(held);
    let said = [(); 5].map(|()| writes.recv_timeout(PATIENCE));
    // The write, that of its `flush`, what that returned, and nothing.
    let ended = Err(RecvTimeoutError::Disconnected);
    assert_eq!(said, [Ok(1), Ok(1), Ok(1), Ok(0), ended]);
    assert_eq!(test.views(1), 11);
}

/// As one of a program whose instrumentation flushes before each statement.
#[test]
fn a_flush_within_a_write_writes_nothing_twice() {
    let database = TestDatabase::with_tables();
    let itself = Arc::new(OnceLock::<Weak<CounterBuffer<Conn>>>::new());
    let of_the_write = Arc::clone(&itself);
    let url = database.url();
    let connect = move || {
        let mut conn = Conn::establish(&url)?;
        let buffer = of_the_write.get().and_then(Weak::upgrade);
        conn.set_instrumentation(move |event: InstrumentationEvent<'_>| {
            if let InstrumentationEvent::StartQuery { .. } = event {
                assert_eq!(buffer.as_ref().unwrap().flush().written, 0);
            }
        });
        ConnectionResult::Ok(conn)
    };
    let buffer = CounterBuffer::builder(connect).every(Duration::MAX);
    let buffer = Arc::new(buffer.start().unwrap());
    itself.set(Arc::downgrade(&buffer)).unwrap();
    buffer.count(increment(views).of(1_i64)).unwrap();
    let write = buffer.flush();
    assert_eq!((write.written, write.pending), (1, 0), "{write}");
    let counted = article(1).counter_value(views, &mut database.connect());
    assert_eq!(counted, Ok(1));
}
