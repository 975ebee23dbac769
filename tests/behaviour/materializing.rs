//! Copying totals into columns.

use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::prelude::*;
use diesel_counters_tests::examples::{Post, post_counts, posts};
use diesel_counters_tests::models::Article;
use diesel_counters_tests::schema::article_counters::{likes, views};
use diesel_counters_tests::schema::articles;
use diesel_counters_tests::watch::watch;

use super::{article, count_on, day, utc_today};
use crate::{CASED, Conn, HAS_SLOTS, IS_MYSQL, TestDatabase};

fn held(conn: &mut Conn) -> Vec<i64> {
    let held = articles::table.select(articles::total_views);
    held.order(articles::id).load(conn).unwrap()
}

pub const ADD_TOTAL_LIKES: &str = "ALTER TABLE articles ADD COLUMN total_likes BIGINT";
pub const ADD_RECENT: &str =
    "ALTER TABLE articles ADD COLUMN recent_views INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE articles ADD COLUMN recent_likes INTEGER";
const BOTH: (post_counts::views, post_counts::likes) = (post_counts::views, post_counts::likes);
const TOTALS: (posts::total_views, posts::total_likes) = (posts::total_views, posts::total_likes);

#[test]
fn totals_are_copied_and_only_those_that_changed() {
    for batch in [1, 2, 1000] {
        let (conn, _database, _article) = &mut TestDatabase::with_connection();
        // They are NULL.
        conn.batch_execute(ADD_TOTAL_LIKES).unwrap();
        for d in 1..=2 {
            let count = increment(BOTH).of_many([(1, (1, 1)), (3, (3, 0)), (5, (0, 5))]);
            count.on(day(2026, 1, d)).execute(conn).unwrap();
        }
        let copied = |conn: &mut Conn| {
            let written = Post::materialize(BOTH, TOTALS).batch(batch).execute(conn);
            let held = posts::table.select(TOTALS).order(posts::id).load(conn);
            (written, held.unwrap())
        };
        let held = vec![(2, 2), (0, 0), (6, 0), (0, 0), (0, 10)];
        assert_eq!(copied(conn), (Ok(5), held));

        article(3).incr_counter_by(views, -1, conn).unwrap();
        article(2).incr_counter(likes, conn).unwrap();
        let held = vec![(2, 2), (0, 1), (5, 0), (0, 0), (0, 10)];
        let watched = watch(conn, |conn| {
            assert_eq!(copied(conn), (Ok(2), held.clone()));
        });
        let run = |part| watched.queries.iter().filter(move |sql| sql.contains(part));
        assert_eq!(run("UPDATE ").count(), if batch == 1 { 2 } else { 1 });
        assert_eq!(run("SUM(").count(), 1);
        assert_eq!(copied(conn), (Ok(0), held));
    }
}

#[test]
fn the_counts_of_a_range_of_days_are_copied_and_leave_it_again() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let today = utc_today();
    for (id, days_ago) in [(1, 0), (1, 1), (2, 1), (2, 2), (3, 3), (4, -1)] {
        let day = today - chrono::TimeDelta::days(days_ago);
        count_on(id, day, 1 + days_ago.abs(), conn);
    }
    let copy = || Article::materialize(views, articles::total_views);
    let day = |ago: u64| today - chrono::Days::new(ago);
    assert_eq!(copy().between(day(1)..=day(0)).execute(conn), Ok(2));
    assert_eq!(held(conn), [3, 2, 0, 0, 0]);
    // A day later, without a count in between.
    assert_eq!(copy().between(day(0)..).execute(conn), Ok(3));
    assert_eq!(held(conn), [1, 0, 0, 2, 0]);
    assert_eq!(copy().between(..=day(0)).execute(conn), Ok(4));
    assert_eq!(held(conn), [3, 5, 4, 0, 0]);
    #[allow(clippy::reversed_empty_ranges)]
    let none = copy().between(day(0)..=day(1)).execute(conn);
    assert_eq!((none, held(conn)), (Ok(3), vec![0; 5]));
    assert_eq!(copy().stop_when(|| true).execute(conn), Ok(0));
}

#[test]
fn totals_of_more_than_50_000_rows_are_copied() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    super::insert_articles(6..=50_001, conn);
    let count = increment(views).of_many([(1, 1), (50_000, 2), (50_001, 3)]);
    count.execute(conn).unwrap();
    let copy = Article::materialize(views, articles::total_views);
    assert_eq!(copy.execute(conn), Ok(3));
    assert_eq!(held(conn)[49_998..], [0, 2, 3]);
}

diesel::table! {
    boards (a, b, c, d, e) {
        a -> Integer, b -> Integer, c -> Integer, d -> Integer, e -> Text,
        n0 -> BigInt, n1 -> BigInt, n2 -> BigInt, n3 -> BigInt,
        n4 -> BigInt, n5 -> BigInt, n6 -> BigInt, n7 -> BigInt,
    }
}
diesel::table! {
    board_counts (a, b, c, d, e, day, slot) {
        a -> Integer, b -> Integer, c -> Integer, d -> Integer, e -> Text, day -> Date, slot -> SmallInt,
        n0 -> BigInt, n1 -> BigInt, n2 -> BigInt, n3 -> BigInt,
        n4 -> BigInt, n5 -> BigInt, n6 -> BigInt, n7 -> BigInt,
    }
}
diesel_counters::counter_table!(board_counts {
    parent = (boards::a, boards::b, boards::c, boards::d, boards::e)
});

#[derive(HasCounters)]
#[diesel(primary_key(a, b, c, d, e))]
#[counters(table_name = board_counts)]
struct Board {
    a: i32,
    b: i32,
    c: i32,
    d: i32,
    e: String,
}

/// The key has a text, and the columns have the counters' names.
#[test]
fn totals_of_the_most_counters_are_copied_by_the_longest_key() {
    use {board_counts as c, boards as t};
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    let eight = (0..8).map(|i| format!(", n{i} BIGINT NOT NULL DEFAULT 0"));
    let columns = format!(
        "a INT, b INT, c INT, d INT, e {CASED}{}",
        String::from_iter(eight)
    );
    conn.batch_execute(&format!(
        "CREATE TABLE boards ({columns}, PRIMARY KEY (a, b, c, d, e));
         CREATE TABLE board_counts ({columns}, day DATE, slot SMALLINT,
             PRIMARY KEY (a, b, c, d, e, day, slot));
         INSERT INTO boards (a, b, c, d, e) VALUES (1, 2, 3, 4, 'x'), (1, 2, 3, 4, 'y')"
    ))
    .unwrap();
    let counters = (c::n0, c::n1, c::n2, c::n3, c::n4, c::n5, c::n6, c::n7);
    let totals = (t::n0, t::n1, t::n2, t::n3, t::n4, t::n5, t::n6, t::n7);
    let counts = (1, 2, 3, 4, 5, 6, 7, 8);
    let count = increment(counters).of((1, 2, 3, 4, "y")).by(counts);
    count.execute(conn).unwrap();
    assert_eq!(Board::materialize(counters, totals).execute(conn), Ok(1));
    let held = t::table.order(t::e).select(totals).load(conn);
    assert_eq!(held, Ok(vec![(0, 0, 0, 0, 0, 0, 0, 0), counts]));
}

/// On MySQL and MariaDB a trigger cannot write to a table that its statement reads.
#[test]
fn a_trigger_of_the_parent_may_count() {
    let (conn, _database, article) = &mut TestDatabase::with_connection();
    let count = "INSERT INTO article_counters (article_id, day, slot, likes)
        VALUES (NEW.id, '2026-01-01', 0, 1)";
    let trigger = "CREATE TRIGGER counts AFTER UPDATE ON articles FOR EACH ROW";
    conn.batch_execute(&match (IS_MYSQL, HAS_SLOTS) {
        (true, _) => format!("{trigger} {count}"),
        (_, false) => format!("{trigger} BEGIN {count}; END"),
        _ => format!(
            "CREATE FUNCTION count_update() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN {count}; RETURN NULL; END $$;
             {trigger} EXECUTE FUNCTION count_update()"
        ),
    })
    .unwrap();
    article.incr_counter(views, conn).unwrap();
    let written = Article::materialize(views, articles::total_views).execute(conn);
    assert_eq!(written, Ok(1));
    assert_eq!(article.counter_value(likes, conn), Ok(1));
}

/// On MySQL and MariaDB the transaction still reads what the column held before.
#[test]
fn in_a_transaction_a_row_of_which_another_has_written_a_column_is_left() {
    let (database, mut conn, article) = TestDatabase::with_article();
    conn.batch_execute(ADD_TOTAL_LIKES).unwrap();
    let copied = |conn: &mut Conn| Post::materialize(BOTH, TOTALS).execute(conn);
    assert_eq!(copied(&mut conn), Ok(5));
    article.incr_counter(views, &mut conn).unwrap();
    let other = &mut database.connect();
    conn.batch_execute(crate::OVERWRITE_CHANGED_ROWS).unwrap();
    let materialized = conn.transaction(|conn| {
        if HAS_SLOTS {
            assert_eq!(held(conn), [0; 5]);
            let write = diesel::update(posts::table.find(1)).set(posts::total_likes.eq(7));
            write.execute(other)?;
        }
        copied(conn)
    });
    // PostgreSQL reads it again for each statement.
    let written = usize::from(!IS_MYSQL);
    assert_eq!(materialized, Ok(written));
    let conn = &mut database.connect();
    assert_eq!(copied(conn), Ok(1 - written));
    let held = posts::table.find(1).select(TOTALS).first(conn);
    assert_eq!(held, Ok((1_i64, 0_i64)));
}

/// In whichever order the table has them.
#[test]
fn rows_are_locked_in_the_order_of_their_keys() {
    if !HAS_SLOTS {
        return;
    }
    let (conn, database, _article) = &mut TestDatabase::with_connection();
    diesel::delete(articles::table).execute(conn).unwrap();
    super::insert_articles((1..=500).rev(), conn);
    let count = increment(views).of_many([(1, 1), (500, 1)]);
    count.execute(conn).unwrap();
    conn.batch_execute(crate::ANALYZE).unwrap();
    let rename = |id: i64, conn: &mut Conn| {
        diesel::update(articles::table.find(id))
            .set(articles::title.eq("Renamed"))
            .execute(conn)
    };
    let mut other = database.connect();
    let materialized = other.transaction(|other| {
        rename(1, other)?;
        thread::scope(|scope| {
            let copy =
                scope.spawn(|| Article::materialize(views, articles::total_views).execute(conn));
            // It comes to wait for the first row.
            thread::sleep(Duration::from_millis(500));
            let renamed = rename(500, other);
            other.batch_execute("COMMIT; BEGIN").unwrap();
            renamed.map(|_| copy.join().unwrap())
        })
    });
    assert_eq!(materialized, Ok(Ok(2)));
}
