//! Rows that a `REPLACE` could replace uncounted.

use diesel::connection::SimpleConnection;

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::{number, open};

const SAYS: &str = "run PRAGMA recursive_triggers = ON";

/// A counter table, and a table of rows with this definition.
fn counted(rows: &str) -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(&format!(
        "CREATE TABLE post_counters (
             post_id INTEGER NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             likes BIGINT NOT NULL DEFAULT 0 CHECK (typeof(likes) = 'integer'), PRIMARY KEY (post_id, day, slot)
         );
         CREATE TABLE post_likes {rows}"
    ));
    let count = "count = ['post_id:post_counters.likes']";
    database.count(&trigger("count_likes", "post_likes", count));
    database
}

#[test]
fn a_table_without_rowid_is_counted() {
    for rows in [
        "(id BIGINT PRIMARY KEY, post_id INTEGER) WITHOUT ROWID",
        "(id BIGINT PRIMARY KEY, post_id INTEGER) strict, without /* a comment */ rowid",
        "(rowid TEXT, _rowid_ TEXT, oid TEXT, id INTEGER, post_id INTEGER)",
    ] {
        let database = counted(&rows.replace(
            "BIGINT PRIMARY KEY, post_id INTEGER) strict",
            "INTEGER PRIMARY KEY, post_id INTEGER) strict",
        ));
        let conn = &mut open(&database);
        conn.run("INSERT INTO post_likes (id, post_id) VALUES (1, 1), (2, 1)");
        database.assert_agrees();
    }
}

/// Rows that are marked as deleted do not conflict with others.
#[test]
fn a_partial_unique_index_refuses_only_what_conflicts() {
    let database =
        counted("(id INTEGER PRIMARY KEY, post_id INTEGER, user_id INTEGER, deleted_at TIMESTAMP)");
    database.execute(
        "CREATE UNIQUE INDEX once ON post_likes (post_id, user_id) -- only WHERE it is there
         WHERE \"deleted_at\" IS NULL AND user_id > 0",
    );
    database.execute(
        "DROP TRIGGER count_likes_replace_by_insert; DROP TRIGGER count_likes_replace_by_update",
    );
    let faults = database.trigger_faults("post_counters");
    assert_eq!(faults.len(), 2, "{faults:?}");
    faults.iter().for_each(|fault| database.mend(fault));
    let conn = &mut open(&database);
    conn.run("PRAGMA recursive_triggers = OFF");
    let now = "'2026-01-01 00:00:00'";
    conn.run(&format!(
        "INSERT INTO post_likes VALUES (1, 1, 1, {now});
         INSERT INTO post_likes VALUES (2, 1, 1, NULL);
         INSERT INTO post_likes VALUES (3, 1, 1, {now}), (4, 1, -1, NULL), (5, 1, -1, NULL), (6, 2, 1, NULL);
         UPDATE post_likes SET deleted_at = {now} WHERE id = 2;
         UPDATE post_likes SET deleted_at = NULL WHERE id = 1;
         UPDATE post_likes SET deleted_at = NULL WHERE id = 1;
         UPDATE post_likes SET post_id = 1, deleted_at = {now} WHERE id = 6;
         UPDATE post_likes SET user_id = -user_id WHERE id = 2"
    ));
    assert_eq!(number("SELECT SUM(likes) FROM post_counters", conn), 6);
    for statement in [
        "INSERT OR REPLACE INTO post_likes VALUES (9, 1, 1, NULL)",
        "UPDATE OR REPLACE post_likes SET deleted_at = NULL WHERE id = 3",
        "UPDATE OR REPLACE post_likes SET user_id = 1 WHERE id = 4",
    ] {
        let refused = conn.batch_execute(statement).unwrap_err().to_string();
        assert!(refused.contains(SAYS), "{statement}: {refused}");
        database.assert_agrees();
    }
    conn.run("PRAGMA recursive_triggers = ON");
    conn.run("UPDATE OR REPLACE post_likes SET deleted_at = NULL WHERE id = 3");
    database.assert_agrees();
}

/// OR REPLACE replaces a NULL by the default, after the triggers that run before.
#[test]
fn a_replace_by_a_default_is_refused_or_counted() {
    let database = counted(
        "(post_id INTEGER NOT NULL, user_id INTEGER NOT NULL DEFAULT -7, kind TEXT NOT NULL DEFAULT like,
             PRIMARY KEY (post_id, user_id, kind))",
    );
    let conn = &mut open(&database);
    conn.run("PRAGMA recursive_triggers = OFF");
    conn.run("INSERT INTO post_likes (post_id) VALUES (1), (2); INSERT INTO post_likes VALUES (1, 8, 'like')");
    for statement in [
        "INSERT OR REPLACE INTO post_likes VALUES (1, NULL, 'like')",
        "INSERT OR REPLACE INTO post_likes VALUES (2, NULL, NULL)",
        "UPDATE OR REPLACE post_likes SET user_id = NULL WHERE user_id = 8",
    ] {
        let ran = conn.batch_execute(statement);
        database.assert_agrees();
        let refused = ran.unwrap_err().to_string();
        assert!(refused.contains(SAYS), "{statement}: {refused}");
    }
    conn.run(
        "INSERT OR REPLACE INTO post_likes VALUES (3, NULL, NULL);
         UPDATE OR REPLACE post_likes SET user_id = NULL, post_id = 4 WHERE user_id = 8",
    );
    database.assert_agrees();
    database.command("check").works();
}

/// The collation of an index can be another one than that of its column, or of another index.
#[test]
fn a_replace_by_another_collation_is_refused_or_counted() {
    let unique = |collations: &[&str]| {
        let indexes = collations.iter().map(|collation| {
            format!("; CREATE UNIQUE INDEX by_{collation} ON post_likes (name COLLATE {collation})")
        });
        indexes.collect::<String>()
    };
    for (column, collations, replacing, other) in [
        (
            "TEXT",
            &["NOCASE", "RTRIM"][..],
            &["Foo", "foo  "][..],
            "Foo  ",
        ),
        ("TEXT", &["RTRIM", "NOCASE"], &["Foo", "foo  "], "Foo  "),
        ("TEXT COLLATE NOCASE", &["BINARY"], &["foo"], "Foo"),
    ] {
        let indexes = unique(collations);
        let database = counted(&format!(
            "(id INTEGER PRIMARY KEY, post_id INTEGER, name {column}){indexes}"
        ));
        let conn = &mut open(&database);
        conn.run("PRAGMA recursive_triggers = OFF");
        conn.run(&format!(
            "INSERT INTO post_likes VALUES (1, 1, 'foo'), (2, 1, '{other}');
             UPDATE post_likes SET name = 'bar' WHERE id = 2"
        ));
        for name in replacing {
            for statement in [
                format!("INSERT OR REPLACE INTO post_likes VALUES (3, 1, '{name}')"),
                format!("UPDATE OR REPLACE post_likes SET name = '{name}' WHERE id = 2"),
            ] {
                let ran = conn.batch_execute(&statement);
                database.assert_agrees();
                let refused = ran.unwrap_err().to_string();
                assert!(refused.contains(SAYS), "{statement}: {refused}");
            }
        }
        conn.run("UPDATE post_likes SET name = 'foo' WHERE id = 1");
        database.assert_agrees();
        database.command("check").works();
    }
}
