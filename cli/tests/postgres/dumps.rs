//! Data that is restored without the tables, into tables with triggers.

use std::process::{Command, Output};

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::triggers::{OF_ARTICLES, count_likes, likes, open, tables};

/// Runs a program of PostgreSQL. Returns `None` if it is not there, or is older than the server.
fn run(program: &str, args: &[&str]) -> Option<Output> {
    let ran = Command::new(program).args(args).output().ok()?;
    let errors = String::from_utf8_lossy(&ran.stderr);
    (!errors.contains("server version mismatch")).then_some(ran)
}

/// With triggers, and without rows.
fn migrated() -> TestDatabase {
    let database = tables(true);
    database.count(&count_likes(OF_ARTICLES));
    database.execute("DELETE FROM articles; DELETE FROM users");
    database
}

#[test]
fn rows_count_once_if_triggers_are_disabled_while_data_is_restored() {
    let source = tables(true);
    source.count(&count_likes(OF_ARTICLES));
    // A restored row would count today.
    source.execute(
        "INSERT INTO article_likes (id, article_id, user_id) VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1);
         UPDATE article_counters SET day = '2026-01-01'",
    );
    let file = source.project().join("data");
    let file = file.to_str().unwrap();
    let dump = ["-Fc", "--data-only", "-f", file, "-d", &source.url()];
    let without_migrations = "--exclude-table-data=__diesel_schema_migrations";
    let Some(dumped) = run("pg_dump", &[&dump[..], &[without_migrations]].concat()) else {
        return;
    };
    assert!(dumped.status.success(), "{dumped:?}");

    for (options, expected) in [(&["--disable-triggers"][..], [2, 1]), (&[], [4, 2])] {
        let restored = migrated();
        let url = restored.url();
        let restore = ["--data-only", "--exit-on-error", "-d", &url, file];
        let loaded = run("pg_restore", &[&restore[..], options].concat()).unwrap();
        assert!(loaded.status.success(), "{loaded:?}");
        let conn = &mut open(&restored);
        assert_eq!(likes([1, 2], conn), expected, "{options:?}");
        // They are enabled again.
        conn.run("INSERT INTO article_likes (id, article_id) VALUES (4, 2)");
        assert_eq!(likes([1, 2], conn), [expected[0], expected[1] + 1]);
        restored.command("check article_counters").works();
        restored.command("recount --lower").works();
        assert_eq!(likes([1, 2], conn), [2, 2]);
    }
}
