//! The command on SQLite.

mod behaviour;

use tempfile::TempDir;

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
