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
    let shown = database.run(&["show", "article_counters", "--json"]).json();
    let views = shown["counters"][0]["total"].as_i64();
    (shown["rows"].as_i64().unwrap(), views.unwrap())
}

#[test]
fn compact_merges_the_slots_of_days() {
    let database = with_slots();
    assert_eq!(rows_and_views(&database), (30, 45));

    let dry = database.run(&["compact", "article_counters", "--dry-run"]);
    assert!(dry.stdout.contains(": 30 rows before 20"), "{}", dry.stdout);
    assert_eq!(rows_and_views(&database), (30, 45));

    let some = [
        "compact",
        "article_counters",
        "--before",
        "2026-01-02",
        "--batch",
        "3",
    ];
    let some = database.run(&some);
    assert_eq!((some.code, some.stderr.as_str()), (0, ""));
    assert!(
        some.stdout
            .starts_with("article_counters: 10 rows before 2026-01-02 merged, 0 left"),
        "{}",
        some.stdout
    );
    assert_eq!(rows_and_views(&database), (22, 45));

    let rest = database
        .run(&["compact", "article_counters", "--json"])
        .json();
    assert_eq!(
        (&rest["merged_rows"], &rest["rows_left"]),
        (&json!(20), &json!(0))
    );
    assert_eq!(rest["already_running"], false);
    assert_eq!(rows_and_views(&database), (6, 45));
}

#[test]
fn fold_keeps_the_totals() {
    let database = with_slots();
    let folded = ["fold", "article_counters", "--before", "2026-02-01"];
    let dry: Vec<&str> = folded
        .iter()
        .copied()
        .chain(["--dry-run", "--json"])
        .collect();
    assert_eq!(database.run(&dry).json()["rows_left"], 20);
    // Both days are of January.
    let months = [&dry[..], &["--into", "month"]].concat();
    assert_eq!(database.run(&months).json()["rows_left"], 20);
    let years = [&dry[..], &["--into", "year"]].concat();
    assert_eq!(database.run(&years).json()["rows_left"], 0);
    let folded = database.run(&folded);
    assert!(
        folded.stdout.contains("20 rows before 2026-02-01 merged"),
        "{}",
        folded.stdout
    );
    assert_eq!(rows_and_views(&database), (12, 45));
    assert_eq!(database.run(&["fold", "article_counters"]).code, 2);
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
    let merged = database.run(&["compact", "site_counters", "--json"]).json();
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
    assert_eq!(refused.code, 1);
    assert!(
        refused
            .stderr
            .contains("diesel-counters check likes_counters"),
        "{}",
        refused.stderr
    );
}

#[test]
fn materialize_writes_what_differs() {
    let database = with_slots();
    database.execute("ALTER TABLE articles ADD COLUMN total_views BIGINT NOT NULL DEFAULT 0");
    let args = [
        "materialize",
        "article_counters",
        "views",
        "--into",
        "articles.total_views",
    ];
    let dry: Vec<&str> = args.iter().copied().chain(["--dry-run"]).collect();
    let dry = database.run(&dry);
    assert_eq!(
        dry.stdout, "articles.total_views: 2 rows would be written\n",
        "{}",
        dry.stderr
    );
    assert_eq!(
        database.run(&args).stdout,
        "articles.total_views: 2 rows written\n"
    );
    let again: Vec<&str> = args.iter().copied().chain(["--json"]).collect();
    assert_eq!(database.run(&again).json()["rows_written"], 0);
    let of_days = |days: &[&str]| {
        let args = [&args[..], &["--dry-run", "--json"], days].concat();
        database.run(&args).json()["rows_that_differ"].clone()
    };
    assert_eq!(of_days(&["--from", "2020-01-01"]), 0);
    assert_eq!(of_days(&["--to", "2020-01-01"]), 2);
    assert_eq!(of_days(&["--last-days", "1"]), 2, "all counts are older");

    database.execute("UPDATE articles SET total_views = 7 WHERE id = 3");
    assert_eq!(database.run(&again).json()["rows_written"], 1);
    database.execute("ALTER TABLE articles ADD COLUMN small INTEGER NOT NULL DEFAULT 0");
    for (into, why) in [
        ("articles.id", "and the primary key"),
        ("articles.small", "a BIGINT column"),
    ] {
        let wrong = ["materialize", "article_counters", "views", "--into", into];
        let refused = database.run(&wrong);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
    database.execute(
        "CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY, total BIGINT NOT NULL DEFAULT 0)",
    );
    let wrong = [
        "materialize",
        "article_counters",
        "views",
        "--into",
        "users.total",
    ];
    let refused = database.run(&wrong);
    assert!(
        refused.stderr.contains("refers to articles"),
        "{}",
        refused.stderr
    );
    let nowhere = [
        "materialize",
        "article_counters",
        "views",
        "--into",
        "articles.nothing",
    ];
    assert!(
        database
            .run(&nowhere)
            .stderr
            .contains("has no column nothing")
    );
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
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert_eq!(done.json()["rows_written"], 2);
    }
    database.execute("INSERT INTO wides VALUES (5000000000, 1)");
    let args = [
        "materialize",
        "wide_counters",
        "views",
        "--into",
        "wides.total",
        "--json",
    ];
    assert_eq!(database.run(&args).json()["rows_written"], 1);
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
    assert!(
        ran.stderr.contains("a BIGINT column of their own"),
        "{ran:?}"
    );
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
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("--discard likes"),
        "{}",
        refused.stderr
    );
    let shown = database.run(&["show", "like_counters", "--json"]).json();
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
        assert_eq!(refused.code, 1);
        assert!(
            refused.stderr.contains("give that day or an earlier one"),
            "{}",
            refused.stderr
        );
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
    let merged = database.run(&["compact", "sum_counters", "--json"]);
    assert_eq!(merged.json()["merged_rows"], 2, "{}", merged.stderr);
    let shown = database.run(&["show", "sum_counters", "--json"]).json();
    assert_eq!(
        (&shown["rows"], &shown["counters"][0]["total"]),
        (&json!(1), &json!(10))
    );
}

#[test]
fn materialize_takes_integer_keys_of_two_sizes() {
    let database = TestDatabase::create();
    for (parent, entity) in [("bigint", "integer"), ("integer", "bigint")] {
        database.execute(&format!(
            "CREATE TABLE of_{parent} (id {parent} NOT NULL PRIMARY KEY, total BIGINT);
             CREATE TABLE {entity}_counters (
                 id {entity} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id, day, slot)
             )"
        ));
        database.execute(&format!("INSERT INTO of_{parent} (id) VALUES (1), (2)"));
        database.execute(&format!(
            "INSERT INTO {entity}_counters VALUES (1, '2026-01-01', 1, 5), (1, '2026-01-01', 2, 5)"
        ));
        let (table, into) = (format!("{entity}_counters"), format!("of_{parent}.total"));
        let ran = database.run(&["materialize", &table, "views", "--into", &into]);
        assert_eq!(ran.stdout, format!("{into}: 2 rows written\n"), "{ran:?}");
    }
}
