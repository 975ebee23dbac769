//! "Counts that stay", a section of docs/triggers.md: the views of a log whose old rows are gone.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::thread;

use diesel::connection::SimpleConnection;
use diesel_migrations::MigrationHarness;

use super::file::beside::is_conflict;
use super::recipes::{blog, run_section};
use super::{Execute, integer, notes, number, open};
use crate::behaviour::project::trigger;
use crate::{BACKEND, Conn, TestDatabase};

const SECTION: &str = "Counts that stay";
const COLUMN: &str = "articles.views";
const SLOTS: &str = "article_counters.views";

/// Article 1 has 259 views, of which 3 are in the log, and article 2 has 1, which is there.
fn with_log() -> TestDatabase {
    let database = blog();
    database.execute(
        "CREATE TABLE article_views (
             id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL, is_bot BOOLEAN NOT NULL DEFAULT FALSE,
             viewed_at TIMESTAMP NOT NULL DEFAULT '2026-01-01 00:00:00',
             FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
         );
         ALTER TABLE articles ADD COLUMN views INTEGER NOT NULL DEFAULT 0;
         UPDATE articles SET views = 259 WHERE id = 1;
         UPDATE articles SET views = 1 WHERE id = 2;
         INSERT INTO article_views (id, article_id) VALUES (1, 1), (2, 1), (3, 1), (4, 2)",
    );
    database
}

fn count_in(counter: &str, keys: &str) -> String {
    let count = format!("count = [\"article_id:{counter}\"]\ndeleted = 'kept'\n{keys}");
    trigger("count_article_views", "article_views", &count)
}

/// The views of the articles 1, 2 and 3.
fn views(counter: &str, conn: &mut Conn) -> [i64; 3] {
    let (table, key) = match counter {
        COLUMN => ("articles", "id"),
        _ => ("article_counters", "article_id"),
    };
    [1, 2, 3].map(|article| {
        let sum = format!("SELECT COALESCE(SUM(views), 0) FROM {table} WHERE {key} = {article}");
        number(&format!("SELECT CAST(({sum}) AS {})", integer()), conn)
    })
}

#[test]
fn the_column_keeps_its_count_and_rows_that_are_pruned_stay_in_it() {
    let database = with_log();
    let conn = &mut open(&database);
    // Without `deleted`, the command tells what it leaves as it is.
    let taken_off = count_in(COLUMN, "").replace("deleted = 'kept'", "");
    let text = "in articles.views, the count of 1 entity differs from its rows in article_views, by 256 in \
                total, and the migration keeps them";
    notes(&database.printed(&taken_off), text);
    run_section(SECTION, &database);
    assert_eq!(views(COLUMN, conn), [259, 1, 0]);
    conn.run("INSERT INTO article_views (id, article_id) VALUES (5, 1), (6, 3)");
    assert_eq!(views(COLUMN, conn), [260, 1, 1]);
    conn.run("DELETE FROM article_views WHERE id < 5");
    assert_eq!(views(COLUMN, conn), [260, 1, 1]);
    for command in ["recount --dry-run", "recount", "recount --lower", "check"] {
        database.command(command).works();
    }
    assert_eq!(views(COLUMN, conn), [260, 1, 1]);
}

/// As the section says: they know nothing of the column.
#[test]
fn slots_that_no_column_moves_to_begin_with_the_rows() {
    let database = with_log();
    database.count(&count_in(SLOTS, ""));
    assert_eq!(views(SLOTS, &mut open(&database)), [3, 1, 0]);
}

/// There and back, and there again: each time with what was counted in the meantime.
#[test]
fn the_count_moves_to_slots_and_back() {
    for [before, after] in [
        ["", ""],
        ["", "day = 'viewed_at'"],
        ["day = 'viewed_at'", "day = 'viewed_at'"],
        ["when = 'NOT is_bot'", "when = 'NOT is_bot'"],
    ] {
        let database = with_log();
        let conn = &mut open(&database);
        let mut id = 10;
        let mut view_and_prune = |conn: &mut Conn| {
            id += 1;
            conn.run(&format!(
                "INSERT INTO article_views (id, article_id) VALUES ({id}, 1);
                 DELETE FROM article_views WHERE id = {id} - 1;
                 INSERT INTO article_views (id, article_id) VALUES (100 + {id}, 3)"
            ));
        };
        database.count(&count_in(COLUMN, before));
        view_and_prune(conn);
        assert_eq!(views(COLUMN, conn), [260, 1, 1]);
        database.count(&count_in(SLOTS, after));
        let moved = format!("{before}, {after}");
        assert_eq!(views(SLOTS, conn), [260, 1, 1], "{moved}");
        for n in [1, 3] {
            view_and_prune(conn);
            assert_eq!(views(SLOTS, conn), [260 + n, 1, 1 + n], "{moved}");
            database.command("check").works();
            database.revert();
            assert_eq!(
                views(COLUMN, conn),
                [260 + n, 1, 1 + n],
                "{moved}, and back"
            );
            assert_eq!(views(SLOTS, conn), [0, 0, 0], "{moved}, and back");
            view_and_prune(conn);
            assert_eq!(
                views(COLUMN, conn),
                [261 + n, 1, 2 + n],
                "{moved}, and back"
            );
            database.migrate();
            assert_eq!(
                views(SLOTS, conn),
                [261 + n, 1, 2 + n],
                "{moved}, and again"
            );
        }
        // A count that has become 0 goes back, too.
        conn.run("UPDATE article_counters SET views = 0 WHERE article_id = 3");
        database.revert();
        assert_eq!(views(COLUMN, conn), [264, 1, 0], "{moved}");
    }
}

/// Other counters of the same rows keep their counts.
#[test]
fn only_the_counter_of_the_column_is_emptied() {
    let database = with_log();
    let conn = &mut open(&database);
    database.count(&count_in(COLUMN, ""));
    database.count(&count_in(SLOTS, ""));
    conn.run("UPDATE article_counters SET likes = 7 WHERE article_id = 1");
    database.revert();
    let likes = "SELECT CAST(SUM(likes) AS SIGNED) FROM article_counters";
    let likes = likes.replace("SIGNED", integer());
    assert_eq!(number(&likes, conn), 7);
}

/// What the two definitions count otherwise is as it was in the column.
#[test]
fn a_condition_that_changes_with_the_move_goes_back_with_it() {
    let database = with_log();
    let conn = &mut open(&database);
    conn.run("UPDATE article_views SET is_bot = TRUE WHERE id = 2");
    database.count(&count_in(COLUMN, ""));
    database.count(&count_in(SLOTS, "when = 'NOT is_bot'"));
    assert_eq!(views(SLOTS, conn), [258, 1, 0]);
    conn.run(
        "INSERT INTO article_views (id, article_id, is_bot) VALUES (11, 1, FALSE), (12, 1, TRUE), (13, 3, TRUE)",
    );
    assert_eq!(views(SLOTS, conn), [259, 1, 0]);
    database.revert();
    assert_eq!(views(COLUMN, conn), [261, 1, 1]);
}

/// Then the slots have nothing of the column.
#[test]
fn slots_that_were_set_to_the_rows_are_not_taken_back() {
    let database = with_log();
    let conn = &mut open(&database);
    database.count(&count_in(COLUMN, ""));
    database.define(&count_in(SLOTS, ""));
    let words = "generate triggers rows --existing rows";
    database.command(words).works();
    database.migrate();
    assert_eq!(views(SLOTS, conn), [3, 1, 0]);
    database.revert();
    assert_eq!(views(COLUMN, conn), [259, 1, 0]);
}

/// On MySQL and MariaDB, each statement commits: what ran before a failure stays, and runs again.
#[test]
fn a_way_back_that_ended_half_way_runs_again() {
    if BACKEND != "mysql" {
        return;
    }
    let empties = "UPDATE article_counters SET views = 0 WHERE views <> 0;\n";
    for with_it in [false, true] {
        let database = with_log();
        let conn = &mut open(&database);
        database.count(&count_in(COLUMN, ""));
        database.count(&count_in(SLOTS, ""));
        conn.run("INSERT INTO article_views (id, article_id) VALUES (11, 1)");
        let down = database.last_migration("down.sql");
        let (half, _) = down.split_once(empties).unwrap();
        let half = if with_it {
            format!("{half}{empties}")
        } else {
            half.to_owned()
        };
        // With the connection go its locks.
        open(&database).run(&half);
        database.revert();
        assert_eq!(views(COLUMN, conn), [260, 1, 0]);
        assert_eq!(views(SLOTS, conn), [0, 0, 0]);
    }
}

/// The counts of a whole site are in the only row of a table.
#[test]
fn a_count_without_an_entity_moves_back_too() {
    let database = with_log();
    let conn = &mut open(&database);
    database.execute("CREATE TABLE site (id BIGINT NOT NULL PRIMARY KEY CHECK (id = 1), views BIGINT NOT NULL DEFAULT 0)");
    database.execute("INSERT INTO site VALUES (1, 1000)");
    database.execute(
        "CREATE TABLE hit_counters (day DATE NOT NULL, slot SMALLINT NOT NULL,
             views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (day, slot))",
    );
    let count = |counter: &str| {
        trigger(
            "count_site",
            "article_views",
            &format!("count = [\"{counter}\"]"),
        )
    };
    database.count(&count(":site.views"));
    database.count(&count("hit_counters.views"));
    conn.run("INSERT INTO article_views (id, article_id) VALUES (11, 1), (12, 2)");
    database.revert();
    assert_eq!(number("SELECT views FROM site", conn), 1002);
    let left = format!("SELECT CAST(SUM(views) AS {}) FROM hit_counters", integer());
    assert_eq!(number(&left, conn), 0);
}

/// Four clients view an article and prune the log, while the count moves there and back. SQLite has
/// one writer.
#[test]
fn no_view_is_lost_by_moves_beside_writers() {
    if BACKEND == "sqlite" {
        return;
    }
    let database = &with_log();
    database.count(&count_in(COLUMN, ""));
    database.generate(&count_in(SLOTS, "")).works();
    let is_done = &AtomicBool::new(false);
    let viewed = &AtomicI64::new(0);
    thread::scope(|scope| {
        for client in 1..=4 {
            scope.spawn(move || view_until(is_done, client, viewed, &mut open(database)));
        }
        let moved = std::panic::catch_unwind(|| {
            for _ in 0..3 {
                for is_up in [true, false] {
                    move_counts(is_up, database);
                    let before = viewed.load(SeqCst);
                    while viewed.load(SeqCst) < before + 8 {
                        thread::yield_now();
                    }
                }
            }
        });
        is_done.store(true, SeqCst);
        moved.unwrap();
    });
    let conn = &mut open(database);
    assert_eq!(views(COLUMN, conn), [259 + viewed.load(SeqCst), 1, 0]);
    assert_eq!(views(SLOTS, conn), [0, 0, 0]);
}

fn view_until(is_done: &AtomicBool, client: i64, viewed: &AtomicI64, conn: &mut Conn) {
    for id in client * 1_000_000.. {
        if is_done.load(SeqCst) {
            return;
        }
        for (statement, views) in [
            (
                format!("INSERT INTO article_views (id, article_id) VALUES ({id}, 1)"),
                1,
            ),
            (format!("DELETE FROM article_views WHERE id = {id} - 2"), 0),
        ] {
            while let Err(error) = conn.batch_execute(&statement) {
                assert!(is_conflict(&error.to_string()), "{error}: {statement}");
            }
            viewed.fetch_add(views, SeqCst);
        }
    }
}

fn move_counts(is_up: bool, database: &TestDatabase) {
    loop {
        let conn = &mut open(database);
        let migrations = database.migrations();
        let ran = if is_up {
            conn.run_pending_migrations(migrations).map(drop)
        } else {
            conn.revert_last_migration(migrations).map(drop)
        };
        match ran {
            Ok(()) => return,
            Err(error) => assert!(is_conflict(&error.to_string()), "{error}"),
        }
    }
}
