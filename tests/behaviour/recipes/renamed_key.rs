//! "Renaming a key" in docs/recipes.md: counts refer to a post by its slug, which changes.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;
use std::time::Duration;

use chrono::NaiveDate;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind::ForeignKeyViolation;
use diesel::result::Error::DatabaseError;
use diesel_counters::dsl::{compact, delete_counters};
use diesel_counters::prelude::*;
use diesel_counters::{CounterBuffer, retry};

use crate::behaviour::{day, wait_until};
use crate::{CASED, Conn, TestDatabase, write_transaction};

diesel::table! { posts (slug) { slug -> Text } }
diesel_counters_tests::counter_table!(post_counters (slug -> Text) (views));
use post_counters::views;

/// With the post `old`. Its counts may have a foreign key.
fn with_posts(foreign_key: &str) -> TestDatabase {
    let database = TestDatabase::create();
    let create = format!(
        "CREATE TABLE posts (slug {CASED} NOT NULL PRIMARY KEY);
         CREATE TABLE post_counters (
             slug {CASED} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (slug, day, slot) {foreign_key}
         );
         INSERT INTO posts VALUES ('old'), ('other')"
    );
    database.connect().batch_execute(&create).unwrap();
    database
}

const CASCADES: &str =
    ", FOREIGN KEY (slug) REFERENCES posts (slug) ON DELETE CASCADE ON UPDATE CASCADE";

/// On MySQL and MariaDB, an increment locks its own row and then the post's, and this does the
/// opposite.
fn rename(conn: &mut Conn) -> QueryResult<usize> {
    retry().attempts(1_000).run(conn, |conn| {
        let post = posts::table.find("old");
        diesel::update(post)
            .set(posts::slug.eq("new"))
            .execute(conn)
    })
}

fn view(slug: &str, conn: &mut Conn) -> QueryResult<()> {
    retry().attempts(1_000).run(conn, |conn| {
        write_transaction(conn, |conn| increment(views).of(slug).execute(conn))
    })?;
    Ok(())
}

fn counted(slug: &str, conn: &mut Conn) -> i64 {
    let value = counter_value(views).of(slug).get_result(conn);
    value.unwrap()
}

fn rows(slug: &str, conn: &mut Conn) -> i64 {
    let rows = post_counters::table.filter(post_counters::slug.eq(slug));
    rows.count().get_result(conn).unwrap()
}

#[test]
fn counts_follow_a_key_that_is_renamed() {
    let database = with_posts(CASCADES);
    let conn = &mut database.connect();
    for (slug, d, slot, n) in [("old", 1, 1, 1), ("old", 2, 2, 20), ("other", 1, 1, 300)] {
        crate::count_in_slot(slot, conn);
        let count = increment(views).of(slug).on(day(2026, 1, d)).by(n);
        count.execute(conn).unwrap();
    }
    assert_eq!(rename(conn), Ok(1));
    let counts = ["old", "new", "other"].map(|slug| counted(slug, conn));
    assert_eq!(counts, [0, 21, 300]);
    let of_days = counter_series(views).of("new").load(conn);
    assert_eq!(
        of_days,
        Ok(vec![(day(2026, 1, 1), 1), (day(2026, 1, 2), 20)])
    );
    compact(post_counters::table).execute(conn).unwrap();
    assert_eq!((counted("new", conn), rows("old", conn)), (21, 0));

    let late = view("old", conn);
    let is_refused = matches!(late, Err(DatabaseError(ForeignKeyViolation, _)));
    assert!(is_refused, "{late:?}");
}

/// Each program looks up the new slug when the database refuses the old one.
#[test]
fn no_count_is_lost_while_a_key_is_renamed() {
    let database = with_posts(CASCADES);
    let answered = AtomicI64::new(0);
    let count = |slug, conn: &mut Conn| view(slug, conn).map(|()| answered.fetch_add(1, SeqCst));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let conn = &mut database.connect();
                let refused = loop {
                    if let Err(refused) = count("old", conn) {
                        break refused;
                    }
                };
                let is_renamed = matches!(refused, DatabaseError(ForeignKeyViolation, _));
                assert!(is_renamed, "{refused:?}");
                for _ in 0..10 {
                    count("new", conn).unwrap();
                }
            });
        }
        let has_counted = wait_until(|| answered.load(SeqCst) >= 40);
        let renamed = rename(&mut database.connect());
        assert_eq!((has_counted, renamed), (true, Ok(1)));
    });
    let conn = &mut database.connect();
    let counts = ["old", "new"].map(|slug| counted(slug, conn));
    assert_eq!(counts, [0, answered.load(SeqCst)]);
    assert_eq!(rows("old", conn), 0);
}

#[test]
fn a_buffer_hands_back_what_is_pending_for_a_key_that_was_renamed() {
    let database = Arc::new(with_posts(CASCADES));
    let source = Arc::clone(&database);
    let buffer = CounterBuffer::builder(move || QueryResult::Ok(source.connect()));
    let buffer = buffer.every(Duration::from_secs(1_000_000)).start();
    let buffer = buffer.unwrap();
    for (slug, n) in [("old", 3), ("other", 1)] {
        buffer
            .count(increment(views).of(slug.to_owned()).by(n))
            .unwrap();
    }
    let conn = &mut database.connect();
    rename(conn).unwrap();
    let write = buffer.flush();
    assert_eq!((write.written, write.pending), (1, 0), "{write}");
    let [refused] = &write.refused[..] else {
        panic!("{write}");
    };
    assert_eq!(refused.key, format!("{:?}", "old"));
    let again = increment(views).of("new".to_owned()).on(refused.day);
    buffer.count(again.by(refused.amounts[0].1 as i64)).unwrap();
    assert_eq!(buffer.flush().written, 1);
    assert_eq!(["new", "other"].map(|slug| counted(slug, conn)), [3, 1]);
}

/// Counts them down here and up there. Others can count meanwhile; what they add under the old key
/// is moved the next time.
fn move_counts(from: &str, to: &str, conn: &mut Conn) -> QueryResult<()> {
    write_transaction(conn, |conn| {
        let days: Vec<(NaiveDate, i64)> = counter_value(views)
            .of(from)
            .group_by(post_counters::day)
            .load(conn)?;
        for (day, n) in days {
            increment(views).of(from).on(day).by(-n).execute(conn)?;
            increment(views).of(to).on(day).by(n).execute(conn)?;
        }
        Ok(())
    })
}

#[test]
fn without_a_foreign_key_counts_are_moved_while_others_count() {
    let database = with_posts("");
    let conn = &mut database.connect();
    let undated = day(1970, 1, 1);
    for (day, n) in [(undated, 7), (day(2026, 1, 1), 20)] {
        let count = increment(views).of("old").on(day).by(n);
        count.execute(conn).unwrap();
    }
    let answered = AtomicI64::new(27);
    thread::scope(|scope| {
        let writers = [0, 1, 2].map(|_| {
            scope.spawn(|| {
                let conn = &mut database.connect();
                for _ in 0..50 {
                    view("old", conn).unwrap();
                    answered.fetch_add(1, SeqCst);
                }
            })
        });
        while writers.iter().any(|writer| !writer.is_finished()) {
            move_counts("old", "new", conn).unwrap();
        }
    });
    move_counts("old", "new", conn).unwrap();
    let counts = ["old", "new"].map(|slug| counted(slug, conn));
    assert_eq!(counts, [0, answered.load(SeqCst)]);
    for (day, n) in [(undated, 7), (day(2026, 1, 1), 20)] {
        let on_day = counter_value(views).of("new").on(day).get_result(conn);
        assert_eq!(on_day, Ok(n));
    }
    let delete = delete_counters(post_counters::table);
    delete.of("old").execute(conn).unwrap();
    assert_eq!(rows("old", conn), 0);
}
