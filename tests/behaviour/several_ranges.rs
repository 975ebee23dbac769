//! Copying the counts of several ranges of days with one statement, into `BIGINT` and `INTEGER`
//! columns.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use chrono::NaiveDate;
use diesel::connection::{InstrumentationEvent, SimpleConnection};
use diesel::prelude::*;
use diesel_counters::dsl::total;
use diesel_counters::prelude::*;
use diesel_counters::{Compactor, is_overflow};
use diesel_counters_tests::examples::{Page, Post, page_hits, pages, post_counts, posts};

use super::materializing::{ADD_RECENT, ADD_TOTAL_LIKES};
use super::{PATIENCE, count_on, day, utc_today};
use crate::{CASED, Conn, TestDatabase, write_transaction};
use post_counts::{likes, views};
use posts::{recent_likes, recent_views, total_likes, total_views};

/// With the columns of [`posts`].
fn with_columns() -> (Conn, TestDatabase) {
    let database = TestDatabase::with_tables();
    let mut conn = database.connect();
    for add in [ADD_TOTAL_LIKES, ADD_RECENT] {
        conn.batch_execute(add).unwrap();
    }
    (conn, database)
}

fn days_ago(days: u64) -> NaiveDate {
    utc_today() - chrono::Days::new(days)
}

/// All views, and those of the last 90 days.
fn held(id: i64, conn: &mut Conn) -> (i64, i32) {
    let columns = posts::table.find(id).select((total_views, recent_views));
    columns.first(conn).unwrap()
}

/// Copies all views, and those of the last 90 days.
fn copy(conn: &mut Conn) -> QueryResult<usize> {
    let counts = (views, total(views).between(days_ago(89)..));
    Post::materialize(counts, (total_views, recent_views)).execute(conn)
}

/// A view is counted between the two, as a program does at any time.
#[test]
fn two_ranges_are_of_the_same_moment() {
    let (conn, database) = &mut with_columns();
    count_on(1, days_ago(0), 3, conn);

    // What two copies leave.
    let of_all = Post::materialize(views, total_views).execute(conn);
    assert_eq!(of_all, Ok(1));
    count_on(1, days_ago(0), 1, conn);
    let recent = Post::materialize(views, recent_views).between(days_ago(89)..);
    assert_eq!(recent.execute(conn), Ok(1));
    assert_eq!(held(1, conn), (3, 4));

    // The same with one copy, between its query and its update.
    let mut other = database.connect();
    conn.set_instrumentation(move |event: InstrumentationEvent<'_>| match event {
        InstrumentationEvent::StartQuery { query, .. }
            if query.to_string().starts_with("UPDATE") =>
        {
            count_on(1, days_ago(0), 1, &mut other);
        }
        _ => {}
    });
    for counted in 4..7 {
        assert_eq!(copy(conn), Ok(1));
        assert_eq!(held(1, conn), (counted, counted as i32));
    }
}

#[test]
fn each_count_has_days_of_its_own() {
    for batch in [1, 1000] {
        let (conn, _database) = &mut with_columns();
        for (id, ago, n) in [(1, 0, 1), (1, 1, 20), (1, 2, 300), (2, 5, 4000), (3, 9, 5)] {
            count_on(id, days_ago(ago), n, conn);
        }
        let like = increment(likes).of(3_i64).on(days_ago(1)).by(-2);
        like.execute(conn).unwrap();
        let held = |conn: &mut Conn| {
            let columns = (total_views, total_likes, recent_views, recent_likes);
            let held = posts::table.select(columns).order(posts::id).limit(3);
            held.load::<(i64, i64, i32, Option<i32>)>(conn).unwrap()
        };
        let columns = (total_views, total_likes, recent_views, recent_likes);

        let counts = (
            total(views),
            total(views).between(days_ago(1)..),
            total(views).on(days_ago(2)),
            total(likes).between(days_ago(1)..=days_ago(1)),
        );
        let copied = Post::materialize(counts, columns)
            .batch(batch)
            .execute(conn);
        assert_eq!(copied, Ok(5));
        let expected = [
            (321, 21, 300, Some(0)),
            (4000, 0, 0, Some(0)),
            (5, 0, 0, Some(-2)),
        ];
        assert_eq!(held(conn), expected);

        // None is of all days. An empty range has no counts.
        #[allow(clippy::reversed_empty_ranges)]
        let none = total(likes).between(days_ago(0)..=days_ago(1));
        let counts = (
            total(views).between(days_ago(5)..=days_ago(1)),
            total(views).on(days_ago(0)),
            total(views).between(..=days_ago(9)),
            none,
        );
        let copied = Post::materialize(counts, columns)
            .batch(batch)
            .execute(conn);
        assert_eq!(copied, Ok(2));
        let expected = [
            (320, 1, 0, Some(0)),
            (4000, 0, 0, Some(0)),
            (0, 0, 5, Some(0)),
        ];
        assert_eq!(held(conn), expected);

        // `between` is for the counts that have no days.
        let counts = (views, total(views).on(days_ago(2)));
        let copied = Post::materialize(counts, (total_views, total_likes));
        let copied = copied.between(days_ago(1)..=days_ago(0)).execute(conn);
        assert_eq!(copied, Ok(2));
        let expected = [
            (21, 300, 0, Some(0)),
            (0, 0, 0, Some(0)),
            (0, 0, 5, Some(0)),
        ];
        assert_eq!(held(conn), expected);

        let one = Post::materialize(total(views).on(days_ago(5)), total_views);
        assert_eq!(one.execute(conn), Ok(2));
        assert_eq!(held(conn)[1].0, 4000);
    }
}

pub fn create_pages(conn: &mut Conn) {
    conn.batch_execute(&format!(
        "CREATE TABLE pages (path {CASED} NOT NULL PRIMARY KEY, all_hits INTEGER, hits_of_a_day BIGINT);
         INSERT INTO pages (path) VALUES ('/a'), ('/b')"
    ))
    .unwrap();
}

/// Such a key is compared in a subquery for each count.
#[test]
fn ranges_are_copied_by_a_key_that_is_a_text() {
    let (conn, _database) = &mut with_columns();
    create_pages(conn);
    for (d, n) in [(1, 10), (2, 200)] {
        let count = increment(page_hits::hits).of("/a").on(day(2026, 1, d));
        count.by(n).execute(conn).unwrap();
    }
    let counts = (page_hits::hits, total(page_hits::hits).on(day(2026, 1, 2)));
    let columns = (pages::all_hits, pages::hits_of_a_day);
    let copied = || Page::materialize(counts, columns);
    assert_eq!(copied().execute(conn), Ok(2));
    let held = pages::table.order(pages::path).select(columns);
    assert_eq!(held.load(conn), Ok(vec![(210, 200_i64), (0, 0)]));

    let more = increment(page_hits::hits).of("/a").by(1 << 31);
    more.execute(conn).unwrap();
    let error = copied().execute(conn).unwrap_err().to_string();
    let named = "`pages.all_hits` of \"/a\" would be 2147483858";
    assert!(error.ends_with(named), "{error}");
}

/// Whatever the database would do with such a number.
#[test]
fn a_count_that_an_integer_cannot_hold_is_an_error_that_names_the_row() {
    let (most, least) = (i64::from(i32::MAX), i64::from(i32::MIN));
    let (conn, _database) = &mut with_columns();
    for (id, n) in [(1, most), (2, least), (3, 3)] {
        count_on(id, days_ago(0), n, conn);
    }
    assert_eq!(copy(conn), Ok(3));
    for (id, n) in [(1, i32::MAX), (2, i32::MIN), (3, 3)] {
        assert_eq!(held(id, conn), (n.into(), n));
    }

    count_on(2, days_ago(0), -1, conn);
    count_on(3, days_ago(0), 1, conn);
    let assert_names_2 = |error: diesel::result::Error| {
        let named = "`articles.recent_views` of 2 would be -2147483649";
        assert!(error.to_string().ends_with(named), "{error}");
        assert!(is_overflow(&error), "{error}");
    };
    assert_names_2(copy(conn).unwrap_err());
    // No column of this row has changed, and the other rows are written.
    assert_eq!(held(2, conn), (least, i32::MIN));
    assert_eq!(held(3, conn), (4, 4));
    assert_names_2(copy(conn).unwrap_err());

    count_on(1, days_ago(0), 1, conn);
    let error = copy(conn).unwrap_err().to_string();
    let named = "`articles.recent_views` of 1 would be 2147483648; 1 more rows don't fit either";
    assert!(error.ends_with(named), "{error}");
    assert_eq!(held(1, conn), (most, i32::MAX));

    for (id, n) in [(1, -1), (2, 1)] {
        count_on(id, days_ago(0), n, conn);
    }
    assert_eq!(copy(conn), Ok(0));
    // A `BIGINT` holds them.
    count_on(1, days_ago(0), 1, conn);
    assert_eq!(Post::materialize(views, total_views).execute(conn), Ok(1));
}

/// Two threads count old days and today, and a third one reads the columns, while a `Compactor`
/// copies again and again.
#[test]
fn the_last_days_are_never_more_than_all() {
    let (conn, database) = &mut with_columns();
    let (said, runs) = channel();
    let url = database.url();
    let compactor = Compactor::builder(move || Conn::establish(&url))
        .materialize(|| {
            let counts = (views, total(views).between(days_ago(89)..));
            Post::materialize(counts, (total_views, recent_views))
        })
        .every(Duration::from_millis(1))
        .on_run(move |run| drop(said.send(run.to_string())))
        .start()
        .unwrap();
    let ends = AtomicBool::new(false);
    let mut seen = BTreeSet::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let conn = &mut database.connect();
                for n in 0.. {
                    if ends.load(SeqCst) {
                        break;
                    }
                    let ago = if n % 10 == 0 { 100 } else { 0 };
                    let counted = write_transaction(conn, |conn| {
                        let count = increment(views).of(1 + n % 5).on(days_ago(ago));
                        count.execute(conn)
                    });
                    assert!(counted.is_ok(), "{counted:?}");
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
        let begun = Instant::now();
        // So many different ones, so that many copies were read.
        while seen.len() < 100 && begun.elapsed() < PATIENCE {
            let columns = posts::table.select((total_views, recent_views));
            seen.extend(columns.load::<(i64, i32)>(conn).unwrap());
        }
        ends.store(true, SeqCst);
    });
    compactor.stop();
    assert!(seen.len() >= 100, "{seen:?}");
    let wrong = seen.iter().find(|(all, recent)| i64::from(*recent) > *all);
    assert_eq!(wrong, None);
    let name = "materialize post_counts into total_views, recent_views: ";
    assert!(runs.iter().any(|run| run.starts_with(name)));
}
