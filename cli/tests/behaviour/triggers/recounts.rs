//! Keys of any text in a recount.

use super::{integer, number, open};
use crate::behaviour::{Execute, check_of};
use crate::{BACKEND, TEXT, TestDatabase};

/// Tables of pages by a text, and rows of them.
fn tables() -> TestDatabase {
    let database = TestDatabase::create();
    let text = match BACKEND {
        "mysql" => "VARCHAR(100) COLLATE utf8mb4_bin",
        _ => "TEXT",
    };
    database.execute(&format!(
        "CREATE TABLE page_counters (path {text} NOT NULL, label {text} NOT NULL, day DATE NOT NULL,
             slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0, stars BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (path, label, day, slot));
         CREATE TABLE hits (id BIGINT PRIMARY KEY, path {text} NOT NULL, label {text} NOT NULL)"
    ));
    database.count(
        r#"
        [[trigger]]
        name = "count_hits"
        rows = "hits"
        count = ["path,label:page_counters.hits"]
        "#,
    );
    database
}

/// A text of these parts, with the character of a code between them.
fn joined(parts: &[&str], code: u8) -> String {
    let parts: Vec<_> = parts.iter().map(|part| format!("'{part}'")).collect();
    match BACKEND {
        "mysql" => format!(
            "CONCAT({})",
            parts.join(&format!(", CHAR({code} USING utf8mb4), "))
        ),
        "postgres" => parts.join(&format!(" || chr({code}) || ")),
        _ => parts.join(&format!(" || char({code}) || ")),
    }
}

#[test]
fn any_text_can_be_a_key() {
    let database = tables();
    let conn = &mut open(&database);
    for (id, path) in [
        joined(&["a", "b"], 31),
        joined(&["a", "b"], 10),
        "''".to_owned(),
        // A line of which the day and the counts would be these.
        joined(&["a", "1970-01-01", "5", "5"], 31),
    ]
    .iter()
    .enumerate()
    {
        conn.run(&format!("INSERT INTO hits VALUES ({id}, {path}, 'x')"));
    }
    conn.run("UPDATE page_counters SET hits = hits + 6");
    let dry = database.command("recount --dry-run --lower --json").json();
    let wrong = dry["triggers"][0]["wrong"].as_array().unwrap().clone();
    assert_eq!(wrong.len(), 4, "{wrong:?}");
    for one in wrong {
        assert_eq!(
            (one["stored"].as_i64(), one["actual"].as_i64()),
            (Some(7), Some(1)),
            "{one}"
        );
    }
    let recounted = database.command("recount --lower");
    recounted.prints("4 counts corrected");
    assert_eq!(
        number("SELECT COUNT(*) FROM page_counters WHERE hits = 7", conn),
        4
    );
    database.assert_agrees();
}

/// A kind of record, whose column takes different texts as equal.
#[test]
fn a_text_of_another_collation_is_counted_by_an_exact_key() {
    texts_are_counted_by_an_exact_key("CREATE INDEX votes_kind ON votes (kind)");
    texts_are_counted_by_an_exact_key("CREATE UNIQUE INDEX votes_kind ON votes (kind, id)");
}

#[track_caller]
fn texts_are_counted_by_an_exact_key(create_index: &str) {
    let (loose, same) = match BACKEND {
        "mysql" => (
            "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            "BINARY kind = BINARY",
        ),
        "postgres" => return, // It compares no two collations.
        _ => ("TEXT COLLATE NOCASE", "kind = "),
    };
    let database = TestDatabase::create();
    let check = check_of("votes");
    database.execute(&format!(
        "CREATE TABLE kind_counters (
             kind {TEXT} NOT NULL, id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             votes BIGINT NOT NULL DEFAULT 0 {check}, PRIMARY KEY (kind, id, day, slot)
         );
         CREATE TABLE votes (id BIGINT PRIMARY KEY, kind {loose}, of_id BIGINT);
         {create_index};
         INSERT INTO votes VALUES (1, 'Post', 1), (7, 'éA', 2), (8, 'éa', 2)"
    ));
    database.count(
        r#"
        [[trigger]]
        name = "count_votes"
        rows = "votes"
        count = ["kind,of_id:kind_counters.votes"]
        "#,
    );
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO votes VALUES (2, 'post', 1), (3, 'Post', 1), (4, 'Post ', 1), (5, 'é', 1), (6, 'post', 1);
         UPDATE votes SET kind = 'POST' WHERE id = 3;
         UPDATE votes SET kind = 'post ' WHERE id = 2;
         DELETE FROM votes WHERE id = 6",
    );
    let of = |kind: &str, conn: &mut _| {
        let sum = format!("CAST(COALESCE(SUM(votes), 0) AS {})", integer());
        number(
            &format!("SELECT {sum} FROM kind_counters WHERE {same} '{kind}'"),
            conn,
        )
    };
    let all = ["Post", "post", "POST", "Post ", "post ", "é", "éA", "éa"];
    let right = [1, 0, 1, 1, 1, 1, 1, 1];
    assert_eq!(all.map(|kind| of(kind, conn)), right);
    database.assert_agrees();
    database.command("check kind_counters").works();
    conn.run("UPDATE kind_counters SET votes = votes + 5");
    database.command("recount --lower").works();
    assert_eq!(all.map(|kind| of(kind, conn)), right);
}

/// A key of MySQL has up to 3072 bytes, and can be no TEXT.
#[test]
fn rows_can_have_longer_texts_than_a_key() {
    let (key, longer) = match BACKEND {
        "mysql" => (
            "VARCHAR(255) COLLATE utf8mb4_bin",
            &[
                "TEXT COLLATE utf8mb4_bin",
                "VARCHAR(1000) COLLATE utf8mb4_bin",
            ][..],
        ),
        _ => ("VARCHAR(255)", &["TEXT"][..]),
    };
    for text in longer {
        let database = TestDatabase::create();
        let check = check_of("hits");
        database.execute(&format!(
            "CREATE TABLE page_counters (path {key} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 hits BIGINT NOT NULL DEFAULT 0 {check}, PRIMARY KEY (path, day, slot));
             CREATE TABLE pages (path {key} NOT NULL PRIMARY KEY, hits INTEGER NOT NULL DEFAULT 0);
             CREATE TABLE hits (id BIGINT PRIMARY KEY, path {text} NOT NULL, at DATE NOT NULL);
             INSERT INTO pages (path) VALUES ('/a'), ('/b');
             INSERT INTO hits VALUES (1, '/a', '2026-01-01'), (2, '/A', '2026-01-01'), (3, '/b', '2026-01-02')"
        ));
        database.count(
            r#"
            [[trigger]]
            name = "count_hits"
            rows = "hits"
            count = ["path:page_counters.hits"]
            day = "at"

            [[trigger]]
            name = "count_pages"
            rows = "hits"
            count = ["path:pages.hits"]
            "#,
        );
        let conn = &mut open(&database);
        conn.run("UPDATE page_counters SET hits = hits + 6; UPDATE pages SET hits = 7");
        for (name, corrected) in [("count_hits", "3 counts"), ("count_pages", "2 counts")] {
            database
                .command(&format!("recount {name} --of /a --dry-run --lower"))
                .prints("1 count would be corrected");
            database
                .command(&format!("recount {name} --lower"))
                .prints(&format!("{corrected} corrected"));
        }
        database.assert_agrees();
    }
}

/// Each line of a dry run names an entity, of which the option takes the values.
#[test]
fn one_entity_can_be_recounted() {
    let database = TestDatabase::create();
    let check = check_of("votes");
    let bytes = match BACKEND {
        "postgres" => "BYTEA",
        "mysql" => "VARBINARY(20)",
        _ => "BLOB",
    };
    database.execute(&format!(
        "CREATE TABLE kind_counters (
             kind {TEXT} NOT NULL, id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             votes BIGINT NOT NULL DEFAULT 0 {check}, PRIMARY KEY (kind, id, day, slot)
         );
         CREATE TABLE hash_counters (
             hash {bytes} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             votes BIGINT NOT NULL DEFAULT 0 {check}, PRIMARY KEY (hash, day, slot)
         );
         CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, votes BIGINT NOT NULL DEFAULT 0);
         INSERT INTO posts (id) VALUES (1), (2), (3);
         CREATE TABLE votes (
             id BIGINT NOT NULL PRIMARY KEY, kind {TEXT} NOT NULL, of_id BIGINT NOT NULL, hash {bytes} NOT NULL
         )"
    ));
    database.count(
        r#"
        [[trigger]]
        name = "count_kinds"
        rows = "votes"
        count = ["kind,of_id:kind_counters.votes", "of_id:posts.votes"]

        [[trigger]]
        name = "count_hashes"
        rows = "votes"
        count = ["hash:hash_counters.votes"]
        "#,
    );
    let conn = &mut open(&database);
    let [one, other] = match BACKEND {
        "postgres" => ["'\\x00ff'", "'\\xab'"],
        _ => ["X'00ff'", "X'ab'"],
    };
    conn.run(&format!(
        "INSERT INTO votes VALUES (1, 'it''s \"x\"', 1, {one}), (2, 'b', 2, {other}),
             (3, 'c, d', 3, {other})"
    ));
    for table in ["kind_counters", "hash_counters", "posts"] {
        conn.run(&format!("UPDATE {table} SET votes = 7"));
    }
    for (name, of, entity) in [
        ("count_kinds", "it's \"x\",1", "it's \"x\", 1"),
        ("count_kinds", "[\"c, d\",\"3\"]", "c, d, 3"),
        ("count_kinds", "2", "2"),
        ("count_kinds", "3", "3"),
        ("count_hashes", "00ff", "00ff"),
    ] {
        let wrong = format!("of {entity}: stored 7, rows 1");
        let recount = ["recount", name, "--of", of, "--lower"];
        let dry = database.run(&[&recount[..], &["--dry-run"]].concat());
        dry.prints("1 count would be corrected");
        dry.prints(&wrong);
        let recounted = database.run(&recount);
        recounted.prints("1 count corrected");
        recounted.prints(&wrong);
        database.run(&recount).prints("all counts agree");
    }
    // The other entities are as they were.
    for (table, key) in [
        ("kind_counters", "kind, id"),
        ("hash_counters", "hash"),
        ("posts", "id"),
    ] {
        let totals = format!("SELECT SUM(votes) AS total FROM {table} GROUP BY {key}");
        let wrong = format!("SELECT COUNT(*) FROM ({totals}) AS totals WHERE total = 7");
        assert_eq!(number(&wrong, conn), 1, "{table}");
    }
    database
        .command("recount count_kinds --of 1,2,3")
        .fails("tables has a key with that many columns");
    database
        .command("recount count_hashes --of xyz")
        .fails("write them as hexadecimal digits");
    assert_eq!(database.command("recount --of 1").code, 2);
}
