//! `doctor` on a table that nobody waits for.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::TestDatabase;

#[test]
fn a_quiet_table_has_no_contention() {
    let database = with_counters();
    let answer = database.run(&["doctor", "article_counters"]);
    assert_eq!(answer.code, 0, "{answer:?}");
    assert!(
        answer.stdout.contains("No contention at this look"),
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
        (&watch["waits"], &watch["looks_with_contention"]),
        (&0.into(), &0.into())
    );
    assert!(watch["looks"].as_u64() > Some(0), "{watch}");
    // It is printed only if everything could be seen.
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
    assert!(report["watch"]["looks"].is_number(), "{report}");
}

#[test]
fn slots_are_those_of_the_last_day() {
    let database = with_counters();
    database.execute(
        "INSERT INTO article_counters VALUES
            (1, '2020-02-01', 1, 5), (1, '2020-02-01', 2, 15), (2, '2020-02-01', 9, 20), (2, '2020-02-01', 1, 40),
            (1, '2020-01-31', 7, 99)",
    );
    let report = database
        .run(&["doctor", "article_counters", "--json"])
        .json();
    assert_eq!(report["day"], "2020-02-01");
    let slots = serde_json::json!([
        { "slot": 1, "row_count": 2, "share": 0.5625 },
        { "slot": 9, "row_count": 1, "share": 0.25 },
        { "slot": 2, "row_count": 1, "share": 0.1875 },
    ]);
    assert_eq!(report["slots"], slots);

    let answer = database.run(&["doctor", "article_counters"]);
    let chart = "
slots of 2020-02-01
  slot  rows  share
     1     2    56%  ██████████████████████████████
     9     1    25%  █████████████▎
     2     1    19%  █████████▉
";
    assert!(answer.stdout.contains(chart), "{answer:?}");
}

#[test]
fn slots_without_a_count_have_no_share() {
    let database = with_counters();
    let report = || {
        let answer = database.run(&["doctor", "article_counters", "--json"]);
        answer.json()["slots"].clone()
    };
    assert_eq!(report(), serde_json::json!([]));
    database.execute("INSERT INTO article_counters VALUES (1, '2020-02-01', 1, 0)");
    let slots = serde_json::json!([{ "slot": 1, "row_count": 1, "share": null }]);
    assert_eq!(report(), slots);
}

#[test]
fn a_table_that_is_not_a_counter_table_is_refused() {
    let database = with_counters();
    database
        .execute("CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, views BIGINT NOT NULL)");
    database.execute(
        "CREATE TABLE published_elsewhere (
            id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL, day DATE NOT NULL,
            slot SMALLINT NOT NULL, views BIGINT NOT NULL DEFAULT 0
        )",
    );
    database.execute("CREATE UNIQUE INDEX by_key ON published_elsewhere (article_id, day, slot)");
    for table in ["articles", "published_elsewhere"] {
        let answer = database.run(&["doctor", table]);
        assert_eq!(answer.code, 1, "{answer:?}");
        let check = format!("check {table}");
        assert!(answer.stderr.contains(&check), "{answer:?}");
    }
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
    database
}
