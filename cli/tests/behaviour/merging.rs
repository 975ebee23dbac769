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
    for (name, [sql_type, key]) in [
        ("by_text", ["VARCHAR(50)", "'/a b''c'"]),
        ("by_integer", ["INTEGER", "-5"]),
        ("by_small", ["SMALLINT", "-5"]),
        ("by_bytes", BYTES),
        ("by_uuid", UUID),
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
