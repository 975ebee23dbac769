//! `compact` and `fold`.

use diesel::prelude::*;
use diesel::sql_types::Text;
use serde_json::json;

use super::{Ran, quote};
use crate::{BACKEND, BYTES, TestDatabase, UUID};

/// Articles 1 and 2 in five slots of three days.
fn with_slots() -> TestDatabase {
    let database = TestDatabase::with_article_counters();
    for day in ["2026-01-01", "2026-01-02", "2026-02-01"] {
        for slot in 1..=5 {
            for id in [1, 2] {
                database.execute(&format!(
                    "INSERT INTO article_counters VALUES ({id}, '{day}', {slot}, {id}, 1, 0)"
                ));
            }
        }
    }
    database
}

fn rows_and_views(database: &TestDatabase) -> (i64, i64) {
    database.rows_and_sum("article_counters", "views")
}

#[test]
fn compact_merges_the_slots_of_days() {
    let database = with_slots();
    assert_eq!(rows_and_views(&database), (30, 45));
    let dry = database.command("compact article_counters --dry-run");
    dry.prints(": 30 rows before 20");
    assert_eq!(rows_and_views(&database), (30, 45));

    let some = database.command("compact article_counters --before 2026-01-02 --batch 3");
    assert_eq!((some.code, some.stderr.as_str()), (0, ""));
    some.prints("article_counters: 10 rows before 2026-01-02 merged, 0 left");
    assert_eq!(rows_and_views(&database), (22, 45));

    let rest = database.command("compact article_counters --json").json();
    let (merged, left) = (&rest["merged_rows"], &rest["rows_left"]);
    assert_eq!((merged, left), (&json!(20), &json!(0)));
    assert_eq!(rest["already_running"], false);
    assert_eq!(rows_and_views(&database), (6, 45));
}

#[test]
fn fold_keeps_the_totals() {
    let database = with_slots();
    let fold = "fold article_counters --before 2026-02-01";
    // Both days are of January.
    for (into, left) in [("total", 20), ("month", 20), ("year", 0)] {
        let dry = database.command(&format!("{fold} --into {into} --dry-run --json"));
        assert_eq!(dry.json()["rows_left"], left, "{into}");
    }
    let folded = database.command(fold);
    folded.prints("20 rows before 2026-02-01 merged");
    assert_eq!(rows_and_views(&database), (12, 45));
    for wrong in ["", " --before 2026-02-01 --into day"] {
        let wrong = format!("fold article_counters{wrong}");
        assert_eq!(database.command(&wrong).code, 2);
    }
}

#[test]
fn a_key_of_any_type_and_a_site_are_merged() {
    let database = TestDatabase::create();
    let time = if BACKEND == "mysql" {
        "DATETIME(6)"
    } else {
        "TIMESTAMP"
    };
    for (name, [sql_type, key]) in [
        ("by_text", ["VARCHAR(50)", "'/a b''c'"]),
        ("by_integer", ["INTEGER", "-5"]),
        ("by_small", ["SMALLINT", "-5"]),
        ("by_bytes", BYTES),
        ("by_uuid", UUID),
        ("by_date", ["DATE", "'2026-01-31'"]),
        // One that Diesel would write in another way.
        ("by_time", [time, "'2026-01-31 10:00:00.000100'"]),
        ("of_site", [""; 2]),
    ] {
        let [column, entity, key] = match key {
            "" => ["", "", ""].map(str::to_owned),
            key => [&format!("entity {sql_type} NOT NULL"), "entity", key].map(|s| format!("{s},")),
        };
        database.execute(&format!(
            "CREATE TABLE {name} ({column} day DATE NOT NULL, slot SMALLINT NOT NULL,
                 hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY ({entity} day, slot));
             INSERT INTO {name} VALUES ({key} '2026-01-01', 1, 1), ({key} '2026-01-01', 2, 1),
                 ({key} '2026-01-02', 1, 1), ({key} '2026-01-02', 2, 1)"
        ));
        let merged = database.run(&["compact", name, "--batch", "1", "--json"]);
        assert_eq!(merged.code, 0, "{name}: {}", merged.stderr);
        assert_eq!(merged.json()["merged_rows"], 4, "{name}");
        assert_eq!(database.rows_and_sum(name, "hits"), (2, 4), "{name}");
        let folded = database.command(&format!("fold {name} --before 2026-02-01 --json"));
        assert_eq!(folded.json()["merged_rows"], 2, "{name}");
    }
}

#[test]
fn what_is_no_counter_or_may_be_null_is_not_merged_away() {
    for (likes, says) in [
        ("INTEGER", "like_counters.likes is not a counter"),
        ("BIGINT", "diesel-counters check like_counters"),
    ] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE like_counters (entity BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 likes {likes}, views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (entity, day, slot));
             INSERT INTO like_counters VALUES (1, '2026-01-01', 1, 5, 1), (1, '2026-01-01', 2, 5, 1)"
        ));
        database.command("compact like_counters").fails(says);
        assert_eq!(database.rows_and_sum("like_counters", "likes"), (2, 10));
    }
}

/// Five slots of a day of the site, which counts by this period.
fn create_site_counters(database: &TestDatabase, period: &str) {
    database.execute(
        "CREATE TABLE site_counters (
             day DATE NOT NULL, slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (day, slot)
         )",
    );
    for slot in 1..=5 {
        database.execute(&format!(
            "INSERT INTO site_counters VALUES ('2025-01-01', {slot}, 1)"
        ));
    }
    database.set_period("site_counters", period);
}

#[test]
fn without_a_table_all_counter_tables_are_merged() {
    let database = with_slots();
    create_site_counters(&database, "day");
    // It has a day and a slot in its key, and no counter.
    database.execute(
        "CREATE TABLE shifts (day DATE NOT NULL, slot SMALLINT NOT NULL, hours BIGINT NOT NULL,
             PRIMARY KEY (day, slot))",
    );
    let dry = database.command("compact --dry-run --before 2026-01-02");
    dry.works();
    let would_be = "rows before 2026-01-02 would be merged\n";
    assert_eq!(
        dry.stdout,
        format!("article_counters: 10 {would_be}site_counters: 5 {would_be}")
    );
    let merged = database.command("compact --json");
    merged.works();
    let merged = merged.json();
    let merged = merged["tables"].as_array().unwrap().iter();
    let merged: Vec<_> = merged
        .map(|one| (one["table"].as_str().unwrap(), one["merged_rows"].as_i64()))
        .collect();
    assert_eq!(
        merged,
        [("article_counters", Some(30)), ("site_counters", Some(5))]
    );
    assert_eq!(database.rows_and_sum("site_counters", "hits"), (1, 5));
}

/// In one row, takes would wait for each other.
#[test]
fn a_stock_is_only_merged_by_its_name() {
    let database = with_slots();
    let mark = "diesel_counters: period = total, stock = (units)";
    database.execute(&format!(
        "CREATE TABLE tickets (
             -- {mark}
             day DATE NOT NULL, slot SMALLINT NOT NULL,
             units BIGINT NOT NULL DEFAULT 0 CHECK (units >= 0), PRIMARY KEY (day, slot));
         INSERT INTO tickets VALUES ('1970-01-01', 1, 5), ('1970-01-01', 2, 5)"
    ));
    match BACKEND {
        "postgres" => database.execute(&format!("COMMENT ON COLUMN tickets.day IS '{mark}'")),
        "mysql" => database.execute(&format!(
            "ALTER TABLE tickets MODIFY day DATE NOT NULL COMMENT '{mark}'"
        )),
        _ => {}
    }
    for command in ["compact", "fold --before 2026-01-01"] {
        let merged = database.command(command);
        merged.works();
        assert!(merged.stderr.contains("tickets has a stock"), "{merged:?}");
        assert_eq!(database.rows_and_sum("tickets", "units"), (2, 10));
    }
    database.command("compact tickets").works();
    assert_eq!(database.rows_and_sum("tickets", "units"), (1, 10));
}

/// It has a column that a merge would lose.
#[test]
fn a_table_that_fails_does_not_keep_the_others_from_being_merged() {
    let database = with_slots();
    database.execute(
        "CREATE TABLE a_counters (day DATE NOT NULL, slot SMALLINT NOT NULL,
             hits BIGINT NOT NULL DEFAULT 0, note INTEGER, PRIMARY KEY (day, slot))",
    );
    let merged = database.command("compact");
    merged.fails("a_counters: a_counters.note is not a counter");
    merged.prints("article_counters: 30 rows before");
    assert_eq!(rows_and_views(&database), (6, 45));
}

/// A table that counts by years has no months.
#[test]
fn a_fold_of_all_tables_leaves_those_that_count_by_a_longer_period() {
    let database = with_slots();
    create_site_counters(&database, "year");
    let fold = "fold --before 2026-02-01 --into month";
    let folded = database.command(fold);
    folded.works();
    folded.prints("article_counters: 20 rows before 2026-02-01 merged");
    folded.prints("site_counters: nothing to fold, because it counts by year\n");
    assert_eq!(database.rows_and_sum("site_counters", "hits"), (5, 5));
    let json = database.command(&format!("{fold} --json")).json();
    let longer = json["tables"].as_array().unwrap().iter();
    let longer: Vec<_> = longer.map(|one| one["longer_period"].as_str()).collect();
    assert_eq!(longer, [None, Some("year")]);
    // By its name, it is a mistake.
    database
        .command("fold site_counters --before 2026-02-01 --into month")
        .fails("site_counters has the period year");
    // Each table has a period of its own.
    assert_eq!(database.command(&format!("{fold} --period day")).code, 2);
}

/// Only the rows of one of two spellings are merged, which no other run changes.
#[test]
fn rows_whose_keys_a_collation_takes_as_equal_are_left_and_told() {
    let loose = match BACKEND {
        "mysql" => "VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
        "sqlite" => "TEXT COLLATE NOCASE",
        _ => return,
    };
    let database = TestDatabase::create();
    database.create_counters("tag_counters", &format!("tag {loose}"));
    database.execute(
        "INSERT INTO tag_counters VALUES ('Foo', '2025-01-01', 1, 1), ('foo', '2025-01-01', 2, 1)",
    );
    for merged in [1, 0] {
        let ran = database.command("compact tag_counters");
        ran.works();
        ran.prints(&format!("tag_counters: {merged} rows before"));
        ran.prints("merged, 1 left; ");
        let words: Vec<_> = ran.stdout.split_whitespace().collect();
        assert!(
            words
                .join(" ")
                .contains("the collation of tag treats them as equal"),
            "{ran:?}"
        );
    }
    assert_eq!(database.rows_and_sum("tag_counters", "views"), (2, 2));
}

#[test]
fn a_database_without_counter_tables_is_not_merged() {
    let database = TestDatabase::create();
    database
        .command("compact")
        .fails("Is this the right database?");
}

#[test]
fn days_that_may_still_be_counted_on_are_not_merged() {
    for command in ["compact", "fold"] {
        let (database, ran) = until_today(command);
        ran.fails("give that day or an earlier one");
        assert_eq!(rows_and_views(&database), (30, 45));
    }
}

/// Merges the days before today. Again on the next day, if it was midnight in between.
fn until_today(command: &str) -> (TestDatabase, Ran) {
    let today = || chrono::Utc::now().date_naive();
    loop {
        let database = with_slots();
        let before = today();
        let ran = database.command(&format!("{command} article_counters --before {before}"));
        if today() == before {
            return (database, ran);
        }
    }
}

/// Each would be something else as a part of SQL, of a format, or as an option.
#[test]
fn no_name_and_no_key_is_taken_for_anything_else() {
    let long = ["'; DROP TABLE \"x\"; -- `", "{} /* 雪 */ %s"];
    let short = ["select", "$1", "?", "back\\", " --json", "-n"];
    let keys = ["", "x", "'", "'; DROP TABLE x; --", "\\'", "%", "🦀"];
    for name in long.into_iter().chain(short) {
        let database = TestDatabase::create();
        let generated = database.run(&[
            "generate",
            "migration",
            &format!("--backend={BACKEND}"),
            &format!("--counters={name}"),
            &format!("--entity=of {name}:text"),
            "--",
            name,
        ]);
        generated.works();
        database.execute(&generated.stdout);
        let quote = quote();
        let twice = format!("{quote}{quote}");
        let quoted = |name: &str| format!("{quote}{}{quote}", name.replace(quote, &twice));
        let value = match BACKEND {
            "postgres" => "$1",
            _ => "?",
        };
        let table = quoted(name);
        for slot in 0..=2 {
            for key in keys {
                let insert =
                    format!("INSERT INTO {table} VALUES ({value}, '2026-01-01', {slot}, 5)");
                let insert = diesel::sql_query(insert).bind::<Text, _>(key);
                insert.execute(&mut database.connect()).unwrap();
            }
        }
        database.run(&["check", "--", name]).works();
        let count = i64::try_from(keys.len()).unwrap();
        for merge in [&["compact"][..], &["fold", "--before=2026-01-02"]] {
            database.run(&[merge, &["--", name]].concat()).works();
            let entity = quoted(&format!("of {name}"));
            let sums =
                format!("(SELECT SUM({table}) AS hits FROM {table} GROUP BY {entity}) AS sums");
            let found = database.rows_and_sum(&sums, "hits");
            assert_eq!(found, (count, 15 * count), "{name}");
        }
    }
}
