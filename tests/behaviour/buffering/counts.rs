//! What is counted is written once.

use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::thread;

use diesel::prelude::*;
use diesel_counters::buffer::{BufferError, Write};
use diesel_counters::prelude::*;
use diesel_counters_tests::article_counters;
use diesel_counters_tests::schema::article_counters::{comments, likes, views};
use diesel_counters_tests::schema::page_counters::hits;
use diesel_counters_tests::schema::site_counters;

use super::{SHORT, Test, had_no_connection};
use crate::behaviour::{article, day, views_on, wait_until};

#[test]
fn counts_of_all_kinds_are_written_once() {
    let mut test = Test::new();
    let buffer = test.buffer();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for i in 0..100 {
                    buffer.count(increment(views).of(1 + i % 2)).unwrap();
                    let both = increment((likes, comments)).of(1_i64).by((2, -1));
                    buffer.count(both).unwrap();
                }
            });
        }
    });
    let long_ago = day(2020, 2, 29);
    let count = increment(views).of(3_i64).on(long_ago).by(7);
    buffer.count(count).unwrap();
    let many = increment(views).of_many([(3_i64, 1), (4, 2), (3, 1)]);
    buffer.count(many).unwrap();
    let count = increment(hits).of("/a".to_owned()).by(2);
    buffer.count(count).unwrap();
    buffer.count(increment(hits).of("/a").by(3)).unwrap();
    buffer.count(increment(site_counters::hits)).unwrap();
    buffer.count(increment(views).of(5_i64).by(0)).unwrap();
    assert_eq!(test.views(1), 0);

    let write = test.flush(&buffer);
    assert!(write.error.is_none() && write.refused.is_empty(), "{write}");
    // Of article 3 a row for each day; of the others one, for all counters.
    assert_eq!(write.written, 7, "{write}");
    assert_eq!(write.pending, 0);
    assert_eq!([2, 3, 4, 5].map(|id| test.views(id)), [200, 9, 2, 0]);
    let conn = &mut test.conn;
    let n = article(1).counter_value((views, likes, comments), conn);
    assert_eq!(n, Ok((200, 800, -400)));
    assert_eq!(views_on(3, long_ago, conn), Ok(7));
    let page = counter_value(hits).of("/a").get_result::<i64>(conn);
    assert_eq!(page, Ok(5));
    let site = counter_value(site_counters::hits).get_result::<i64>(conn);
    assert_eq!(site, Ok(1));

    assert_eq!(test.flush(&buffer).written, 0);
    drop(buffer);
    assert_eq!(test.views(1), 200);
}

#[test]
fn what_is_pending_can_be_read() {
    let test = Test::with_timeout(SHORT);
    let buffer = test.buffer();
    buffer.count(increment(views).of(1_i64).by(3)).unwrap();
    let count = increment((views, likes)).of(1_i64).by((1, 5));
    buffer.count(count).unwrap();
    let count = increment(views).of(1_i64).by(2).on(day(2020, 1, 1));
    buffer.count(count).unwrap();
    assert_eq!(buffer.pending_of(views, &1_i64), 6);
    assert_eq!(buffer.pending_of((likes, views), &1_i64), (5, 6));
    assert_eq!(buffer.pending_of(views, &2_i64), 0);
    assert_eq!(buffer.pending_of(hits, &"1".to_owned()), 0);
    let keys = format!("pending: {}", buffer.pending());
    let shown = format!("{buffer:?}");
    assert!(shown.contains(&keys), "{shown}");

    // What waits in the backlog is pending too.
    test.set_away(true);
    let write = buffer.flush();
    assert!(had_no_connection(&write), "{write}");
    assert_eq!(write.pending, 2);
    buffer.count(increment(views).of(1_i64)).unwrap();
    assert_eq!(buffer.pending_of(views, &1_i64), 7);

    test.set_away(false);
    assert_eq!(test.flush(&buffer).pending, 0);
    assert_eq!(buffer.pending_of(views, &1_i64), 0);
}

#[test]
fn sums_can_leave_the_range_of_an_i64_in_between() {
    let mut test = Test::new();
    let buffer = test.buffer();
    for amount in [i64::MAX, i64::MAX, 5, -i64::MAX, -i64::MAX, -2] {
        let count = increment((views, likes)).of(1_i64).by((amount, 1));
        buffer.count(count).unwrap();
    }
    assert_eq!(buffer.pending_of((views, likes), &1_i64), (3, 6));
    assert_eq!(test.flush(&buffer).written, 1);
    let both = article(1).counter_value((views, likes), &mut test.conn);
    assert_eq!(both, Ok((3, 6)));
}

#[test]
fn nothing_is_written_and_reported_where_nothing_is_pending() {
    let test = Test::with_timeout(SHORT);
    test.set_away(true);
    let (reports, report) = channel();
    let report_it = move |write: &Write| reports.send(write.written).unwrap();
    let buffer = test.builder().on_write(report_it).start().unwrap();
    let write = buffer.flush();
    assert!(write.error.is_none(), "{write}");
    drop(buffer);
    assert_eq!(report.iter().count(), 0);
}

#[test]
fn the_end_writes() {
    let mut test = Test::new();
    let buffer = test.buffer();
    buffer.count(increment(views).of(1_i64)).unwrap();
    drop(buffer);
    assert_eq!(test.views(1), 1);
    let buffer = test.buffer();
    buffer.count(increment(views).of(1_i64)).unwrap();
    let shown = buffer.stop().to_string();
    let is_of_one_row = shown.starts_with("1 row written in") && shown.ends_with(" s");
    assert!(is_of_one_row, "{shown}");
    assert_eq!(test.views(1), 2);
    // What comes later is refused.
    let later = buffer.count(increment(views).of(1_i64));
    assert_eq!(later, Err(BufferError::Stopped));
    drop(buffer);
    assert_eq!(test.views(1), 2);
}

mod ticking {
    use std::sync::atomic::AtomicI32;
    use std::sync::atomic::Ordering::SeqCst;

    use chrono::NaiveDate;

    /// Days since 1970-01-01, which no other test reads.
    pub static DAY: AtomicI32 = AtomicI32::new(20_000);

    pub fn day_of(number: i32) -> NaiveDate {
        NaiveDate::from_num_days_from_ce_opt(719_163 + number).unwrap()
    }

    pub fn today() -> NaiveDate {
        day_of(DAY.load(SeqCst))
    }
}
article_counters!(ticking_counters (views) { today = ticking::today });

/// Each count has the day on which it was counted, however late it is written.
#[test]
fn the_day_is_that_of_the_count() {
    use ticking_counters::views;

    let mut test = Test::new();
    let buffer = test.buffer();
    for number in 20_000..20_003 {
        ticking::DAY.store(number, SeqCst);
        // A thread reads the day every second. The key has a row more then.
        let rows = 1 + (number - 20_000) as usize;
        assert!(wait_until(|| {
            buffer.count(increment(views).of(1_i64)).unwrap();
            buffer.pending() == rows
        }));
    }
    let pending = buffer.pending_of(views, &1_i64);
    assert_eq!(test.flush(&buffer).written, 3);
    let series = [20_000, 20_001, 20_002].map(|number| {
        let on = counter_value(views).of(1_i64).on(ticking::day_of(number));
        on.get_result::<i64>(&mut test.conn).unwrap()
    });
    assert_eq!(series.iter().sum::<i64>(), pending);
    assert!(series.iter().all(|n| *n > 0), "{series:?}");
}
