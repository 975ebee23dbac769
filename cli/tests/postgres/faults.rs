//! Faults of tables that only PostgreSQL has, and what `check` says of them.

use diesel::connection::SimpleConnection;
use serde_json::Value;

use crate::TestDatabase;
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::counted_likes;

fn names(faults: &[Value]) -> Vec<&str> {
    let names = faults.iter().map(|fault| fault["fault"].as_str().unwrap());
    names.collect()
}

/// Asserts that there are these faults, and none after their SQL has run.
#[track_caller]
fn finds_and_mends(database: &TestDatabase, expected: &[&str]) {
    let found = database.faults();
    assert_eq!(names(&found), expected, "{found:?}");
    found.iter().for_each(|fault| database.mend(fault));
    assert_eq!(database.faults(), Vec::<Value>::new());
}

const COUNTERS: &str = "page_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    hits BIGINT NOT NULL DEFAULT 0";

#[test]
fn days_without_a_partition_are_found() {
    let database = TestDatabase::create();
    let key = "PRIMARY KEY (page_id, day, slot)";
    database.execute(&format!(
        "CREATE TABLE page_counters ({COUNTERS}, {key}) PARTITION BY RANGE (day);
         CREATE TABLE old_pages PARTITION OF page_counters FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')"
    ));
    finds_and_mends(&database, &["partition", "partition"]);
    let days = "('1970-01-01'), (CURRENT_DATE)";
    database.execute(&format!(
        "INSERT INTO page_counters (page_id, day, slot) SELECT 1, CAST(day AS DATE), 1 FROM (VALUES {days}) AS v (day)"
    ));
    for partitions in [
        "CREATE TABLE all_pages PARTITION OF page_counters DEFAULT",
        "CREATE TABLE all_pages PARTITION OF page_counters FOR VALUES FROM (MINVALUE) TO (MAXVALUE)",
        "CREATE TABLE all_pages PARTITION OF page_counters FOR VALUES FROM ('1970-01-01') TO ('2970-01-01')",
    ] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE page_counters ({COUNTERS}, {key}) PARTITION BY RANGE (day); {partitions}"
        ));
        assert_eq!(
            names(&database.faults()),
            Vec::<&str>::new(),
            "{partitions}"
        );
    }
    let by_id = TestDatabase::create();
    by_id.execute(&format!(
        "CREATE TABLE page_counters ({COUNTERS}, {key}) PARTITION BY HASH (page_id);
         CREATE TABLE pages_0 PARTITION OF page_counters FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
    ));
    assert_eq!(names(&by_id.faults()), Vec::<&str>::new());
}

#[test]
fn rows_that_a_crash_empties_are_found_and_refused() {
    let database = counted_likes();
    database.execute("ALTER TABLE article_likes SET UNLOGGED");
    finds_and_mends(&database, &["storage"]);
    database.execute(
        "CREATE UNLOGGED TABLE visits (id BIGINT PRIMARY KEY, article_id BIGINT REFERENCES articles)",
    );
    let count = "count = ['article_id:article_counters.views']";
    let generated = database.generate(&trigger("count_visits", "visits", count));
    generated.fails("UNLOGGED");
}

#[test]
fn a_function_that_the_triggers_call_is_missed() {
    let database = counted_likes();
    database.execute("ALTER FUNCTION diesel_counters_slot(INTEGER) RENAME TO mislaid");
    let found = database.faults();
    assert_eq!(names(&found), ["trigger_missing"], "{found:?}");
    database.execute("ALTER FUNCTION mislaid(INTEGER) RENAME TO diesel_counters_slot");
    assert_eq!(database.faults(), Vec::<Value>::new());
}

/// An index with a counter in its expression or in its condition.
#[test]
fn an_index_that_depends_on_a_counter_is_slow() {
    for index in [
        "((likes + 0))",
        "(day) WHERE likes > 100",
        "(day) INCLUDE (likes)",
        "(likes)",
    ] {
        let database = TestDatabase::with_article_counters();
        database.execute(&format!(
            "CREATE INDEX by_likes ON article_counters {index}"
        ));
        let found = database.faults();
        assert_eq!(names(&found), ["counter_index"], "{index}");
        assert_eq!(found[0]["what"], "The index by_likes holds likes.");
    }
    let database = TestDatabase::with_article_counters();
    database.execute("CREATE INDEX by_day ON article_counters ((day + 1)) WHERE slot > 0");
    assert_eq!(names(&database.faults()), Vec::<&str>::new());
}

/// A domain has its own default, and can refuse a NULL that the column allows.
#[test]
fn what_a_domain_gives_and_refuses_is_known() {
    let insert = "INSERT INTO page_counters (page_id, day, slot) VALUES (1, '2026-01-01', 1)";
    for (domain, column, is_good) in [
        ("TEXT DEFAULT 'x'", "NOT NULL", true),
        ("TEXT", "", true),
        ("TEXT NOT NULL DEFAULT 'x'", "", true),
        ("TEXT NOT NULL", "", false),
        ("TEXT NOT NULL", "DEFAULT 'x'", true),
        ("TEXT", "NOT NULL", false),
    ] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE DOMAIN own AS {domain};
             CREATE TABLE page_counters ({COUNTERS}, note own {column}, PRIMARY KEY (page_id, day, slot))"
        ));
        let inserts = database.connect().batch_execute(insert).is_ok();
        assert_eq!(inserts, is_good, "{domain} {column}");
        let expected: &[&str] = if is_good { &[] } else { &["column"] };
        assert_eq!(names(&database.faults()), expected, "{domain} {column}");
    }
}
