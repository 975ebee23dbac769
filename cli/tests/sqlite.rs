//! The command on SQLite.

mod behaviour;

use diesel::connection::SimpleConnection;
use tempfile::TempDir;

use behaviour::doctor::{advice, with_counters};

type Conn = diesel::SqliteConnection;

const BACKEND: &str = "sqlite";
/// SQLite has one writer at a time.
const HAS_SLOTS: bool = false;

const REFERENCE: &str =
    include_str!("../../migrations/sqlite/00000000000001_create_article_counters/up.sql");
const BAD: &str = include_str!("bad/sqlite.sql");

/// What keys of bytes and of UUIDs are here.
const BYTES: [&str; 2] = ["BLOB", "x'00ff'"];
const UUID: [&str; 2] = ["BLOB", "x'67e5504410b1426f9247bb680e5fe0c8'"];

const COLUMNS_OF: &str =
    "SELECT name, lower(type) AS data_type, CASE \"notnull\" WHEN 0 THEN 'YES' ELSE 'NO' END AS is_nullable
     FROM pragma_table_info(?) ORDER BY cid";

const TEXT: &str = "text";

/// What `doctor` advises for an index `most_viewed`.
const DROP_INDEX: &str = "DROP INDEX \"most_viewed\"";

/// An empty database, which goes when this is dropped.
struct TestDatabase {
    folder: TempDir,
}

impl TestDatabase {
    pub fn create() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let database = TestDatabase { folder };
        database.connect();
        database
    }

    pub fn url(&self) -> String {
        let file = self.folder.path().join("test.sqlite");
        file.to_str().unwrap().to_owned()
    }
}

/// A STRICT table has no DATE, SMALLINT or BIGINT, and needs no checks.
#[test]
fn a_strict_table_is_good() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE hit_counters (
             day TEXT NOT NULL, slot INTEGER NOT NULL, hits INTEGER NOT NULL DEFAULT 0,
             PRIMARY KEY (day, slot)
         ) STRICT",
    );
    assert_eq!(database.run(&["check"]).stdout, "hit_counters: good\n");
}

#[test]
fn no_file_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("missing.sqlite");
    let checked = behaviour::run(&["check", "--database-url", file.to_str().unwrap()]);
    assert_eq!(checked.code, 1);
    assert!(
        checked.stderr.contains("there is no file"),
        "{}",
        checked.stderr
    );
    assert!(!file.exists());
}

#[test]
#[cfg(not(feature = "postgres"))]
fn a_database_that_is_not_built_in_says_how_to_build_it_in() {
    let checked = behaviour::run(&["check", "--database-url", "postgres://somewhere/else"]);
    assert_eq!(checked.code, 1);
    assert!(
        checked.stderr.contains("--features postgres"),
        "{}",
        checked.stderr
    );
}

#[test]
fn a_held_write_lock_is_told() {
    let database = with_counters();
    let writer = &mut database.connect();
    writer.batch_execute("BEGIN IMMEDIATE").unwrap();
    let answer = database.run(&["doctor", "article_counters"]);
    assert_eq!(answer.code, 3, "{answer:?}");
    assert!(
        answer.stdout.contains("is held by another connection"),
        "{answer:?}"
    );
    assert!(
        answer.stdout.contains("immediate_transaction"),
        "{answer:?}"
    );

    let report = database
        .run(&["doctor", "article_counters", "--watch", "1", "--json"])
        .json();
    assert_eq!(report["writer"]["held_now"], true);
    let watch = &report["watch"];
    assert_eq!(watch["samples"], watch["samples_with_contention"]);
    assert_eq!(advice(&report), ["short_transactions"]);

    writer.batch_execute("COMMIT").unwrap();
    let answer = database.run(&["doctor", "article_counters"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(
        answer.stdout.contains("the write lock is free"),
        "{answer:?}"
    );
}

#[test]
fn the_journal_mode_is_told() {
    let database = with_counters();
    database.execute("PRAGMA journal_mode = DELETE");
    let answer = database.run(&["doctor", "article_counters"]);
    assert!(
        answer.stdout.contains("PRAGMA journal_mode = WAL"),
        "{answer:?}"
    );

    database.execute("PRAGMA journal_mode = WAL");
    let report = database
        .run(&["doctor", "article_counters", "--json"])
        .json();
    assert_eq!(report["writer"]["journal_mode"], "wal");
    assert_eq!(advice(&report), ["none"]);
}
