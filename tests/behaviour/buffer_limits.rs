//! The limits of a buffer, its forks, and panics of the application.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::time::Duration;

use diesel_counters::BackgroundError;
use diesel_counters::buffer::{BufferError, Write};
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::views;

use super::buffering::{Buffer, Test};
use super::{PATIENCE, wait_until};

#[cfg(unix)]
mod forks {
    use super::*;

    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
        fn _exit(status: i32) -> !;
    }

    /// Runs this in a fork, and returns its status. It allocates nothing that another thread may have locked.
    fn in_a_fork(run: impl FnOnce() -> i32) -> i32 {
        // SAFETY: the child only runs this, which waits for no lock of another thread.
        let child = unsafe { fork() };
        if child == 0 {
            let status = run();
            // SAFETY: nothing else of the parent is dropped.
            unsafe { _exit(status) };
        }
        let mut status = 0;
        // SAFETY: the child is this process's own.
        assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
        status >> 8
    }

    /// Whether the first count of this key failed in a fork, and most of many.
    fn failed_in_a_fork(id: i64, test: &Test) -> (bool, bool) {
        let buffer = test.buffer();
        buffer.count(increment(views).of(1_i64)).unwrap();
        let count = || buffer.count(increment(views).of(id));
        let failed = in_a_fork(|| {
            let first = count();
            let failed = (0..200).filter(|_| count() == Err(BufferError::Forked));
            let most = failed.count() > 100;
            i32::from(first.is_err()) + 2 * i32::from(most)
        });
        assert_eq!(test.flush(&buffer).written, 1);
        (failed & 1 != 0, failed & 2 != 0)
    }

    #[test]
    fn a_fork_counts_neither_new_keys_nor_known_ones() {
        let mut test = Test::new();
        assert_eq!(failed_in_a_fork(2, &test), (true, true));
        let (_, known) = failed_in_a_fork(1, &test);
        assert!(known, "counts of a known key return Ok");
        assert_eq!([1, 2].map(|id| test.views(id)), [2, 0]);
    }

    #[test]
    fn a_fork_writes_nothing_and_says_so() {
        let mut test = Test::new();
        let mut buffer = Some(test.buffer());
        let count = |buffer: &Buffer| buffer.count(increment(views).of(1_i64)).unwrap();
        buffer.iter().for_each(count);
        let status = in_a_fork(|| {
            let buffer = buffer.take().unwrap();
            let write = buffer.flush();
            let is_refused = matches!(write.error, Some(BackgroundError::Forked));
            let is_pending = (write.written, write.pending) == (0, 1);
            let last = buffer.stop();
            let is_refused = is_refused && last.error.is_some() && last.written == 0;
            drop(buffer);
            i32::from(is_refused) + 2 * i32::from(is_pending)
        });
        assert_eq!(status, 3);
        assert_eq!(test.views(1), 0);
        assert_eq!(test.flush(&buffer.unwrap()).written, 1);
    }
}

#[test]
fn a_panic_in_on_write_ends_nothing() {
    let mut test = Test::new();
    let builder = test.builder().every(Duration::from_millis(1));
    let panics = |_: &Write| panic!("as the test wants");
    let buffer = builder.on_write(panics).start().unwrap();
    for n in 1..=2 {
        buffer.count(increment(views).of(1_i64)).unwrap();
        assert!(wait_until(|| test.views(1) == n));
    }
    // In a drop, a second panic would end the process.
    buffer.count(increment(views).of(1_i64)).unwrap();
    drop(buffer);
    assert_eq!(test.views(1), 3);
}

/// As one of the application's Diesel instrumentation, in the middle of a write.
#[test]
fn a_panic_in_a_write_is_reported_and_loses_nothing() {
    let mut test = Test::new();
    test.connections.panics.store(true, SeqCst);
    let (reports, report) = channel();
    let builder = test.builder().every(Duration::from_millis(1));
    let report_it = move |write: &Write| drop(reports.send(write.to_string()));
    let buffer = builder.on_write(report_it).start().unwrap();
    buffer.count(increment(views).of(1_i64)).unwrap();
    let panicked = "panicked: as the test wants";
    let next = || report.recv_timeout(PATIENCE).unwrap();
    assert!(wait_until(|| next().contains(panicked)));
    test.connections.panics.store(false, SeqCst);
    // A busy machine has no connection by then; the next write may have one.
    assert!(wait_until(|| next().starts_with("1 row written in")));
    assert_eq!(test.views(1), 1);
    drop(buffer);
    assert_eq!(test.views(1), 1);
}
