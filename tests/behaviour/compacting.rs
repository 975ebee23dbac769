//! Merging the slots of days that are over.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use chrono::{Days, NaiveDate};
use diesel::connection::{Connection, SimpleConnection};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Text};
use diesel_counters::__private::Name;
use diesel_counters::dsl::Compact;
use diesel_counters::dsl::compact;
use diesel_counters::prelude::*;
use diesel_counters::{CounterTable, is_overflow};
use diesel_counters_tests::article_counters;
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{self, comments, likes, views};
use diesel_counters_tests::schema::{odd_name, site_counters};

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
fn yesterday_and_today_are_left_unless_it_is_said() {
    let (_database, mut conn, article) = TestDatabase::with_article();
    let today = utc_today();
    for days_ago in 0..3 {
        insert_row(1, today - Days::new(days_ago), 3, (1, 0, 0), &mut conn);
    }
    let merge = || compact(article_counters::table);
    for (merge, left) in [(merge(), [0, 3, 3]), (merge().before(today), [0, 0, 3])] {
        assert_eq!(merge.execute(&mut conn).unwrap().merged, 1);
        let rows = rows(&article, &mut conn).into_iter();
        assert!(rows.map(|row| row.slot).eq(left));
    }
}

/// Articles 1 and 2 have one view in each of the slots, on an old day.
pub fn with_slots(slots: i16) -> (Conn, TestDatabase, Article) {
    let (database, mut conn, article) = TestDatabase::with_article();
    for slot in 1..=slots {
        for id in [1, 2] {
            insert_row(id, day(2026, 3, 1), slot, (1, 0, 0), &mut conn);
        }
    }
    (conn, database, article)
}

#[test]
fn it_works_in_batches_and_stops_between_them() {
    let (conn, _database, article) = &mut with_slots(7);
    let found = compact(article_counters::table).dry_run(conn).unwrap();
    assert_eq!((found.merged, found.left), (0, 14));
    let batches = AtomicUsize::new(0);
    let merge = compact(article_counters::table).batch(2);
    let merge = merge.on_progress(|_| _ = batches.fetch_add(1, Relaxed));
    let merge = merge.stop_when(|| batches.load(Relaxed) == 2);
    let stopped = merge.execute(conn).unwrap();
    assert_eq!((stopped.merged, stopped.left), (4, 10));
    let mut seen = Vec::new();
    let merge = compact(article_counters::table).batch(5);
    let merge = merge.on_progress(|so_far| seen.push((so_far.merged, so_far.left)));
    merge.execute(conn).unwrap();
    assert_eq!(seen, [(5, 5), (10, 0)]);
    assert_eq!(article.counter_value(views, conn), Ok(7));
}

#[test]
fn any_name_and_a_site_can_be_merged() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let days = [1, 2].map(|d| day(2026, 3, d));
    for n in 1..=3_i16 {
        use odd_name::{gr_e, select, slot_s, the_entity_, views_};
        for of in [i32::MIN, -1, 0, i32::MAX] {
            let key = (the_entity_.eq(of), select.eq(days[0]), slot_s.eq(n));
            let insert = diesel::insert_into(odd_name::table);
            let insert = insert.values((key, views_.eq(1), gr_e.eq(2)));
            insert.execute(conn).unwrap();
        }
        use site_counters::{day, errors, hits, slot};
        for on in days {
            let insert = diesel::insert_into(site_counters::table);
            let insert = insert.values((day.eq(on), slot.eq(n), hits.eq(1), errors.eq(0)));
            insert.execute(conn).unwrap();
        }
    }
    // A batch of two: each key is where a batch ends, sooner or later.
    let merged = [
        compact(odd_name::table).batch(2).execute(conn),
        compact(site_counters::table).batch(2).execute(conn),
    ];
    let merged = merged.map(|done| done.map(|done| (done.merged, done.left)));
    assert_eq!(merged, [(12, 0), (6, 0)].map(Ok));
    let odd = odd_name::table.select((odd_name::slot_s, odd_name::views_, odd_name::gr_e));
    assert_eq!(odd.load(conn), Ok(vec![(0_i16, 3_i64, 6_i64); 4]));
    let site = site_counters::table.select((site_counters::slot, site_counters::hits));
    assert_eq!(site.load(conn), Ok(vec![(0_i16, 3_i64); 2]));
}

#[test]
fn a_sum_beyond_an_i64_is_an_error_and_loses_nothing() {
    // The second one only with the row that is in slot 0.
    for slots in [[1, 2], [0, 1]] {
        let (conn, _database, article) = &mut TestDatabase::with_connection();
        insert_row(1, day(2026, 3, 1), slots[0], (i64::MAX, 0, 0), conn);
        insert_row(1, day(2026, 3, 1), slots[1], (1, 7, 0), conn);
        let before = rows(article, conn);
        let result = compact(article_counters::table).execute(conn);
        assert!(result.as_ref().is_err_and(is_overflow), "{result:?}");
        assert_eq!(rows(article, conn), before);
    }
}

// As an older version of a program has it.
article_counters!(older_counters(views, likes));
article_counters!(no_counters());
article_counters!(renamed(views, likes, comments));

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

#[test]
fn a_counter_that_the_program_does_not_know_is_not_lost() {
    let (conn, _database, article) = &mut with_slots(2);
    let unknown = "column `comments`";
    let results = [
        (compact(no_counters::table).execute(conn), "no counter"),
        (compact(older_counters::table).execute(conn), unknown),
        (compact(nullable_counters::table).execute(conn), unknown),
    ];
    for (result, reason) in results {
        let Err(Error::QueryBuilderError(error)) = result else {
            panic!("{result:?}");
        };
        assert!(error.to_string().contains(reason), "{error}");
    }
    assert_eq!(rows(article, conn).len(), 2);
    // The errors left no lock behind.
    let merged = compact(article_counters::table).execute(conn);
    assert_eq!(merged.unwrap().merged, 4);
}

/// PostgreSQL folds the capitals, and the others compare names so.
#[test]
fn a_counter_may_be_stored_in_capitals_and_next_to_other_columns() {
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
    use noted::page_counters::table;

    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute(
        "DROP TABLE page_counters;
         CREATE TABLE page_counters (PATH VARCHAR(50) NOT NULL, DAY DATE NOT NULL, SLOT SMALLINT NOT NULL,
             HITS BIGINT NOT NULL DEFAULT 0, note VARCHAR(50) NOT NULL DEFAULT 'none',
             PRIMARY KEY (PATH, DAY, SLOT));
         INSERT INTO page_counters VALUES ('/', '2026-03-01', 1, 2, 'a'), ('/', '2026-03-01', 2, 3, 'b')",
    )
    .unwrap();
    compact(table).execute(conn).unwrap();
    let stored = table.load::<(String, NaiveDate, i16, i64, String)>(conn);
    let expected = ("/".into(), day(2026, 3, 1), 0, 5, "none".into());
    assert_eq!(stored, Ok(vec![expected]));
}

/// A program can call the table by another name, and by its schema or database.
#[test]
fn one_run_goes_on_at_a_time() {
    let (conn, database, _article) = &mut with_slots(2);
    let schema = sql::<Text>(match (HAS_SLOTS, IS_MYSQL) {
        (false, _) => "'main'",
        (_, true) => "DATABASE()",
        (_, false) => "CAST(current_schema() AS TEXT)",
    });
    let schema: String = diesel::select(schema).get_result(conn).unwrap();
    let other = &mut database.connect();
    let mut second = Vec::new();
    let first = compact(article_counters::table)
        .batch(2)
        .on_progress(|_| {
            let mut shape = article_counters::table::shape().clone();
            shape.table.schema = Some(Name(&schema));
            let qualified = Compact::<(BigInt,), i64>::new(&shape).batch(1);
            let runs = [
                compact(article_counters::table).batch(1).execute(other),
                compact(renamed::table).batch(1).execute(other),
                qualified.execute(other),
            ];
            second.extend(runs.map(Result::unwrap));
        })
        .execute(conn)
        .unwrap();
    assert_eq!(article(1).counter_value(views, conn), Ok(2));
    if HAS_SLOTS {
        assert_eq!(first.merged, 4);
        let busy: Vec<bool> = second.iter().map(|run| run.already_running).collect();
        assert_eq!(busy, [true; 6]);
        let text = second[0].to_string();
        assert!(text.contains("another run"), "{text}");
    } else {
        // SQLite has its write lock alone: the second merges what the first has not yet.
        let found = first.merged + second.iter().map(|run| run.merged).sum::<u64>();
        assert_eq!(found, 4);
    }
    // The lock is given back.
    let third = compact(article_counters::table).execute(conn).unwrap();
    assert!(!third.already_running);
}

#[test]
fn a_panic_leaves_no_lock_behind() {
    let (conn, database, article) = &mut with_slots(2);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let merge = compact(article_counters::table).batch(2);
        merge
            .on_progress(|_| panic!("so says the test"))
            .execute(conn)
    }));
    assert!(panicked.is_err());
    let other = &mut database.connect();
    let done = compact(article_counters::table).execute(other).unwrap();
    assert_eq!((done.merged, done.already_running), (2, false));
    assert_eq!(article.counter_value(views, conn), Ok(2));
}

#[test]
fn a_row_that_somebody_has_locked_is_left_for_the_next_run() {
    if !HAS_SLOTS {
        return;
    }
    let (conn, database, article) = &mut with_slots(2);
    let writer = &mut database.connect();
    writer.begin_test_transaction().unwrap();
    let row = article_counters::table.find((1, day(2026, 3, 1), 2));
    let write = diesel::update(row).set(views.eq(views + 10));
    write.execute(writer).unwrap();

    // A batch of one, so that the row in the way is a whole batch.
    let merge = compact(article_counters::table).batch(1);
    let done = merge.execute(conn).unwrap();
    assert_eq!((done.merged, done.left), (3, 1));

    diesel::sql_query("COMMIT").execute(writer).unwrap();
    let done = compact(article_counters::table).execute(conn).unwrap();
    assert_eq!((done.merged, done.left), (1, 0));
    assert_eq!(article.counter_value(views, conn), Ok(12));
}

/// MySQL and MariaDB can scan a small table for a list of keys, and wait for every row that is
/// locked.
#[test]
fn a_merge_of_a_small_table_waits_for_no_other_row() {
    if !HAS_SLOTS {
        return;
    }
    let (conn, database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute(crate::GIVE_UP_SOON).unwrap();
    let [old, new] = [day(2026, 3, 1), day(2026, 4, 1)];
    for (number, rows) in [(1, 40), (2, 40), (5, 40), (12, 40), (35, 40), (400, 600)] {
        diesel::delete(article_counters::table)
            .execute(conn)
            .unwrap();
        for slot in 1..=rows {
            let on = if slot <= number { old } else { new };
            insert_row(1, on, slot, (1, 0, 0), conn);
        }
        let writer = &mut database.connect();
        writer.begin_test_transaction().unwrap();
        let others = article_counters::table
            .filter(article_counters::article_id.eq(1))
            .filter(article_counters::day.eq(new));
        let write = diesel::update(others).set(views.eq(views + 1));
        write.execute(writer).unwrap();

        let merge = compact(article_counters::table).before(new).batch(1_000);
        let done = merge.execute(conn);
        let done = done.unwrap();
        assert_eq!((done.merged, done.left), (number as u64, 0));
    }
}
