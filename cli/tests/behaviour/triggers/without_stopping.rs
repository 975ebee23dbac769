//! "Rows that triggers will count", a section of docs/coming-from.md: an old program that writes a row
//! and counts it in a column, beside a new one that only writes the row.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::SeqCst};
use std::thread;

use diesel::connection::{Connection, SimpleConnection};
use diesel::prelude::*;
use diesel_migrations::MigrationHarness;

use super::file::beside::is_conflict;
use super::recipes::blog;
use super::{Execute, integer, number, open};
use crate::behaviour::project::trigger;
use crate::{BACKEND, Conn, TestDatabase};

const CHAPTER: &str = include_str!("../../../../docs/coming-from.md");

/// Article 1 has 100 views, and the log has 2 of them.
fn with_log() -> TestDatabase {
    let database = blog();
    database.execute(
        "CREATE TABLE article_views (
             id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL,
             FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
         );
         ALTER TABLE articles ADD COLUMN views INTEGER NOT NULL DEFAULT 0;
         INSERT INTO article_views VALUES (1, 1), (2, 1)",
    );
    database.execute("UPDATE articles SET views = 100 WHERE id = 1");
    let count = "count = [\"article_id:article_counters.views\"]\ndeleted = \"kept\"";
    let generated = database.generate(&trigger("count_views", "article_views", count));
    generated.works();
    database
}

/// A view of an article, in one transaction.
fn view(is_old: bool, id: i64, conn: &mut Conn) -> QueryResult<()> {
    let insert = format!("INSERT INTO article_views VALUES ({id}, 1 + {id} % 3)");
    let update = format!("UPDATE articles SET views = views + 1 WHERE id = 1 + {id} % 3");
    let run = |conn: &mut Conn| {
        if is_old {
            conn.batch_execute(&update)?;
        }
        conn.batch_execute(&insert)
    };
    if BACKEND == "sqlite" {
        conn.batch_execute("BEGIN IMMEDIATE")?;
        run(conn).and_then(|()| conn.batch_execute("COMMIT"))
    } else {
        conn.transaction(run)
    }
}

fn in_slots(conn: &mut Conn) -> i64 {
    let sum = "SELECT COALESCE(SUM(views), 0) FROM article_counters";
    number(&format!("SELECT CAST(({sum}) AS {})", integer()), conn)
}

/// Has the slots begin with the column's counts, as the section says.
fn begins_with_the_column(database: &TestDatabase) {
    let (_, section) = CHAPTER.split_once("### Rows that triggers").unwrap();
    let (_, sql) = section.split_once("```sql\n").unwrap();
    let (insert, _) = sql.split_once("```").unwrap();
    let path = database
        .migration_directories()
        .pop()
        .unwrap()
        .join("up.sql");
    let up = fs::read_to_string(&path).unwrap();
    let written = match BACKEND {
        "sqlite" => format!("{insert}{up}"),
        _ => {
            let (before, after) = up.split_once("LOCK TABLE").unwrap();
            let (lock, after) = after.split_once(";\n").unwrap();
            let also = if BACKEND == "mysql" {
                ", articles READ"
            } else {
                ""
            };
            format!("{before}LOCK TABLE{lock}{also};\n{insert}{after}")
        }
    };
    fs::write(path, written).unwrap();
}

/// Runs the migration, and again if it deadlocks.
fn migrate(database: &TestDatabase) {
    loop {
        let conn = &mut open(database);
        let ran = conn.run_pending_migrations(database.migrations()).map(drop);
        match ran {
            Ok(()) => return,
            Err(error) => assert!(is_conflict(&error.to_string()), "{error}"),
        }
    }
}

#[test]
fn the_slots_begin_with_the_rows_or_with_the_column() {
    for with_column in [false, true] {
        let database = with_log();
        if with_column {
            begins_with_the_column(&database);
        }
        let conn = &mut open(&database);
        database.migrate();
        let before = if with_column { 100 } else { 2 };
        assert_eq!(in_slots(conn), before);
        // Article 3 had neither.
        for (is_old, id) in [(true, 3), (false, 6), (true, 5)] {
            view(is_old, id, conn).unwrap();
        }
        assert_eq!(in_slots(conn), before + 3);
        conn.run("ALTER TABLE articles DROP COLUMN views");
        view(false, 9, conn).unwrap();
        assert_eq!(in_slots(conn), before + 4);
        database.command("check").works();
    }
}

/// Four old clients write while the migration runs, and then four new ones, too. SQLite has one writer.
#[test]
fn each_view_of_both_programs_is_counted_once() {
    if BACKEND == "sqlite" {
        return;
    }
    for with_column in [false, true] {
        let database = &with_log();
        if with_column {
            begins_with_the_column(database);
        }
        let [old, new] = [&AtomicI64::new(0), &AtomicI64::new(0)];
        let is_done = &AtomicBool::new(false);
        let run = move |is_old: bool, client: i64| {
            let conn = &mut open(database);
            for id in client * 1_000_000.. {
                if is_done.load(SeqCst) {
                    return;
                }
                while let Err(error) = view(is_old, id, conn) {
                    assert!(is_conflict(&error.to_string()), "{error}");
                }
                if is_old { old } else { new }.fetch_add(1, SeqCst);
            }
        };
        let has_counted = |program: &AtomicI64| {
            let before = program.load(SeqCst);
            while program.load(SeqCst) < before + 20 {
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            for client in 1..=4 {
                scope.spawn(move || run(true, client));
            }
            let migrated = std::panic::catch_unwind(|| {
                has_counted(old);
                migrate(database);
                has_counted(old);
                thread::scope(|scope| {
                    for client in 5..=8 {
                        scope.spawn(move || run(false, client));
                    }
                    let counted = std::panic::catch_unwind(|| [old, new].map(has_counted));
                    is_done.store(true, SeqCst);
                    counted.unwrap();
                });
            });
            is_done.store(true, SeqCst);
            migrated.unwrap();
        });
        let views = old.load(SeqCst) + new.load(SeqCst);
        let before = if with_column { 100 } else { 2 };
        assert_eq!(in_slots(&mut open(database)), before + views);
    }
}
