//! Migrations of triggers while transactions hold the tables; "On a busy table" in docs/triggers.md.

use std::fs;

use diesel_migrations::MigrationHarness;

use super::{PARENTS, likes_of, number, open};
use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use crate::{BACKEND, REFERENCE, TestDatabase};

/// The first line of up.sql, and what the migration then fails with. A second is the shortest time
/// of MySQL and MariaDB.
fn limit() -> (&'static str, &'static str) {
    match BACKEND {
        "postgres" => ("SET LOCAL lock_timeout = '1s';", "due to lock timeout"),
        "mysql" => (
            "SET SESSION lock_wait_timeout = 1;",
            "Lock wait timeout exceeded",
        ),
        _ => ("PRAGMA busy_timeout = 1;", "database is locked"),
    }
}

/// Two tables of rows, and the definitions that count them.
fn with_rows() -> (TestDatabase, [String; 2]) {
    let database = TestDatabase::create();
    database.execute(PARENTS);
    database.execute(REFERENCE);
    let definitions = [("article_likes", "likes"), ("article_notes", "comments")];
    let definitions = definitions.map(|(rows, counter)| {
        database.execute(&format!(
            "CREATE TABLE {rows} (
                 id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL,
                 FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
             );
             INSERT INTO {rows} VALUES (1, 1)"
        ));
        let count = format!("count = ['article_id:article_counters.{counter}']");
        trigger(&format!("count_{rows}"), rows, &count)
    });
    (database, definitions)
}

/// Writes the migration to these definitions, with the limit.
fn generate(definitions: &str, name: &str, database: &TestDatabase) {
    database.define(definitions);
    let generate = format!("generate triggers {name}");
    database.command(&generate).works();
    let up = database.migration_directories().pop().unwrap();
    let up = up.join("up.sql");
    let sql = fs::read_to_string(&up).unwrap();
    fs::write(&up, format!("{}\n{sql}", limit().0)).unwrap();
}

#[test]
fn a_migration_that_waits_too_long_leaves_nothing_and_runs_again() {
    let (database, [likes, notes]) = with_rows();
    generate(&likes, "a_likes", &database);
    database.migrate();

    // A migration for each table, so that a writer of one holds only its own one back.
    generate(&format!("{likes}\n{notes}"), "b_notes", &database);
    let writer = &mut open(&database);
    writer.run("BEGIN; INSERT INTO article_notes VALUES (2, 1)");
    let migrate = || {
        let conn = &mut open(&database);
        let ran = conn.run_pending_migrations(database.migrations());
        ran.map(|ran| ran.len()).map_err(|error| error.to_string())
    };
    for _ in 0..2 {
        let failed = migrate().unwrap_err();
        assert!(failed.contains(limit().1), "{failed}");
        // Only those of the notes, and nothing of them is there.
        let faults = database.trigger_faults("article_counters");
        let is_missing = faults
            .iter()
            .all(|fault| fault["fault"] == "trigger_missing");
        assert!(is_missing && !faults.is_empty(), "{faults:?}");
    }
    writer.run("COMMIT");
    let conn = &mut open(&database);
    conn.run("INSERT INTO article_likes VALUES (2, 1)");
    let notes = "SELECT CAST(COALESCE(SUM(comments), 0) AS {}) FROM article_counters";
    let notes = notes.replace("{}", super::integer());
    assert_eq!((likes_of(1, conn), number(&notes, conn)), (2, 0));

    assert_eq!(migrate(), Ok(1));
    conn.run("INSERT INTO article_notes VALUES (3, 1)");
    assert_eq!((likes_of(1, conn), number(&notes, conn)), (2, 3));
    database.assert_agrees();
    database.command("check").works();
}
