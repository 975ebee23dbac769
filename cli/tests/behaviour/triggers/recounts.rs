//! Keys of any text in a recount.

use super::{create_triggers, number, open};
use crate::TestDatabase;
use crate::behaviour::Execute;

/// Tables of pages by a text, and rows of them.
fn tables() -> TestDatabase {
    let database = TestDatabase::create();
    let text = match crate::BACKEND {
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
    match crate::BACKEND {
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
