//! `compact`, `fold` and `materialize`.

use diesel::prelude::*;
use diesel::sql_types::BigInt;
use serde_json::json;

use crate::{BYTES, TestDatabase, UUID};

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
    let shown = database.command("show article_counters --json").json();
    let views = shown["counters"][0]["total"].as_i64();
    (shown["rows"].as_i64().unwrap(), views.unwrap())
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
fn a_key_of_any_type_is_merged() {
    let database = TestDatabase::create();
    for (name, [sql_type, key]) in [
        ("by_text", ["VARCHAR(50)", "'/a b''c'"]),
        ("by_integer", ["INTEGER", "-5"]),
        ("by_small", ["SMALLINT", "-5"]),
        ("by_bytes", BYTES),
        ("by_uuid", UUID),
    ] {
        database.execute(&format!(
            "CREATE TABLE {name} (entity {sql_type} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (entity, day, slot));
             INSERT INTO {name} VALUES ({key}, '2026-01-01', 1, 1), ({key}, '2026-01-01', 2, 1),
                 ({key}, '2026-01-02', 1, 1), ({key}, '2026-01-02', 2, 1)"
        ));
        let merged = database.run(&["compact", name, "--batch", "1", "--json"]);
        assert_eq!(merged.code, 0, "{name}: {}", merged.stderr);
        assert_eq!(merged.json()["merged_rows"], 4, "{name}");
        let shown = database.run(&["show", name, "--json"]).json();
        assert_eq!(
            (&shown["rows"], &shown["counters"][0]["total"]),
            (&json!(2), &json!(4))
        );
    }
}

#[test]
fn a_site_is_merged() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE site_counters (day DATE NOT NULL, slot SMALLINT NOT NULL,
             hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (day, slot));
         INSERT INTO site_counters VALUES ('2026-01-01', 1, 1), ('2026-01-01', 2, 1), ('2026-01-02', 2, 1)",
    );
    let merged = database.command("compact site_counters --json").json();
    assert_eq!(merged["merged_rows"], 3);
    let folded = ["fold", "site_counters", "--before", "2026-02-01", "--json"];
    assert_eq!(database.run(&folded).json()["merged_rows"], 2);
}

#[test]
fn a_counter_that_may_be_null_is_not_merged_away() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE likes_counters (entity BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             likes BIGINT, PRIMARY KEY (entity, day, slot))",
    );
    let refused = database.run(&["compact", "likes_counters"]);
    refused.fails("diesel-counters check likes_counters");
}

#[test]
fn materialize_writes_what_differs() {
    let database = with_slots();
    database.execute(
        "ALTER TABLE articles ADD COLUMN total_views BIGINT NOT NULL DEFAULT 0;
         ALTER TABLE articles ADD COLUMN small INTEGER NOT NULL DEFAULT 0;
         CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY, total BIGINT NOT NULL DEFAULT 0)",
    );
    let into =
        |into: &str| database.command(&format!("materialize article_counters views --into {into}"));
    let dry = into("articles.total_views --dry-run");
    assert_eq!(
        dry.stdout,
        "articles.total_views: 2 rows would be written\n"
    );
    let done = into("articles.total_views");
    assert_eq!(done.stdout, "articles.total_views: 2 rows written\n");
    let again = || into("articles.total_views --json").json()["rows_written"].clone();
    assert_eq!(again(), 0);
    for (days, differ) in [
        ("from 2020-01-01", 0),
        ("to 2020-01-01", 2),
        ("last-days 1", 2),
    ] {
        let dry = into(&format!("articles.total_views --dry-run --json --{days}"));
        assert_eq!(dry.json()["rows_that_differ"], differ, "{days}");
    }
    database.execute("UPDATE articles SET total_views = 7 WHERE id = 3");
    assert_eq!(again(), 1);
    for (wrong, why) in [
        ("articles.id", "and the primary key"),
        ("articles.small", "a BIGINT column"),
        ("users.total", "refers to articles"),
        ("articles.nothing", "has no column nothing"),
    ] {
        into(wrong).fails(why);
    }
}

#[test]
fn materialize_takes_keys_of_another_kind_of_integers() {
    let database = TestDatabase::create();
    for (model, id, entity) in [
        ("narrow", "INTEGER", "BIGINT"),
        ("wide", "BIGINT", "INTEGER"),
    ] {
        database.execute(&format!(
            "CREATE TABLE {model}s (id {id} NOT NULL PRIMARY KEY, total BIGINT);
             CREATE TABLE {model}_counters (entity {entity} NOT NULL, day DATE NOT NULL,
                 slot SMALLINT NOT NULL, views BIGINT NOT NULL DEFAULT 0,
                 PRIMARY KEY (entity, day, slot));
             INSERT INTO {model}s VALUES (1, NULL), (2, 7);
             INSERT INTO {model}_counters VALUES (1, '2026-01-01', 1, 5)"
        ));
        let (counters, into) = (format!("{model}_counters"), format!("{model}s.total"));
        let args = ["materialize", &counters, "views", "--into", &into, "--json"];
        let done = database.run(&args);
        done.works();
        assert_eq!(done.json()["rows_written"], 2);
    }
    database.execute("INSERT INTO wides VALUES (5000000000, 1)");
    let done = database.command("materialize wide_counters views --into wides.total --json");
    assert_eq!(done.json()["rows_written"], 1);
}

#[test]
fn materialize_finds_rows_by_the_column_that_the_foreign_key_refers_to() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE books (id BIGINT NOT NULL PRIMARY KEY, isbn BIGINT NOT NULL UNIQUE,
             views BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE book_counters (isbn BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (isbn, day, slot),
             FOREIGN KEY (isbn) REFERENCES books (isbn));
         INSERT INTO books (id, isbn) VALUES (1, 2), (2, 1);
         INSERT INTO book_counters VALUES (1, '2026-01-01', 1, 5)",
    );
    let args = ["materialize", "book_counters", "views", "--into"];
    let ran = database.run(&[&args[..], &["books.views"]].concat());
    assert_eq!(ran.stdout, "books.views: 1 rows written\n", "{ran:?}");
    let views = diesel::dsl::sql::<BigInt>("(SELECT views FROM books WHERE isbn = 1)");
    let views: i64 = diesel::select(views)
        .get_result(&mut database.connect())
        .unwrap();
    assert_eq!(views, 5);
    let ran = database.run(&[&args[..], &["books.isbn"]].concat());
    ran.fails("a BIGINT column of their own");
}

#[test]
fn what_is_no_counter_is_lost_only_when_that_is_said() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE like_counters (entity BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             likes INTEGER NOT NULL DEFAULT 0, views BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (entity, day, slot));
         INSERT INTO like_counters VALUES (1, '2026-01-01', 1, 5, 1), (1, '2026-01-01', 2, 5, 1)",
    );
    let refused = database.run(&["compact", "like_counters"]);
    refused.fails("--discard likes");
    let shown = database.command("show like_counters --json").json();
    assert_eq!(shown["rows"], 2);

    let lost = ["compact", "like_counters", "--discard", "likes", "--json"];
    assert_eq!(database.run(&lost).json()["merged_rows"], 2);
    let wrong = ["compact", "like_counters", "--discard", "views"];
    assert_eq!(database.run(&wrong).code, 1);
}

#[test]
fn days_that_may_still_be_counted_on_are_not_merged() {
    let database = with_slots();
    let today = chrono::Utc::now().date_naive().to_string();
    for command in ["compact", "fold"] {
        let refused = database.run(&[command, "article_counters", "--before", &today]);
        refused.fails("give that day or an earlier one");
    }
    assert_eq!(rows_and_views(&database), (30, 45));
}

#[test]
fn what_is_generated_is_not_lost() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE sum_counters (entity BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             views BIGINT NOT NULL DEFAULT 0, twice BIGINT GENERATED ALWAYS AS (2 * views) STORED,
             PRIMARY KEY (entity, day, slot));
         INSERT INTO sum_counters (entity, day, slot, views) VALUES (1, '2026-01-01', 1, 5), (1, '2026-01-01', 2, 5)",
    );
    let merged = database.command("compact sum_counters --json");
    assert_eq!(merged.json()["merged_rows"], 2, "{}", merged.stderr);
    let shown = database.command("show sum_counters --json").json();
    assert_eq!(
        (&shown["rows"], &shown["counters"][0]["total"]),
        (&json!(1), &json!(10))
    );
}
