//! Reading what is written and what is pending as of one moment.

use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use diesel::connection::InstrumentationEvent;
use diesel::prelude::*;
use diesel::result::Error;
use diesel_counters::CounterBuffer;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{likes, views};

use super::{Buffer, NEVER, Test, had_no_connection};
use crate::behaviour::{PATIENCE, article};
use crate::{Conn, TestDatabase};

fn count(buffer: &Buffer) {
    buffer.count(increment(views).of(1_i64)).unwrap();
}

fn written(conn: &mut Conn) -> i64 {
    article(1).counter_value(views, conn).unwrap()
}

/// The buffer writes exactly between the two reads of the first call, in either order.
#[test]
fn a_write_between_the_two_reads_is_no_view_twice_and_none_is_missing() {
    for database_first in [false, true] {
        let mut test = Test::new();
        let buffer = test.buffer();
        let conn = &mut test.connections.database.connect();

        // What a page without `read` shows.
        count(&buffer);
        let pending = buffer.pending_of(views, &1_i64);
        let before = written(conn);
        assert_eq!(test.flush(&buffer).written, 1);
        let shown = match database_first {
            true => before + buffer.pending_of(views, &1_i64),
            false => pending + written(conn),
        };
        assert_eq!(shown, if database_first { 0 } else { 2 });

        count(&buffer);
        let mut calls = 0;
        let n = buffer.read(|pending| {
            calls += 1;
            let before = pending.of(views, &1_i64);
            let in_database = written(conn);
            if calls == 1 {
                assert_eq!(test.flush(&buffer).written, 1);
            }
            Ok::<_, Error>(match database_first {
                true => in_database + pending.of(views, &1_i64),
                false => before + written(conn),
            })
        });
        assert_eq!((n, calls), (Ok(2), 2));
        assert_eq!(test.views(1), 2);
    }
}

#[test]
fn several_entities_and_counters_are_read_in_one_call() {
    let mut test = Test::new();
    let buffer = test.buffer();
    let both = increment((views, likes)).of_many([(1_i64, (1, 10)), (2, (2, 20))]);
    buffer.count(both.clone()).unwrap();
    assert_eq!(test.flush(&buffer).written, 2);
    buffer.count(both).unwrap();
    let ids = [1_i64, 2, 3];
    let page = buffer.read(|pending| {
        let counts = counter_value((views, likes)).of_many(ids);
        let counts: Vec<(i64, i64)> = counts.load(&mut test.conn)?;
        let counts = counts.iter().zip(ids).map(|((v, l), id)| {
            let (more_views, more_likes) = pending.of((views, likes), &id);
            (v + more_views, l + more_likes)
        });
        QueryResult::Ok(Vec::from_iter(counts))
    });
    assert_eq!(page, Ok(vec![(2, 20), (4, 40), (0, 0)]));
}

/// A buffer whose COMMITs have taken effect in the database, but are not answered until the test
/// says so.
struct Stopped {
    database: TestDatabase,
    buffer: Arc<CounterBuffer<Conn>>,
    committed: Receiver<()>,
    answer: Sender<()>,
}

impl Stopped {
    fn new() -> Self {
        let database = TestDatabase::with_tables();
        let url = database.url();
        let (committed, has_committed) = channel();
        let (answer, may_answer) = channel();
        let may_answer = Arc::new(Mutex::new(may_answer));
        let buffer = CounterBuffer::builder(move || {
            let mut conn = Conn::establish(&url)?;
            let (committed, may_answer) = (committed.clone(), Arc::clone(&may_answer));
            conn.set_instrumentation(move |event: InstrumentationEvent<'_>| match event {
                InstrumentationEvent::FinishQuery { query, .. }
                    if query.to_string() == "COMMIT" =>
                {
                    // Nobody answers when the test is over.
                    let _ = committed.send(());
                    let _ = may_answer.lock().unwrap().recv_timeout(PATIENCE);
                }
                _ => {}
            });
            ConnectionResult::Ok(conn)
        });
        Stopped {
            database,
            buffer: Arc::new(buffer.every(NEVER).start().unwrap()),
            committed: has_committed,
            answer,
        }
    }

    /// Counts a view, and writes it until its COMMIT has taken effect. Then counts ten more.
    fn commit(&self) -> thread::JoinHandle<usize> {
        self.buffer.count(increment(views).of(1_i64)).unwrap();
        let buffer = Arc::clone(&self.buffer);
        let flush = thread::spawn(move || buffer.flush().written);
        self.committed.recv_timeout(PATIENCE).unwrap();
        let more = increment(views).of(1_i64).by(10);
        self.buffer.count(more).unwrap();
        flush
    }

    fn read(&self, conn: &mut Conn) -> i64 {
        let read = self
            .buffer
            .read(|pending| Ok::<_, Error>(pending.of(views, &1_i64) + written(conn)));
        read.unwrap()
    }
}

#[test]
fn a_read_waits_for_the_answer_to_a_commit() {
    let stopped = Stopped::new();
    let conn = &mut stopped.database.connect();
    let flush = stopped.commit();
    // What a page without `read` shows.
    let pending = stopped.buffer.pending_of(views, &1_i64);
    assert_eq!((pending, written(conn)), (11, 1));
    let n = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(20));
            stopped.answer.send(()).unwrap();
        });
        stopped.read(conn)
    });
    assert_eq!(n, 11);
    assert_eq!(flush.join().unwrap(), 1);
    drop(stopped.answer);
}

/// A page is shown while the database commits nothing, and shows nothing twice.
#[test]
fn what_is_pending_is_left_out_if_a_commit_is_not_answered() {
    let stopped = Stopped::new();
    let conn = &mut stopped.database.connect();
    let flush = stopped.commit();
    assert_eq!(stopped.read(conn), 1);
    stopped.answer.send(()).unwrap();
    assert_eq!(flush.join().unwrap(), 1);
    assert_eq!(stopped.read(conn), 11);
    drop(stopped.answer);
}

/// Each of the first calls is overlapped by a write. Then a write waits for the call.
#[test]
fn a_buffer_that_writes_all_the_time_waits_for_the_fourth_call() {
    let mut test = Test::new();
    let buffer = test.buffer();
    let conn = &mut test.connections.database.connect();
    count(&buffer);
    let mut calls = 0;
    let n = thread::scope(|scope| {
        buffer.read(|pending| {
            calls += 1;
            let before = pending.of(views, &1_i64);
            if calls < 4 {
                count(&buffer);
                assert_eq!(test.flush(&buffer).written, 1);
            } else {
                scope.spawn(|| {
                    count(&buffer);
                    buffer.flush()
                });
                thread::sleep(Duration::from_millis(200));
            }
            Ok::<_, Error>(before + written(conn))
        })
    });
    // One before it, and one in each of three calls.
    assert_eq!((n, calls), (Ok(4), 4));
    test.flush(&buffer);
    assert_eq!(test.views(1), 5);
}

/// As one that flushes itself.
#[test]
fn a_read_that_is_never_alone_ends_and_counts_nothing_twice() {
    let mut test = Test::new();
    let buffer = test.buffer();
    let conn = &mut test.connections.database.connect();
    let mut calls = 0;
    let n = buffer.read(|pending| {
        calls += 1;
        count(&buffer);
        let before = pending.of(views, &1_i64);
        let flush = test.flush(&buffer);
        Ok::<_, Error>((before + written(conn), flush.written))
    });
    assert_eq!((n, calls), (Ok((6, 1)), 6));
    assert_eq!(test.views(1), 6);
}

#[test]
fn an_error_is_returned_and_not_read_again() {
    let test = Test::new();
    let buffer = test.buffer();
    let mut calls = 0;
    let result = buffer.read(|_| {
        calls += 1;
        count(&buffer);
        test.flush(&buffer);
        Err::<(), _>("no such article")
    });
    assert_eq!((result, calls), (Err("no such article"), 1));
}

#[test]
fn what_could_not_be_written_is_pending() {
    let test = Test::with_timeout(super::SHORT);
    let buffer = test.buffer();
    let conn = &mut test.connections.database.connect();
    count(&buffer);
    test.set_away(true);
    let mut calls = 0;
    let n = buffer.read(|pending| {
        calls += 1;
        let before = pending.of(views, &1_i64);
        assert!(had_no_connection(&buffer.flush()));
        Ok::<_, Error>(before + written(conn))
    });
    assert_eq!((n, calls), (Ok(1), 1));
}

/// Pages are read while two threads count, and the buffer writes again and again.
#[test]
fn each_page_shows_what_was_counted_before_it_and_nothing_twice() {
    let test = Test::new();
    let buffer = test.builder().every(Duration::from_millis(1));
    let buffer = buffer.start().unwrap();
    let begun = AtomicI64::new(0);
    let counted = AtomicI64::new(0);
    let conn = &mut test.connections.database.connect();
    let (mut missing, mut reads) = (0, 0);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while counted.load(SeqCst) >= 0 {
                    begun.fetch_add(1, SeqCst);
                    count(&buffer);
                    counted.fetch_add(1, SeqCst);
                    thread::sleep(Duration::from_micros(100));
                }
            });
        }
        for _ in 0..200 {
            let before = counted.load(SeqCst);
            let read = buffer.read(|pending| {
                let before = pending.of(views, &1_i64);
                thread::sleep(Duration::from_millis(1));
                Ok::<_, Error>(before + written(conn))
            });
            let n = read.unwrap();
            let after = begun.load(SeqCst);
            assert!(n <= after, "{n} of {after} were counted");
            reads += 1;
            missing += i32::from(n < before);
        }
        counted.store(i64::MIN, SeqCst);
    });
    // What is pending is left out if a busy machine needs seconds for a page.
    assert!(missing < reads / 2, "{missing} of {reads}");
}
