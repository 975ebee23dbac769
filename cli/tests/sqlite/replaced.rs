//! Rows that a `REPLACE` could replace uncounted.

use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::triggers::{create_triggers, number, open};

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
    create_triggers(
        &database,
        "count_likes --rows post_likes",
        &["--count", "post_id:post_counters.likes"],
    );
    database
}

/// A row has a number, under up to three names, if its table has no INTEGER PRIMARY KEY.
#[test]
fn a_replace_by_rowid_is_refused_or_counted() {
    for (rows, names) in [
        (
            "(id BIGINT PRIMARY KEY, post_id INTEGER)",
            ["rowid", "_rowid_", "oid"],
        ),
        // Only this INTEGER PRIMARY KEY is not the number.
        (
            "(id INTEGER PRIMARY KEY DESC, post_id INTEGER)",
            ["rowid", "_rowid_", "oid"],
        ),
        // A column, and no option of the table.
        (
            "(without rowid, post_id INTEGER, id INTEGER)",
            ["rowid", "_rowid_", "oid"],
        ),
        (
            "(RowId TEXT, post_id INTEGER, id INTEGER)",
            ["_rowid_", "oid", "oid"],
        ),
        (
            "(rowid TEXT, _rowid_ TEXT, post_id INTEGER, id INTEGER)",
            ["oid"; 3],
        ),
    ] {
        for name in names {
            let database = counted(rows);
            let conn = &mut open(&database);
            conn.run("PRAGMA recursive_triggers = OFF");
            conn.run("INSERT INTO post_likes (id, post_id) VALUES (1, 1), (2, 1), (3, 2)");
            let insert =
                format!("INSERT OR REPLACE INTO post_likes ({name}, id, post_id) VALUES (1, 9, 2)");
            let update = format!("UPDATE OR REPLACE post_likes SET {name} = 1 WHERE {name} = 2");
            for statement in [&insert, &update] {
                let refused = conn.batch_execute(statement).unwrap_err().to_string();
                assert!(refused.contains(SAYS), "{statement}: {refused}");
            }
            conn.run(&format!(
                "INSERT INTO post_likes ({name}, id, post_id) VALUES (7, 4, 1), (NULL, 5, 1);
                 UPDATE post_likes SET {name} = {name} + 100"
            ));
            database.assert_agrees();
            conn.run("PRAGMA recursive_triggers = ON");
            conn.run(&insert.replace("(1,", "(101,"));
            conn.run(&update.replace("= 1 ", "= 101 ").replace("= 2", "= 102"));
            database.assert_agrees();
            database.command("check").works();
        }
    }
}

/// Nothing is refused in a table without a number of its rows.
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

/// An earlier version wrote no collation where the column has the same one.
#[test]
fn a_trigger_of_an_earlier_version_is_good() {
    let database = counted("(id INTEGER PRIMARY KEY, post_id INTEGER, name TEXT UNIQUE)");
    for event in ["insert", "update"] {
        let name = format!("count_likes_replace_by_{event}");
        let query = format!("SELECT sql FROM sqlite_schema WHERE name = '{name}'");
        let query = diesel::dsl::sql::<diesel::sql_types::Text>(&format!("({query})"));
        let created = diesel::select(query).get_result::<String>(&mut database.connect());
        let created = created.unwrap();
        let earlier = created.replace(" COLLATE BINARY", "");
        assert_ne!(earlier, created);
        database.execute(&format!("DROP TRIGGER {name}; {earlier}"));
    }
    database.command("check").works();
}
