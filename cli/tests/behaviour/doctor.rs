//! `doctor` on a table that nobody waits for.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::{BYTES, DROP_INDEX, HAS_SLOTS, TestDatabase};

#[test]
fn a_quiet_table_has_no_contention() {
    let database = with_counters();
    let answer = database.run(&["doctor", "article_counters"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(
        answer.stdout.contains("Nobody waited at this look"),
        "{answer:?}"
    );
}

#[test]
fn json_is_one_document_of_the_whole_report() {
    let database = with_counters();
    let answer = database.run(&["doctor", "article_counters", "--json"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let report = answer.json();
    assert_eq!(report["table"], "article_counters");
    assert_eq!(report["contention"], false);
    assert_eq!(report["waits"], serde_json::json!([]));
    assert_eq!(advice(&report), ["none"]);
}

#[test]
fn a_watch_of_a_quiet_table_sees_nothing() {
    let database = with_counters();
    let answer = database.run(&["doctor", "article_counters", "--watch", "1", "--json"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    let report = answer.json();
    let watch = &report["watch"];
    assert_eq!(
        (&watch["waits"], &watch["samples_with_contention"]),
        (&0.into(), &0.into())
    );
    assert!(watch["samples"].as_u64() > Some(0), "{watch}");
    // Where something may not have been seen, it is not said.
    let what = report["advice"][0]["what"].as_str().unwrap();
    let says = what.contains("Counters are not what is slow");
    assert_eq!(
        says,
        report["not_seen"] == serde_json::json!([]),
        "{report}"
    );
}

#[cfg(unix)]
#[test]
fn a_watch_that_is_interrupted_prints_what_it_saw() {
    let database = with_counters();
    let mut watch = Command::new(env!("CARGO_BIN_EXE_diesel-counters"))
        .args(["doctor", "article_counters", "--watch", "86400", "--json"])
        .env("DATABASE_URL", database.url())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(watch.stderr.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert!(line.contains("Ctrl-C"), "{line}");
    let interrupted = Command::new("kill")
        .args(["-INT", &watch.id().to_string()])
        .status();
    assert!(interrupted.unwrap().success());
    let output = watch.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(report["watch"]["samples"].is_number(), "{report}");
}

#[test]
fn an_index_on_a_counter_is_to_be_dropped() {
    let database = with_counters();
    database.execute("CREATE INDEX most_viewed ON article_counters (views)");
    let answer = database.run(&["doctor", "article_counters"]);
    // It is no contention.
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(answer.stdout.contains(DROP_INDEX), "{answer:?}");
    let report = database
        .run(&["doctor", "article_counters", "--json"])
        .json();
    assert_eq!(report["advice"][0]["sql"], serde_json::json!([DROP_INDEX]));

    database.execute(DROP_INDEX);
    let answer = database.run(&["doctor", "article_counters"]);
    assert!(!answer.stdout.contains("most_viewed"), "{answer:?}");
}

#[test]
fn a_second_unique_index_and_another_primary_key_are_told() {
    let database = with_counters();
    database.execute(
        "CREATE TABLE published_elsewhere (
            id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL, day DATE NOT NULL,
            slot SMALLINT NOT NULL, views BIGINT NOT NULL DEFAULT 0
        )",
    );
    database.execute("CREATE UNIQUE INDEX by_key ON published_elsewhere (article_id, day, slot)");
    database.execute("CREATE UNIQUE INDEX by_id ON published_elsewhere (id, day)");
    let report = database
        .run(&["doctor", "published_elsewhere", "--json"])
        .json();
    assert_eq!(advice(&report), ["drop_unique_index", "primary_key"]);
    let what = report["advice"][1]["what"].to_string();
    assert!(what.contains("(article_id, day, slot)"), "{what}");
}

#[test]
fn slots_are_counted_by_day() {
    let database = with_counters();
    database.execute("INSERT INTO article_counters VALUES
            (1, '2020-02-01', 1, 5), (1, '2020-02-01', 2, 15), (2, '2020-02-01', 9, 20), (2, '2020-02-01', 1, 40),
            (1, '2020-01-31', 7, 99)",
    );
    let report = database
        .run(&["doctor", "article_counters", "--json"])
        .json();
    let [today, last] = &report["days"].as_array().unwrap()[..] else {
        panic!("{report}")
    };
    assert_eq!(
        (&today["rows"], &today["busiest"]),
        (&0.into(), &serde_json::Value::Null)
    );
    assert_eq!(
        last,
        &serde_json::json!({
            "day": "2020-02-01", "rows": 4, "entities": 2, "slots_in_use": 3, "highest_slot": 9,
            "fullest_slot": 1, "fullest_share": 0.5625,
            "busiest": { "entity": "2", "slots_in_use": 2, "fullest_share": 40.0 / 60.0 },
        })
    );
}

#[test]
fn a_key_of_bytes_is_told_as_hexadecimal_digits() {
    let database = TestDatabase::create();
    let [bytes, key] = BYTES;
    database.execute(&format!(
        "CREATE TABLE url_counters (
            hash {bytes} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (hash, day, slot)
        )"
    ));
    let insert = format!("INSERT INTO url_counters VALUES ({key}, '2020-02-01', 1, 5)");
    database.execute(&insert);
    let report = database.run(&["doctor", "url_counters", "--json"]).json();
    assert_eq!(report["days"][1]["busiest"]["entity"], "00ff", "{report}");
}

#[test]
fn a_key_has_no_power_over_the_terminal() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE url_counters (
            url VARCHAR(99) NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (url, day, slot)
        )",
    );
    database.execute("INSERT INTO url_counters VALUES ('/\u{1b}[2J\n', '2020-02-01', 1, 5)");
    let answer = database.run(&["doctor", "url_counters"]);
    let key = r"busiest is entity /\u{1b}[2J\n: slots";
    assert!(answer.stdout.contains(key), "{answer:?}");
    assert!(!answer.stdout.contains('\u{1b}'), "{answer:?}");
}

#[test]
fn a_table_that_counts_in_no_slots_is_refused() {
    let database = with_counters();
    database
        .execute("CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, views BIGINT NOT NULL)");
    let answer = database.run(&["doctor", "articles"]);
    assert_eq!(answer.code, 1, "{answer:?}");
    assert!(answer.stderr.contains("check articles"), "{answer:?}");
}

/// The names of what is advised.
pub fn advice(report: &serde_json::Value) -> Vec<&str> {
    let advice = report["advice"].as_array().unwrap();
    advice
        .iter()
        .map(|advice| advice["name"].as_str().unwrap())
        .collect()
}

/// A database with a counter table of no foreign key.
pub fn with_counters() -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE article_counters (
            article_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, day, slot)
        )",
    );
    // Without it there would be an advice more.
    if !HAS_SLOTS {
        database.execute("PRAGMA journal_mode = WAL");
    }
    database
}
