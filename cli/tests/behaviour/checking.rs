//! `check`.

use serde_json::json;

use super::assert_snapshot;
use crate::{BACKEND, BAD, HAS_SLOTS, TestDatabase};

#[test]
fn a_good_table_is_good() {
    let database = TestDatabase::with_article_counters();
    for args in [vec!["check"], vec!["check", "article_counters"]] {
        let checked = database.run(&args);
        let expected = (0, "article_counters: good");
        assert_eq!((checked.code, checked.summary()), expected);
    }
    let checked = database.run(&["check", "--json"]);
    let expected = json!({
        "good": true,
        "tables": [{"table": "article_counters", "good": true, "faults": []}],
    });
    assert_eq!((checked.code, checked.json()), (0, expected));
}

#[test]
fn each_fault_is_found_priced_and_has_a_remedy() {
    let database = TestDatabase::create();
    database.execute(BAD);
    let checked = database.run(&["check"]);
    assert_eq!(checked.code, 3);
    // MariaDB says how wide a number is displayed.
    let printed = checked
        .stdout
        .replace("int(11)", "int")
        .replace("bigint(20)", "bigint")
        .replace("mediumint(8)", "mediumint");
    assert_snapshot("check", &printed);
}

#[test]
fn a_table_that_is_named_is_checked_alone() {
    let database = TestDatabase::create();
    database.execute(BAD);
    let checked = database.run(&["check", "key_order_counters", "--json"]);
    assert_eq!(checked.code, 3);
    let json = checked.json();
    assert_eq!(json["tables"].as_array().unwrap().len(), 1);
    let fault = &json["tables"][0]["faults"][0];
    assert_eq!(
        (&fault["fault"], &fault["severity"]),
        (&"key_order".into(), &"slow".into())
    );

    let checked = database.run(&["check", "articles"]);
    assert_eq!(checked.code, 3);
    assert!(
        checked.stdout.contains("no columns of a day and a slot"),
        "{}",
        checked.stdout
    );
}

#[test]
fn what_it_says_to_run_leaves_no_such_fault() {
    let database = TestDatabase::create();
    database.execute(BAD);
    let with_sql = || {
        let checked = database.run(&["check", "--json"]).json();
        let tables = checked["tables"].as_array().unwrap().iter();
        let faults = tables.flat_map(|table| table["faults"].as_array().unwrap().clone());
        // A note can come when the faults are gone, and a SELECT changes nothing.
        let is_told = |fault: &serde_json::Value| {
            let sql = fault["sql"][0].as_str().unwrap_or("SELECT");
            fault["severity"] != "note" && !sql.starts_with("SELECT")
        };
        faults.filter(is_told).collect::<Vec<_>>()
    };
    for fault in with_sql() {
        let statement = fault["sql"][0].as_str().unwrap();
        database.execute(&statement.replace('…', "''"));
    }
    assert_eq!(with_sql(), Vec::<serde_json::Value>::new());
}

#[test]
fn columns_that_count_nothing_are_left_alone() {
    let database = TestDatabase::with_article_counters();
    database.execute("ALTER TABLE article_counters ADD COLUMN editor_id INTEGER");
    database
        .execute("ALTER TABLE article_counters ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'x'");
    let checked = database.run(&["check"]);
    assert_eq!(checked.summary(), "article_counters: good");
}

/// What the parent's key takes for one is one entity.
#[test]
fn a_text_key_of_the_collation_of_what_it_refers_to_is_good() {
    let database = TestDatabase::create();
    let text = match BACKEND {
        "sqlite" => "TEXT COLLATE NOCASE",
        "postgres" => "TEXT COLLATE loose",
        _ => "VARCHAR(50) COLLATE utf8mb4_general_ci",
    };
    if BACKEND == "postgres" {
        database.execute(
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        );
    }
    let check = match HAS_SLOTS {
        true => "",
        false => " CHECK (typeof(hits) = 'integer')",
    };
    database.execute(&format!(
        "CREATE TABLE pages (path {text} NOT NULL PRIMARY KEY);
         CREATE TABLE page_counters (
             path {text} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             hits BIGINT NOT NULL DEFAULT 0{check}, PRIMARY KEY (path, day, slot),
             FOREIGN KEY (path) REFERENCES pages (path)
         )"
    ));
    let checked = database.run(&["check", "page_counters"]);
    assert_eq!(checked.summary(), "page_counters: good");
}

#[test]
fn a_database_without_counter_tables_says_how_to_make_one() {
    let database = TestDatabase::create();
    let checked = database.run(&["check"]);
    assert_eq!((checked.code, checked.stdout.as_str()), (1, ""));
    assert!(
        checked.stderr.contains("generate migration"),
        "{}",
        checked.stderr
    );
}

#[test]
fn tables_that_only_look_alike_are_left_alone() {
    let database = TestDatabase::with_article_counters();
    database.execute(
        "CREATE TABLE bookings (
             room_id SMALLINT NOT NULL, day DATE NOT NULL, guest_id BIGINT NOT NULL,
             PRIMARY KEY (day, room_id)
         );
         CREATE TABLE visits (
             doctor_id BIGINT NOT NULL, day DATE NOT NULL, time_slot SMALLINT NOT NULL,
             patient_id BIGINT NOT NULL, PRIMARY KEY (doctor_id, day, time_slot)
         );
         CREATE TABLE prices (
             product_id BIGINT NOT NULL, valid_date DATE NOT NULL, tier SMALLINT NOT NULL,
             price NUMERIC(10, 2) NOT NULL, PRIMARY KEY (product_id, valid_date, tier)
         )",
    );
    let checked = database.run(&["check"]);
    assert_eq!(checked.summary(), "article_counters: good");

    let checked = database.run(&["check", "prices"]);
    let says = &checked.stdout;
    assert!(
        !says.contains("BIGINT") && !says.contains("BEGIN"),
        "{says}"
    );
}

#[test]
fn what_the_database_computes_is_no_counter() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE page_counters (
             day DATE NOT NULL, slot SMALLINT NOT NULL,
             views BIGINT NOT NULL DEFAULT 0 CHECK (typeof(views) = 'integer'),
             twice BIGINT GENERATED ALWAYS AS (views * 2) STORED, PRIMARY KEY (day, slot)
         )"
        .replace(
            if HAS_SLOTS {
                " CHECK (typeof(views) = 'integer')"
            } else {
                "none"
            },
            "",
        )
        .as_str(),
    );
    let checked = database.run(&["check"]);
    assert_eq!(checked.summary(), "page_counters: good");
    let shown = database.run(&["show", "page_counters", "--json"]).json();
    assert_eq!(shown["counters"].as_array().unwrap().len(), 1);
}

#[test]
fn a_table_without_a_counter_has_a_note() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE article_counters (
            id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            views INTEGER NOT NULL, PRIMARY KEY (id, day, slot)
        )",
    );
    let report = database
        .run(&["check", "article_counters", "--json"])
        .json();
    let faults = report["tables"][0]["faults"].as_array().unwrap();
    assert!(
        faults.iter().any(|fault| fault["fault"] == "no_counter"),
        "{report}"
    );
}

#[test]
fn a_default_that_begins_as_null_does_is_one() {
    let database = TestDatabase::with_article_counters();
    let add =
        "ALTER TABLE article_counters ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'nullable'";
    database.execute(add);
    let checked = database.run(&["check", "article_counters"]);
    assert_eq!(checked.summary(), "article_counters: good", "{checked:?}");
}
