//! Keys of any text in a recount.

use super::{create_triggers, integer, number, open};
use crate::behaviour::{Execute, check_of};
use crate::{BACKEND, TestDatabase};

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
    let counts = ["--count", "path,label:page_counters.hits"];
    create_triggers(&database, "count_hits --rows hits", &counts);
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
    let dry = database.command("recount --dry-run --json").json();
    let wrong = dry["triggers"][0]["wrong"].as_array().unwrap().clone();
    assert_eq!(wrong.len(), 4, "{wrong:?}");
    for one in wrong {
        assert_eq!(
            (one["stored"].as_i64(), one["actual"].as_i64()),
            (Some(7), Some(1)),
            "{one}"
        );
    }
    database.command("recount").prints("4 counts corrected");
    assert_eq!(
        number("SELECT COUNT(*) FROM page_counters WHERE hits = 7", conn),
        4
    );
    database.assert_agrees();
}

/// A kind of record, whose column takes different texts as equal.
#[test]
fn a_text_of_another_collation_is_counted_by_an_exact_key() {
    let (exact, loose, same) = match BACKEND {
        "mysql" => (
            "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE /*!80017 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */",
            "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
            "BINARY kind = BINARY",
        ),
        "postgres" => return, // It compares no two collations.
        _ => ("TEXT", "TEXT COLLATE NOCASE", "kind = "),
    };
    let database = TestDatabase::create();
    let check = check_of("votes");
    database.execute(&format!(
        "CREATE TABLE kind_counters (
             kind {exact} NOT NULL, id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             votes BIGINT NOT NULL DEFAULT 0 {check}, PRIMARY KEY (kind, id, day, slot)
         );
         CREATE TABLE votes (id BIGINT PRIMARY KEY, kind {loose}, of_id BIGINT);
         CREATE INDEX votes_kind ON votes (kind);
         INSERT INTO votes VALUES (1, 'Post', 1)"
    ));
    if BACKEND == "sqlite" {
        // Its catalogue has the collations of unique indexes only.
        database.execute("CREATE UNIQUE INDEX votes_once ON votes (kind, id)");
    }
    let words = "count_votes --rows votes --count kind,of_id:kind_counters.votes";
    create_triggers(&database, words, &[]);
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
    let all = ["Post", "post", "POST", "Post ", "post ", "é"];
    let right = [1, 0, 1, 1, 1, 1];
    assert_eq!(all.map(|kind| of(kind, conn)), right);
    database.assert_agrees();
    database.command("check kind_counters").works();
    conn.run("UPDATE kind_counters SET votes = votes + 5");
    database.command("recount").works();
    assert_eq!(all.map(|kind| of(kind, conn)), right);
}
