//! The command on SQLite.

mod behaviour;
#[path = "sqlite/mod.rs"]
mod policies;

use std::path::Path;

use diesel::RunQueryDsl;
use diesel::connection::{Connection, SimpleConnection};
use diesel_counters::prelude::*;
use tempfile::TempDir;

use behaviour::doctor::{waits, with_counters};

type Conn = diesel::SqliteConnection;

const BACKEND: &str = "sqlite";
/// SQLite has one writer at a time.
const HAS_SLOTS: bool = false;

const REFERENCE: &str =
    include_str!("../../migrations/sqlite/00000000000001_create_article_counters/up.sql");
const BAD: &str = include_str!("bad/sqlite.sql");

/// A text of which each spelling is a key of its own.
const TEXT: &str = "TEXT";

/// What keys of bytes and of UUIDs are here.
const BYTES: [&str; 2] = ["BLOB", "x'00ff'"];
const UUID: [&str; 2] = ["BLOB", "x'67e5504410b1426f9247bb680e5fe0c8'"];

/// An empty database, which goes when this is dropped.
struct TestDatabase {
    folder: TempDir,
}

impl TestDatabase {
    pub fn create() -> Self {
        let folder = behaviour::project::folder();
        let database = TestDatabase { folder };
        database.execute("PRAGMA journal_mode = WAL");
        database
    }

    pub fn url(&self) -> String {
        let file = self.folder.path().join("test.sqlite");
        file.to_str().unwrap().to_owned()
    }

    pub fn connect(&self) -> Conn {
        Conn::establish(&self.url()).unwrap()
    }

    /// The folder with `counters.toml` and `migrations`.
    pub fn project(&self) -> &Path {
        self.folder.path()
    }
}

const STRICT: &str = "
    CREATE TABLE hit_counters (
        -- diesel_counters: period = day
        day TEXT NOT NULL, slot INTEGER NOT NULL, hits INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (day, slot)
    ) STRICT";

/// A STRICT table has no DATE, SMALLINT or BIGINT, and needs no checks.
#[test]
fn a_strict_table_is_good() {
    let database = TestDatabase::create();
    database.execute(STRICT);
    let checked = database.command("check");
    assert_eq!(checked.stdout, "hit_counters: good\n", "{checked:?}");
}

/// The types of print-schema are Text, Integer, Integer.
#[test]
fn a_strict_table_counts_with_a_table_of_other_types() {
    diesel::table! {
        hit_counters (day, slot) {
            day -> Date,
            slot -> SmallInt,
            hits -> BigInt,
        }
    }
    diesel_counters::counter_table!(hit_counters);

    let database = TestDatabase::create();
    database.execute(STRICT);
    let conn = &mut database.connect();
    let today = chrono::Utc::now().date_naive();
    for hits in [i64::MAX - 1, 1] {
        let count = increment(hit_counters::hits).by(hits);
        count.on(today).execute(conn).unwrap();
    }
    let of_today = counter_value(hit_counters::hits).on(today);
    assert_eq!(of_today.get_result(conn), Ok(i64::MAX));
}

#[test]
fn no_file_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("missing.sqlite");
    let checked = behaviour::run(&["check", "--database-url", file.to_str().unwrap()]);
    checked.fails("there is no file");
    assert!(!file.exists());
}

#[test]
#[cfg(not(feature = "postgres"))]
fn a_database_that_is_not_built_in_says_how_to_build_it_in() {
    let checked = behaviour::run(&["check", "--database-url", "postgres://somewhere/else"]);
    checked.fails("--features postgres");
}

#[test]
fn a_view_of_a_table_that_is_gone_does_not_matter() {
    let database = TestDatabase::with_article_counters();
    database.execute(
        "CREATE TABLE gone (id BIGINT); CREATE VIEW broken AS SELECT id FROM gone; DROP TABLE gone",
    );
    database.command("check").works();
    database.command("compact article_counters").works();
}

#[test]
fn a_trigger_can_have_the_name_of_the_table() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE articles (id BIGINT PRIMARY KEY);
         CREATE TRIGGER article_counters AFTER INSERT ON articles BEGIN SELECT 1; END",
    );
    database.execute(REFERENCE);
    database.command("check article_counters").works();
}

#[test]
fn a_held_write_lock_is_told() {
    let database = with_counters();
    let writer = &mut database.connect();
    writer.batch_execute("BEGIN IMMEDIATE").unwrap();
    let look = || database.command("doctor article_counters");
    look().finds("immediate_transaction");
    let answer = database.command("doctor article_counters --json");
    assert_eq!(waits(&answer.json()), [["write_lock", "the write lock"]]);
    writer.batch_execute("COMMIT").unwrap();
    look().works();
}

#[test]
fn what_sqlite_cannot_change_takes_a_new_table() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE page_counters (page_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL, \
         views BIGINT, PRIMARY KEY (page_id, day, slot))",
    );
    let faults = database.command("check page_counters --json").faults();
    for fault in &faults {
        let remedy = fault["remedy"].as_str().unwrap();
        assert!(remedy.contains("generate migration"), "{fault}");
        assert_eq!(fault["sql"], serde_json::json!([]), "{fault}");
    }
    let faults: Vec<_> = faults.iter().map(|fault| &fault["fault"]).collect();
    assert_eq!(faults, ["column", "unchecked", "period"]);
}

#[test]
fn a_database_without_a_write_ahead_log_has_a_note() {
    let database = TestDatabase::with_article_counters();
    database.execute("PRAGMA journal_mode = DELETE");
    let checked = database.command("check --json");
    checked.works();
    let faults = checked.all_faults();
    assert_eq!(faults[0]["fault"], "journal", "{faults:?}");
    database.mend(&faults[0]);
    database.command("check").is_good("article_counters");
}

/// PostgreSQL compares such a column with a text in another way.
#[test]
fn a_key_of_a_fixed_width_is_good() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE code_counters (
             -- diesel_counters: period = day
             code CHARACTER(20) NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             hits BIGINT NOT NULL DEFAULT 0 CHECK (typeof(hits) = 'integer'),
             PRIMARY KEY (code, day, slot)
         )",
    );
    database.command("check").is_good("code_counters");
}

#[test]
fn a_check_of_the_type_can_be_written_in_several_ways() {
    let check = |check: &str| {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE hit_counters (
                 -- diesel_counters: period = day
                 day DATE NOT NULL, slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0 {check},
                 PRIMARY KEY (day, slot)
             )"
        ));
        let real = "INSERT INTO hit_counters VALUES ('2026-01-01', 1, 0.5)";
        let is_refused = database.connect().batch_execute(real).is_err();
        let checked = database.command("check");
        let is_found = checked.stdout.contains("has no CHECK");
        assert_eq!(is_found, !is_refused, "{check}: {checked:?}");
        is_refused
    };
    for same in [
        "CHECK (typeof(hits) = 'integer')",
        "CHECK (typeof(hits) == 'integer')",
        "CHECK ('integer' = TYPEOF(\"hits\"))",
        "CHECK (hits > -5 AND (typeof([hits])='integer'))",
        "CHECK (typeof(hits) IN ('integer'))",
    ] {
        assert!(check(same), "{same}");
    }
    for other in [
        "/* typeof(hits) = 'integer' */",
        "CHECK (hits > -5 OR typeof(hits) = 'integer')",
        "CHECK (NOT typeof(hits) = 'integer' OR 1)",
    ] {
        assert!(!check(other), "{other}");
    }
}

mod triggers {
    use crate::behaviour::Execute;
    use diesel::connection::SimpleConnection;

    use crate::behaviour::triggers::{count_likes, counted_likes, likes, likes_of, open, tables};

    /// SQLite runs no trigger for a row that a REPLACE deletes, unless `recursive_triggers` is on.
    #[test]
    fn what_could_replace_a_row_uncounted_is_refused() {
        let database = counted_likes();
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes (id, article_id, user_id) VALUES (1, 1, 1), (2, 1, 2)");
        let by_id = "INSERT OR REPLACE INTO article_likes (id, article_id) VALUES (1, 2)";
        let by_user =
            "INSERT OR REPLACE INTO article_likes (id, article_id, user_id) VALUES (9, 1, 2)";
        let update = "UPDATE OR REPLACE article_likes SET id = 1 WHERE id = 2";
        conn.run("PRAGMA recursive_triggers = OFF");
        for statement in [by_id, by_user, update] {
            let refused = conn.batch_execute(statement).unwrap_err().to_string();
            let says = "run PRAGMA recursive_triggers = ON";
            assert!(refused.contains(says), "{refused}");
        }
        let other = "INSERT INTO article_likes (id, article_id) VALUES (3, 2); UPDATE article_likes SET stars = 2";
        conn.run(other);
        assert_eq!(likes([1, 2], conn), [2, 1]);
        conn.run("PRAGMA recursive_triggers = ON");
        conn.run(by_id);
        assert_eq!(likes([1, 2], conn), [1, 2]);
        conn.run(by_user);
        assert_eq!(likes([1, 2], conn), [1, 2]);
        conn.run("UPDATE OR REPLACE article_likes SET id = 1 WHERE id = 9");
        assert_eq!(likes([1, 2], conn), [1, 1]);
    }

    /// The usual way to change a table, in which it loses its triggers.
    #[test]
    fn a_table_that_was_created_again_has_lost_its_triggers() {
        let database = counted_likes();
        let again = "
            DROP TABLE article_likes;
            CREATE TABLE new_likes (id BIGINT PRIMARY KEY, article_id BIGINT, stars INTEGER);
            ALTER TABLE new_likes RENAME TO article_likes;
            INSERT INTO article_likes VALUES (1, 1, 1)";
        let conn = &mut open(&database);
        conn.run(again);
        let missing = database.trigger_faults("article_counters");
        assert_eq!(missing.len(), 5, "{missing:?}");
        for fault in &missing {
            assert_eq!(fault["fault"], "trigger_missing");
            database.mend(fault);
        }
        database.command("check article_counters").works();
        database.run(&["recount"]);
        assert_eq!(likes_of(1, &mut open(&database)), 1);
    }

    /// SQLite changes the triggers that name a table when it is renamed.
    #[test]
    fn a_renamed_counter_table_counts_on() {
        let database = tables(true);
        database.count(&count_likes(
            r#"
            count = [
                "article_id:article_counters.likes",
                "article_id:article_counters.comments=stars",
            ]
            "#,
        ));
        let conn = &mut open(&database);
        conn.run(
            "INSERT INTO article_likes (id, article_id, stars) VALUES (1, 1, 3), (2, 1, 3);
             ALTER TABLE article_counters RENAME TO renamed;
             INSERT INTO article_likes (id, article_id, stars) VALUES (3, 1, 3);
             UPDATE article_likes SET stars = 2 WHERE id = 1;
             DELETE FROM article_likes WHERE id = 2;
             ALTER TABLE renamed RENAME TO article_counters",
        );
        assert_eq!(likes_of(1, conn), 2);
        database.assert_agrees();
        database.command("check article_counters").works();
    }
}
