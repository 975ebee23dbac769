//! Merging the slots of days that are over.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use chrono::{Days, NaiveDate};
use diesel::connection::{Connection, SimpleConnection};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Text};
use diesel_counters::__private::Name;
use diesel_counters::dsl::compact;
use diesel_counters::prelude::*;
use diesel_counters::{Compact, Compacted, CounterSettings, Slot, is_overflow};
use diesel_counters_tests::models::{Article, Site};
use diesel_counters_tests::schema::article_counters::{self, comments, likes, views};
use diesel_counters_tests::schema::{file_counters, odd_name, page_counters, site_counters};

use super::{article, day, rows, utc_today};
use crate::{Conn, HAS_SLOTS, IS_MYSQL, TestDatabase};

/// Rows as a database with slots has them; on SQLite they come from another one.
pub fn insert_row(id: i64, on: NaiveDate, slot: i16, counts: (i64, i64, i64), conn: &mut Conn) {
    diesel::insert_into(article_counters::table)
        .values((
            article_counters::article_id.eq(id),
            article_counters::day.eq(on),
            article_counters::slot.eq(slot),
            views.eq(counts.0),
            likes.eq(counts.1),
            comments.eq(counts.2),
        ))
        .execute(conn)
        .unwrap();
}

#[test]
fn the_slots_of_a_day_become_slot_0() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    for (slot, n) in [(1, 1), (2, 10), (32, 100), (i16::MAX, 1000)] {
        insert_row(1, day(2026, 3, 1), slot, (n, -n, 0), conn);
        insert_row(1, day(2026, 3, 2), slot, (2 * n, 0, n), conn);
    }
    insert_row(1, day(2026, 3, 2), 0, (5, 5, 5), conn);

    let done = compact(article_counters::table).execute(conn).unwrap();

    assert_eq!((done.merged, done.left), (8, 0));
    assert!(!done.already_running);
    let stored: Vec<_> = rows(&article, conn)
        .iter()
        .map(|row| (row.day, row.slot, row.views, row.likes, row.comments))
        .collect();
    assert_eq!(
        stored,
        [
            (day(2026, 3, 1), 0, 1111, -1111, 0),
            (day(2026, 3, 2), 0, 2227, 5, 1116),
        ]
    );
}

#[test]
fn yesterday_and_today_are_left_unless_it_is_said() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let today = utc_today();
    for days_ago in 0..3 {
        insert_row(1, today - Days::new(days_ago), 3, (1, 0, 0), &mut conn);
    }
    let slots =
        |conn: &mut Conn| -> Vec<i16> { rows(&article, conn).iter().map(|row| row.slot).collect() };

    let done = compact(article_counters::table).execute(&mut conn).unwrap();
    assert_eq!((done.merged, slots(&mut conn)), (1, vec![0, 3, 3]));

    let before_today = compact(article_counters::table).before(today);
    assert_eq!(before_today.execute(&mut conn).unwrap().merged, 1);
    assert_eq!(slots(&mut conn), [0, 0, 3]);
}

#[test]
fn a_late_increment_is_merged_by_the_next_run() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    for n in 1..=3 {
        increment((views, likes))
            .of(1_i64)
            .on(day(2026, 3, 1))
            .by((n, 1))
            .slot(Slot::Random)
            .execute(conn)
            .unwrap();
        compact(article_counters::table).execute(conn).unwrap();
        assert_eq!(rows(&article, conn).len(), 1);
        assert_eq!(rows(&article, conn)[0].slot, 0);
    }
    assert_eq!(article.counter_value((views, likes), conn), Ok((6, 3)));
}

#[test]
fn it_works_in_batches_and_says_how_far_it_is() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for slot in 1..=7 {
        insert_row(1, day(2026, 3, 1), slot, (1, 0, 0), &mut conn);
        insert_row(2, day(2026, 3, 1), slot, (1, 0, 0), &mut conn);
    }
    let mut seen = Vec::new();
    let done = compact(article_counters::table)
        .batch(5)
        .on_progress(|so_far| seen.push((so_far.merged, so_far.left)))
        .execute(&mut conn)
        .unwrap();
    assert_eq!(seen, [(5, 9), (10, 4), (14, 0)]);
    assert_eq!((done.merged, done.left), (14, 0));
    assert_eq!(article.counter_value(views, &mut conn), Ok(7));
}

#[test]
fn it_stops_between_two_batches() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for slot in 1..=7 {
        insert_row(1, day(2026, 3, 1), slot, (1, 0, 0), &mut conn);
    }
    let batches = AtomicUsize::new(0);
    let done = compact(article_counters::table)
        .batch(2)
        .on_progress(|_| {
            batches.fetch_add(1, Relaxed);
        })
        .stop_when(|| batches.load(Relaxed) == 2)
        .execute(&mut conn)
        .unwrap();
    assert_eq!((done.merged, done.left), (4, 3));
    assert_eq!(article.counter_value(views, &mut conn), Ok(7));
}

#[test]
fn a_dry_run_counts_the_rows_and_merges_none() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    for slot in 0..4 {
        insert_row(1, day(2026, 3, 1), slot, (1, 0, 0), &mut conn);
    }
    let found = compact(article_counters::table).dry_run(&mut conn).unwrap();
    assert_eq!((found.merged, found.left), (0, 3));
    assert_eq!(rows(&article, &mut conn).len(), 4);
}

#[test]
fn any_key_and_any_name_can_be_merged() {
    let database = TestDatabase::with_tables();
    let conn = &mut database.connect();
    let on = day(2026, 3, 1);
    // The same keys with and without their last character are in order of another kind.
    let paths = ["", "/", "/a", "/a/b", "/ä", "/a'b", "/z\\"];
    let digests: [&[u8]; 3] = [b"\0", b"\0\xff", b"\xff\0'"];
    for slot in 1..=3_i16 {
        for path in paths {
            diesel::insert_into(page_counters::table)
                .values((
                    page_counters::path.eq(path),
                    page_counters::day.eq(on),
                    page_counters::slot.eq(slot),
                    page_counters::hits.eq(i64::from(slot)),
                ))
                .execute(conn)
                .unwrap();
        }
        for digest in digests {
            diesel::insert_into(file_counters::table)
                .values((
                    file_counters::digest.eq(digest),
                    file_counters::day.eq(on),
                    file_counters::slot.eq(slot),
                    file_counters::downloads.eq(1),
                ))
                .execute(conn)
                .unwrap();
        }
        for id in [i32::MIN, -1, 0, i32::MAX] {
            diesel::insert_into(odd_name::table)
                .values((
                    odd_name::the_entity_.eq(id),
                    odd_name::select.eq(on),
                    odd_name::slot_s.eq(slot),
                    odd_name::views_.eq(1),
                    odd_name::gr_e.eq(2),
                ))
                .execute(conn)
                .unwrap();
        }
        for on in [on, day(2026, 3, 2)] {
            diesel::insert_into(site_counters::table)
                .values((
                    site_counters::day.eq(on),
                    site_counters::slot.eq(slot),
                    site_counters::hits.eq(1),
                    site_counters::errors.eq(0),
                ))
                .execute(conn)
                .unwrap();
        }
    }

    // A batch of two: each key is where a batch ends, sooner or later.
    let merged = [
        compact(page_counters::table)
            .batch(2)
            .execute(conn)
            .unwrap(),
        compact(file_counters::table)
            .batch(2)
            .execute(conn)
            .unwrap(),
        compact(odd_name::table).batch(2).execute(conn).unwrap(),
        compact(site_counters::table)
            .batch(2)
            .execute(conn)
            .unwrap(),
    ];
    assert_eq!(
        merged.map(|done| (done.merged, done.left)),
        [(21, 0), (9, 0), (12, 0), (6, 0)]
    );

    let pages: Vec<(String, i16, i64)> = page_counters::table
        .select((
            page_counters::path,
            page_counters::slot,
            page_counters::hits,
        ))
        .load(conn)
        .unwrap();
    let pages: BTreeMap<_, _> = pages
        .iter()
        .map(|(path, slot, hits)| (&**path, (*slot, *hits)))
        .collect();
    assert_eq!(pages, paths.map(|path| (path, (0, 6))).into());
    let files: Vec<(i16, i64)> = file_counters::table
        .select((file_counters::slot, file_counters::downloads))
        .load(conn)
        .unwrap();
    assert_eq!(files, [(0, 3); 3]);
    let odd: Vec<(i16, i64, i64)> = odd_name::table
        .select((odd_name::slot_s, odd_name::views_, odd_name::gr_e))
        .load(conn)
        .unwrap();
    assert_eq!(odd, [(0, 3, 6); 4]);
    let site: Vec<(i16, i64)> = site_counters::table
        .select((site_counters::slot, site_counters::hits))
        .load(conn)
        .unwrap();
    assert_eq!(site, [(0, 3); 2]);
    assert_eq!(Site.counter_value(site_counters::hits, conn), Ok(6));
}

#[test]
fn a_sum_beyond_an_i64_is_an_error_and_loses_nothing() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    insert_row(1, day(2026, 3, 1), 1, (i64::MAX, 0, 0), conn);
    insert_row(1, day(2026, 3, 1), 2, (1, 7, 0), conn);
    let before = rows(&article, conn);

    let result = compact(article_counters::table).execute(conn);
    assert!(
        result.as_ref().is_err_and(diesel_counters::is_overflow),
        "{result:?}"
    );
    assert_eq!(rows(&article, conn), before);

    // And so is one that only the row in slot 0 takes there.
    insert_row(2, day(2026, 3, 1), 0, (i64::MAX, 0, 0), conn);
    insert_row(2, day(2026, 3, 1), 1, (1, 0, 0), conn);
    Article::delete_counters_of(&[1], conn).unwrap();
    let before = rows(&super::article(2), conn);
    let result = compact(article_counters::table).execute(conn);
    assert!(
        result.as_ref().is_err_and(diesel_counters::is_overflow),
        "{result:?}"
    );
    assert_eq!(rows(&super::article(2), conn), before);
}

#[test]
fn one_entity_that_cannot_be_merged_is_named_and_all_others_are_merged() {
    for batch in [1, 2, 100] {
        let (_database, mut conn, _article) = TestDatabase::with_article();
        let conn = &mut conn;
        for id in 1..=5 {
            for (on, slot) in [(1, 1), (1, 2), (2, 1), (2, 2)] {
                let n = if (id, on) == (3, 1) { i64::MAX } else { 1 };
                insert_row(id, day(2026, 3, on), slot, (n, 0, 0), conn);
            }
        }
        let compact = compact(article_counters::table).batch(batch);
        let error = compact.execute(conn).unwrap_err();
        assert!(is_overflow(&error), "{error}");
        let error = error.to_string();
        assert!(error.contains("article_id 3, 2026-03-01"), "{error}");
        assert!(!error.contains("article_id 4"), "{error}");
        for id in 1..=5 {
            let rows = rows(&super::article(id), conn);
            let left = rows.iter().filter(|row| row.slot > 0 && row.views != 0);
            let cannot = if id == 3 { 2 } else { 0 };
            assert!(left.count() <= cannot, "article {id}: {rows:?}");
            if id != 3 {
                assert_eq!(rows.iter().map(|row| row.views).sum::<i64>(), 4);
            }
        }
    }
}

#[test]
fn counts_beyond_what_a_float_holds_are_merged_exactly() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let large = (1 << 53) + 1;
    insert_row(1, day(2026, 3, 1), 1, (large, -large, 0), &mut conn);
    insert_row(1, day(2026, 3, 1), 2, (large, -1, 1), &mut conn);
    compact(article_counters::table).execute(&mut conn).unwrap();
    let stored = rows(&article, &mut conn);
    assert_eq!((stored[0].views, stored[0].likes), (2 * large, -large - 1));
}

#[test]
fn in_a_transaction_it_is_refused() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let result = conn.transaction(|conn| compact(article_counters::table).execute(conn));
    assert_eq!(result, Err(Error::AlreadyInTransaction));
}

diesel::table! {
    // As an older version of a program has it.
    #[sql_name = "article_counters"]
    older_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        likes -> BigInt,
    }
}
diesel_counters::counter_table!(older_counters);

diesel::table! {
    #[sql_name = "article_counters"]
    nullable_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        likes -> BigInt,
        comments -> Nullable<BigInt>,
    }
}
diesel_counters::counter_table!(nullable_counters);

diesel::table! {
    #[sql_name = "article_counters"]
    no_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
    }
}
diesel_counters::counter_table!(no_counters);

#[test]
fn a_table_without_counters_is_an_error_that_says_so() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let result = compact(no_counters::table).execute(&mut conn);
    let Err(Error::QueryBuilderError(error)) = result else {
        panic!("{result:?}");
    };
    assert!(error.to_string().contains("no counter"), "{error}");
}

#[test]
fn an_empty_table_is_merged_at_once() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let done = compact(article_counters::table).execute(&mut conn).unwrap();
    assert_eq!(done, Compacted::default());
}

#[test]
fn a_counter_that_the_program_does_not_know_is_not_lost() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let conn = &mut conn;
    insert_row(1, day(2026, 3, 1), 1, (1, 1, 1), conn);
    insert_row(1, day(2026, 3, 1), 2, (1, 1, 1), conn);
    for result in [
        compact(older_counters::table).execute(conn),
        compact(nullable_counters::table).execute(conn),
    ] {
        let Err(Error::QueryBuilderError(error)) = result else {
            panic!("{result:?}");
        };
        assert!(error.to_string().contains("column `comments`"), "{error}");
    }
    assert_eq!(rows(&article, conn).len(), 2);
    // The errors left no lock behind.
    assert_eq!(
        compact(article_counters::table)
            .execute(conn)
            .unwrap()
            .merged,
        2
    );
}

/// PostgreSQL folds it, and the others compare it so.
#[test]
fn a_counter_may_be_stored_in_capitals() {
    let (_database, mut conn, _article) = TestDatabase::with_article();
    let conn = &mut conn;
    conn.batch_execute(
        "DROP TABLE page_counters;
         CREATE TABLE page_counters (PATH VARCHAR(50) NOT NULL, DAY DATE NOT NULL, SLOT SMALLINT NOT NULL,
             HITS BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (PATH, DAY, SLOT));
         INSERT INTO page_counters VALUES ('/', '2026-03-01', 1, 2), ('/', '2026-03-01', 2, 3)",
    )
    .unwrap();
    let compacted = compact(page_counters::table).execute(conn);
    assert_eq!(compacted.map(|done| done.merged), Ok(2));
    let value = counter_value(page_counters::hits).of("/");
    assert_eq!(value.get_result(conn), Ok(5_i64));
}

#[test]
fn other_columns_than_counters_may_go() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    conn.batch_execute(
        "DROP TABLE page_counters;
         CREATE TABLE page_counters (path VARCHAR(50) NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             hits BIGINT NOT NULL DEFAULT 0, note VARCHAR(50) NOT NULL DEFAULT 'none',
             PRIMARY KEY (path, day, slot));
         INSERT INTO page_counters VALUES ('/', '2026-03-01', 1, 2, 'a'), ('/', '2026-03-01', 2, 3, 'b')",
    )
    .unwrap();
    mod noted {
        diesel::table! {
            page_counters (path, day, slot) {
                path -> Text,
                day -> Date,
                slot -> SmallInt,
                hits -> BigInt,
                note -> Text,
            }
        }
        diesel_counters::counter_table!(page_counters);
    }
    compact(noted::page_counters::table)
        .execute(&mut conn)
        .unwrap();
    let stored =
        noted::page_counters::table.load::<(String, NaiveDate, i16, i64, String)>(&mut conn);
    assert_eq!(
        stored,
        Ok(vec![("/".into(), day(2026, 3, 1), 0, 5, "none".into())])
    );
    let _ = article;
}

#[test]
fn one_run_goes_on_at_a_time() {
    let (database, mut conn, _article) = TestDatabase::with_article();
    for slot in 1..=4 {
        insert_row(1, day(2026, 3, 1), slot, (1, 0, 0), &mut conn);
    }
    let other = &mut database.connect();
    let mut second = Vec::new();
    let first = compact(article_counters::table)
        .batch(2)
        .on_progress(|_| {
            let run = compact(article_counters::table).batch(1).execute(other);
            second.push(run.unwrap());
        })
        .execute(&mut conn)
        .unwrap();
    assert_eq!(article(1).counter_value(views, &mut conn), Ok(4));
    if HAS_SLOTS {
        assert_eq!(first.merged, 4);
        let busy: Vec<bool> = second.iter().map(|run| run.already_running).collect();
        assert_eq!(busy, [true, true]);
        let text = compact_text(true);
        assert!(text.contains("another run"), "{text}");
    } else {
        // SQLite has its write lock alone: the second merges what the first has not yet.
        assert_eq!(
            first.merged + second.iter().map(|run| run.merged).sum::<u64>(),
            4
        );
    }
    // The lock is given back.
    let third = compact(article_counters::table).execute(&mut conn).unwrap();
    assert!(!third.already_running);
}

/// A program can call the table by another name, and by its schema or database.
#[test]
fn the_lock_of_a_merge_is_of_the_table_in_the_database() {
    if !HAS_SLOTS {
        return;
    }
    let (database, mut conn, _article) = TestDatabase::with_article();
    insert_row(1, day(2026, 3, 1), 1, (1, 0, 0), &mut conn);
    let schema = sql::<Text>(match IS_MYSQL {
        true => "DATABASE()",
        false => "CAST(current_schema() AS TEXT)",
    });
    let schema: String = diesel::select(schema).get_result(&mut conn).unwrap();
    let other = &mut database.connect();
    let mut beside = Vec::new();
    compact(article_counters::table)
        .on_progress(|_| {
            let mut shape = article_counters::table::shape().clone();
            shape.table.schema = Some(Name(&schema));
            let qualified = Compact::<(BigInt,), i64>::new(&shape);
            beside.push(qualified.execute(other).unwrap().already_running);
            beside.push(
                compact(renamed::table)
                    .execute(other)
                    .unwrap()
                    .already_running,
            );
        })
        .execute(&mut conn)
        .unwrap();
    assert_eq!(beside, [true, true]);
}

diesel::table! {
    #[sql_name = "article_counters"]
    renamed (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
        likes -> BigInt,
        comments -> BigInt,
    }
}
diesel_counters::counter_table!(renamed);

fn compact_text(already_running: bool) -> String {
    let mut done = Compacted::default();
    done.already_running = already_running;
    done.to_string()
}

#[test]
fn a_panic_leaves_no_lock_behind() {
    let (database, mut conn, article) = TestDatabase::with_article();
    for slot in 1..=4 {
        insert_row(1, day(2026, 3, 1), slot, (1, 0, 0), &mut conn);
    }
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        compact(article_counters::table)
            .batch(2)
            .on_progress(|_| panic!("so says the test"))
            .execute(&mut conn)
    }));
    assert!(panicked.is_err());
    let done = compact(article_counters::table)
        .execute(&mut database.connect())
        .unwrap();
    assert_eq!((done.merged, done.already_running), (2, false));
    assert_eq!(article.counter_value(views, &mut conn), Ok(4));
}

#[test]
fn a_row_that_somebody_has_locked_is_left_for_the_next_run() {
    if !HAS_SLOTS {
        return;
    }
    let (database, mut conn, article) = TestDatabase::with_article();
    for slot in 1..=4 {
        insert_row(1, day(2026, 3, 1), slot, (1, 0, 0), &mut conn);
    }
    let writer = &mut database.connect();
    writer.begin_test_transaction().unwrap();
    diesel::update(article_counters::table.find((1, day(2026, 3, 1), 2)))
        .set(views.eq(views + 10))
        .execute(writer)
        .unwrap();

    // A batch of one, so that the row in the way is a whole batch.
    let done = compact(article_counters::table)
        .batch(1)
        .execute(&mut conn)
        .unwrap();
    assert_eq!((done.merged, done.left), (3, 1));

    diesel::sql_query("COMMIT").execute(writer).unwrap();
    let done = compact(article_counters::table).execute(&mut conn).unwrap();
    assert_eq!((done.merged, done.left), (1, 0));
    assert_eq!(article.counter_value(views, &mut conn), Ok(14));
}
