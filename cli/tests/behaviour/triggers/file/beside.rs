//! The file changes beside writers.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel_migrations::MigrationHarness;

use super::{STEPS, blog};
use crate::behaviour::triggers::{number, open, patient};
use crate::{BACKEND, Conn, TestDatabase};

#[test]
fn the_database_follows_the_file_beside_eight_clients() {
    let database = &blog();
    let is_done = &AtomicBool::new(false);
    let written = &AtomicI64::new(0);
    thread::scope(|scope| {
        for client in 1..=8 {
            scope.spawn(move || write(client, is_done, written, &mut open(database)));
        }
        let followed = std::panic::catch_unwind(|| follow(database, written));
        is_done.store(true, Relaxed);
        followed.unwrap();
    });
    assert!(number("SELECT COUNT(*) FROM article_likes", &mut open(database)) > 3);
    database.assert_agrees();
}

/// Whoever writes while triggers are dropped and created waits, or tries again.
fn write(client: i64, is_done: &AtomicBool, written: &AtomicI64, conn: &mut Conn) {
    for number in 0.. {
        if is_done.load(Relaxed) {
            return;
        }
        let id = client * 1_000_000 + number;
        let article = id % 5 + 1;
        for statement in [
            format!(
                "INSERT INTO article_likes (id, article_id, stars) VALUES ({id}, {article}, 2)"
            ),
            format!("UPDATE article_likes SET stars = 3, approved = FALSE WHERE id = {id}"),
            format!("DELETE FROM article_likes WHERE id = {id} - 2"),
        ] {
            while let Err(error) = conn.batch_execute(&statement) {
                assert!(is_conflict(&error.to_string()), "{error}: {statement}");
            }
            written.fetch_add(1, Relaxed);
        }
        if BACKEND == "sqlite" {
            // Its only write lock is not fair.
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// MariaDB says that a table of a new trigger does not exist if the statement has begun before the
/// trigger.
pub fn is_conflict(error: &str) -> bool {
    let text = error.to_lowercase();
    ["deadlock", "locked", "lock wait", "doesn't exist"]
        .iter()
        .any(|one| text.contains(one))
}

fn follow(database: &TestDatabase, written: &AtomicI64) {
    for (step, toml) in STEPS {
        let before = database.defined();
        patient(|| database.generate(toml)).works();
        for is_up in [true, false, true] {
            let conn = &mut open(database);
            let run = |conn: &mut Conn| {
                let migrations = database.migrations();
                if is_up {
                    conn.run_pending_migrations(migrations).map(drop)
                } else {
                    conn.revert_last_migration(migrations).map(drop)
                }
            };
            while let Err(error) = run(conn).map_err(|error| error.to_string()) {
                assert!(is_conflict(&error), "{step}, {is_up}: {error}");
                // Otherwise MySQL keeps the locks of tables.
                *conn = open(database);
            }
            database.define(if is_up { toml } else { &before });
            let before = written.load(Relaxed);
            while written.load(Relaxed) < before + 40 {
                thread::yield_now();
            }
            // A counter that was not counted meanwhile has what it had.
            database.recount();
            let agrees = patient(|| database.run(&["recount", "--dry-run"]));
            let is_wrong = agrees.stdout.contains("would be corrected");
            assert!(!is_wrong, "{step}, {is_up}: {agrees:?}");
        }
    }
}
