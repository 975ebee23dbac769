//! `check`.

use serde_json::json;

use super::triggers::{count_likes, drop_trigger};
use super::{assert_snapshot, check_of, quote};
use crate::{BACKEND, BAD, TestDatabase};

#[test]
fn a_good_table_is_good() {
    let database = TestDatabase::with_article_counters();
    for words in ["check", "check article_counters"] {
        database.command(words).is_good("article_counters");
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
    // MariaDB says how wide a number is displayed, and a line ends before that.
    let printed = checked.stdout.replace("bigint(20)", "bigint");
    let printed = printed.replace("smallint(6)", "smallint");
    let printed = printed.replace("slot\n         smallint", "slot smallint");
    assert_snapshot("check", &printed);
}

#[test]
fn a_table_that_is_named_is_checked_alone() {
    let database = TestDatabase::create();
    database.execute(BAD);
    let checked = database.command("check key_order_counters --json");
    checked.finds("\"key\"");
    assert_eq!(checked.json()["tables"].as_array().unwrap().len(), 1);
    let [fault, severity] = ["fault", "severity"].map(|key| checked.faults()[0][key].clone());
    assert_eq!([fault, severity], ["key", "wrong"]);

    let checked = database.command("check articles");
    checked.finds("It isn't a counter table");
}

#[test]
fn what_it_says_to_run_leaves_no_such_fault() {
    let database = TestDatabase::create();
    database.execute(BAD);
    let with_sql = || {
        // A note can come when the faults are gone.
        let mut faults = database.faults();
        // A SELECT changes nothing.
        faults.retain(|fault| {
            let sql = fault["sql"][0].as_str().unwrap_or("SELECT");
            !sql.starts_with("SELECT")
        });
        faults
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
    // A default that begins as NULL does is one.
    let note = "note VARCHAR(20) NOT NULL DEFAULT 'nullable'";
    database.execute(&format!("ALTER TABLE article_counters ADD COLUMN {note}"));
    database.command("check").is_good("article_counters");
}

/// One note, beside what is wrong.
#[test]
fn triggers_that_the_application_has_are_named() {
    let database = super::triggers::counted_likes();
    database.execute(&super::own_triggers::veto("article_counters", "UPDATE"));
    database.execute(&drop_trigger("count_likes_insert", "article_likes"));
    let faults = database.command("check --json").all_faults();
    let of_triggers = ["other_triggers", "trigger_missing"];
    let names = faults.iter().map(|fault| fault["fault"].as_str().unwrap());
    let names = names.filter(|name| of_triggers.contains(name));
    assert_eq!(Vec::from_iter(names), of_triggers);
    assert_eq!(
        faults[0]["what"],
        "article_counters has triggers or rules that counters.toml doesn't name: veto."
    );
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
    let check = check_of("hits");
    database.execute(&format!(
        "CREATE TABLE pages (path {text} NOT NULL PRIMARY KEY);
         CREATE TABLE page_counters (
             path {text} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             hits BIGINT NOT NULL DEFAULT 0 {check}, PRIMARY KEY (path, day, slot),
             FOREIGN KEY (path) REFERENCES pages (path)
         )"
    ));
    let checked = database.command("check page_counters");
    checked.is_good("page_counters");
}

#[test]
fn a_database_without_counter_tables_says_how_to_make_one() {
    let database = TestDatabase::create();
    let checked = database.command("check");
    checked.fails("generate migration");
    assert_eq!(checked.stdout, "");
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
    let checked = database.command("check");
    checked.is_good("article_counters");
    assert_eq!(checked.stderr, "");
}

/// Its counters are neither `NOT NULL DEFAULT 0` nor in a table of the usual name.
#[test]
fn a_table_with_the_key_of_counters_that_is_not_checked_is_named() {
    let database = TestDatabase::with_article_counters();
    database.execute(
        "CREATE TABLE article_stats (
            id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            views BIGINT NOT NULL, PRIMARY KEY (id, day, slot)
        )",
    );
    let checked = database.command("check");
    checked.is_good("article_counters");
    let says = "article_stats has the key of a counter table";
    assert!(checked.stderr.contains(says), "{checked:?}");
    let of_one = database.command("check article_counters");
    assert_eq!(of_one.stderr, "");
}

#[test]
fn what_the_database_computes_is_no_counter_and_not_lost() {
    let database = TestDatabase::create();
    let check = check_of("views");
    database.execute(&format!(
        "CREATE TABLE page_counters (
             day DATE NOT NULL, slot SMALLINT NOT NULL, views BIGINT NOT NULL DEFAULT 0 {check},
             twice BIGINT GENERATED ALWAYS AS (views * 2) STORED, PRIMARY KEY (day, slot)
         );
         INSERT INTO page_counters (day, slot, views) VALUES ('2026-01-01', 1, 5), ('2026-01-01', 2, 5)"
    ));
    database.command("check").is_good("page_counters");
    let merged = database.command("compact page_counters --json");
    assert_eq!(merged.json()["merged_rows"], 2, "{}", merged.stderr);
    assert_eq!(database.rows_and_sum("page_counters", "views"), (1, 10));
}

#[test]
fn a_table_without_a_counter_is_found() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE article_counters (
            id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            views INTEGER NOT NULL, PRIMARY KEY (id, day, slot)
        )",
    );
    let faults = database.command("check article_counters --json").faults();
    let fault = faults.iter().find(|one| one["fault"] == "column");
    assert_eq!(fault.unwrap()["severity"], "wrong", "{faults:?}");
}

#[test]
fn a_table_with_a_column_that_is_counted_in_is_good() {
    let database = super::triggers::tables(true);
    database.execute("ALTER TABLE articles ADD COLUMN likes BIGINT NOT NULL DEFAULT 0");
    database.count(&count_likes("count = ['article_id:articles.likes']"));
    let checked = database.command("check articles");
    checked.is_good("articles");
    checked.prints("article_likes: good");
    // Nothing is counted in its rows.
    database
        .command("check users")
        .finds("It isn't a counter table");
}

/// Many tables that count nothing have a day and a small number in the key.
#[test]
fn a_table_that_is_checked_by_its_name_only_is_named() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE article_stats (
            id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            views BIGINT NOT NULL, PRIMARY KEY (id, day, slot)
        )",
    );
    let checked = database.command("check");
    checked.fails("its counter tables are article_stats");
    assert!(!checked.stderr.contains("no counter table"), "{checked:?}");
    database
        .command("check article_stats")
        .finds("views is NOT NULL and has no default");
}

#[test]
fn triggers_that_count_in_a_table_with_a_point_in_its_name_are_checked() {
    let database = super::triggers::tables(true);
    let q = quote();
    database.execute(&format!(
        "ALTER TABLE article_counters RENAME TO {q}my.counters{q}"
    ));
    database.count(&count_likes("count = ['article_id:my.counters.likes']"));
    database.command("check my.counters").works();
    database.execute(&drop_trigger("count_likes_insert", "article_likes"));
    database
        .command("check my.counters")
        .finds("count_likes_insert");
}
