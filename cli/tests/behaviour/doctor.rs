//! `doctor` on a table that nobody waits for.

use crate::TestDatabase;

#[test]
fn a_quiet_table_has_no_contention() {
    let database = with_counters();
    let answer = database.run(&["doctor", "article_counters"]);
    answer.works();
    answer.prints("article_counters: no contention");
    let report = database.run(&["doctor", "article_counters", "--json"]);
    let expected = serde_json::json!({
        "table": "article_counters", "contention": false, "waits": [], "not_seen": [],
    });
    assert_eq!((report.code, report.json()), (0, expected));
}

#[test]
fn without_a_table_it_looks_at_all_counter_tables() {
    let database = with_counters();
    database.execute(
        "CREATE TABLE site_counters (
            day DATE NOT NULL, slot SMALLINT NOT NULL, views BIGINT NOT NULL DEFAULT 0,
            PRIMARY KEY (day, slot)
        )",
    );
    let answer = database.run(&["doctor"]);
    answer.works();
    answer.prints("article_counters: no contention");
    answer.prints("site_counters: no contention");
    let report = database.run(&["doctor", "--json"]).json();
    let table = |name: &str| serde_json::json!({ "table": name, "contention": false, "waits": [], "not_seen": [] });
    let tables = [table("article_counters"), table("site_counters")];
    let expected = serde_json::json!({ "contention": false, "tables": tables });
    assert_eq!(report, expected);
}

#[test]
fn a_table_that_is_not_a_counter_table_is_refused() {
    let database = with_counters();
    database.execute(
        "CREATE TABLE published_elsewhere (
            id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL, day DATE NOT NULL,
            slot SMALLINT NOT NULL, views BIGINT NOT NULL DEFAULT 0
        )",
    );
    database.execute("CREATE UNIQUE INDEX by_key ON published_elsewhere (article_id, day, slot)");
    let answer = database.command("doctor published_elsewhere");
    answer.fails("check published_elsewhere");
}

/// The waits of one look, each as its kind and what is waited for.
pub fn waits(report: &serde_json::Value) -> Vec<[&str; 2]> {
    let waits = report["waits"].as_array().unwrap().iter();
    waits
        .map(|wait| ["kind", "on"].map(|key| wait[key].as_str().unwrap()))
        .collect()
}

/// A database with a counter table of no foreign key.
pub fn with_counters() -> TestDatabase {
    let database = TestDatabase::create();
    database.create_counters("article_counters", "article_id BIGINT");
    database
}
