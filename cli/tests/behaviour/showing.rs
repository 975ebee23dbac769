//! `show` and `top`.

use std::collections::BTreeSet;

use chrono::{Days, NaiveDate, Utc};
use diesel::RunQueryDsl;
use diesel::sql_types::Text;
use serde_json::json;

use super::assert_snapshot;
use crate::{BACKEND, BYTES, TestDatabase, UUID};

fn today() -> NaiveDate {
    Utc::now().date_naive()
}

/// Articles 1, 2, 3 and 10, counted on four days.
fn counted() -> TestDatabase {
    let database = TestDatabase::with_article_counters();
    let [today, yesterday] = [0, 1].map(|ago| today() - Days::new(ago));
    database.execute(&format!(
        "INSERT INTO article_counters VALUES
             (1, '1970-01-01', 0, 0, 0, 0),
             (1, '2026-01-01', 0, 1000000, 0, 0), (1, '2026-01-01', 3, 200, 7, 0),
             (1, '2026-01-01', 4, 34, -3, 0), (2, '2026-01-01', 3, 1, 0, 0), (2, '2026-01-01', 5, 1, 0, 0),
             (10, '2026-01-02', 0, 2, 0, 0), (3, '2026-01-02', 1, 9007199254740993, 0, 0),
             (1, '{yesterday}', 5, 1000, 5, 0), (1, '{today}', 6, 500, 10, 0), (1, '{today}', 7, 250, 0, 0)"
    ));
    database
}

#[test]
fn a_whole_table_is_shown() {
    let database = counted();
    let shown = database.run(&["show", "article_counters", "--days", "3"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert_snapshot("show", &without_what_differs(&shown.stdout));
}

/// Days that are counted back from today.
fn without_what_differs(printed: &str) -> String {
    let names = ["TODAY     ", "YESTERDAY ", "DAY BEFORE"];
    names
        .iter()
        .enumerate()
        .fold(printed.to_owned(), |printed, (ago, name)| {
            printed.replace(&(today() - Days::new(ago as u64)).to_string(), name)
        })
}

#[test]
fn all_figures_are_in_its_json() {
    let database = counted();
    let shown = database
        .run(&["show", "article_counters", "--days", "3", "--json"])
        .json();
    let [today, yesterday, before] = [0, 1, 2].map(|ago| today() - Days::new(ago));
    assert_eq!(shown["rows"], 11);
    assert_eq!(
        shown["counters"][0],
        json!({
            "counter": "views", "total": 9007199255742981_i64,
            "days": [
                {"day": before, "count": 0}, {"day": yesterday, "count": 1000}, {"day": today, "count": 750},
            ],
        })
    );
    assert_eq!(shown["counters"][1]["total"], 19);
}

#[test]
fn one_entity_is_shown() {
    let database = counted();
    let shown = database
        .run(&["show", "article_counters", "2", "--json"])
        .json();
    let expected = (&json!("2"), &json!(2));
    assert_eq!((&shown["entity"], &shown["rows"]), expected);
    assert_eq!(shown["counters"][0]["total"], 2);
    assert_eq!(shown["counters"][0]["days"].as_array().unwrap().len(), 30);

    let wrong = database.run(&["show", "article_counters", "two"]);
    assert_eq!(wrong.code, 1);
    assert!(
        wrong
            .stderr
            .contains("article_id is an integer, and two is not"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_table_without_rows_is_shown() {
    let database = TestDatabase::with_article_counters();
    let shown = database.run(&["show", "article_counters", "--json"]).json();
    assert_eq!(shown["rows"], 0);
    assert_eq!(shown["counters"][2]["total"], 0);
    let top = database.run(&["top", "article_counters", "views"]);
    assert_eq!(
        (top.code, top.stdout.as_str()),
        (0, "article_counters has no counts on these days.\n")
    );
}

#[test]
fn a_key_of_bytes_or_uuid_is_given_as_it_is_printed() {
    for [sql_type, value] in [BYTES, UUID] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE file_counters (
                 digest {sql_type} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 uses BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (digest, day, slot)
             );
             INSERT INTO file_counters VALUES ({value}, '2026-01-01', 1, 5)"
        ));
        let top = database
            .run(&["top", "file_counters", "uses", "--json"])
            .json();
        let printed = top["top"][0]["entity"].as_str().unwrap();
        assert!(
            printed == "00ff" || printed.replace('-', "") == "67e5504410b1426f9247bb680e5fe0c8",
            "{printed}"
        );
        let shown = database
            .run(&["show", "file_counters", printed, "--json"])
            .json();
        assert_eq!(shown["counters"][0]["total"], 5);
    }
}

#[test]
fn the_most_counted_come_first_and_ties_by_key() {
    let database = counted();
    let top = database.run(&["top", "article_counters", "views", "-n", "3"]);
    assert_eq!(top.code, 0, "{}", top.stderr);
    assert_snapshot("top", &top.stdout);

    let args = [
        "top",
        "article_counters",
        "views",
        "--from",
        "2026-01-01",
        "--to",
        "2026-01-02",
        "--json",
    ];
    let expected = json!({
        "table": "article_counters", "counter": "views", "from": "2026-01-01", "to": "2026-01-02",
        "top": [
            {"entity": "3", "total": 9007199254740993_i64}, {"entity": "1", "total": 1000234},
            {"entity": "2", "total": 2}, {"entity": "10", "total": 2},
        ],
    });
    assert_eq!(database.run(&args).json(), expected);
}

#[test]
fn a_total_beyond_bigint_is_an_error() {
    let database = TestDatabase::with_article_counters();
    database.execute(
        "INSERT INTO article_counters VALUES
             (1, '2026-01-01', 1, 9223372036854775807, 0, 0), (1, '2026-01-01', 2, 1, 0, 0)",
    );
    for args in [
        ["top", "article_counters", "views"],
        ["show", "article_counters", "1"],
    ] {
        let ran = database.run(&args);
        assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{}", ran.stderr);
    }
}

#[test]
fn a_key_cannot_steer_the_terminal() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE page_counters (
             path VARCHAR(50) NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (path, day, slot)
         );
         INSERT INTO page_counters VALUES ('/a\u{1b}[2J\u{7}', '2026-01-01', 1, 5)",
    );
    for args in [
        vec!["top", "page_counters", "hits"],
        vec!["show", "page_counters", "/a\u{1b}[2J\u{7}"],
        vec!["check"],
    ] {
        let ran = database.run(&args);
        assert!(!ran.stdout.is_empty());
        assert!(!ran.stdout.contains(['\u{1b}', '\u{7}']), "{ran:?}");
    }
}

/// Each would be something else as a part of SQL, of a format, or as an option.
#[test]
fn no_name_and_no_key_is_taken_for_anything_else() {
    let names = [
        "'; DROP TABLE \"x\"; -- `",
        "{} /* 雪 */ %s",
        "select",
        "$1",
        "?",
        "back\\",
        " --json",
        "-n",
    ];
    let keys = [
        "",
        "x",
        "'",
        "'; DROP TABLE x; --",
        "\\'",
        "%",
        "--json",
        "-n",
        "🦀",
    ];
    let quote = if BACKEND == "mysql" { "`" } else { "\"" };
    for name in names {
        let database = TestDatabase::create();
        let folder = tempfile::tempdir().unwrap();
        let generated = database.run(&[
            "generate",
            "migration",
            "create",
            &format!("--table={name}"),
            &format!("--counters={name}"),
            &format!("--entity=of {name}:text"),
            &format!("--migration-dir={}", folder.path().display()),
            "--json",
        ]);
        let up = generated.json()["up"].as_str().unwrap().to_owned();
        database.execute(&std::fs::read_to_string(up).unwrap());
        let value = if BACKEND == "postgres" { "$1" } else { "?" };
        let table = format!("{quote}{}{quote}", name.replace(quote, &quote.repeat(2)));
        for slot in 0..=2 {
            for key in keys {
                let insert =
                    format!("INSERT INTO {table} VALUES ({value}, '2026-01-01', {slot}, 5)");
                let insert = diesel::sql_query(insert).bind::<Text, _>(key);
                insert.execute(&mut database.connect()).unwrap();
            }
        }

        let checked = database.run(&["check", "--", name]);
        assert_eq!(checked.code, 0, "{checked:?}");
        for merge in [&["compact"][..], &["fold", "--before=2026-01-02"]] {
            let top = database.run(&["top", "--json", "--", name, name]).json();
            let top = top["top"].as_array().unwrap();
            let top: BTreeSet<_> = top.iter().map(|row| row["entity"].as_str()).collect();
            assert_eq!(top, keys.into_iter().map(Some).collect(), "{name}");
            for (key, n) in keys
                .map(|key| (key, 15))
                .into_iter()
                .chain([("y", 0), ("x'", 0)])
            {
                let shown = database.run(&["show", "--json", "--", name, key]).json();
                assert_eq!(shown["counters"][0]["total"], n, "{key} of {name}");
            }
            let merged = database.run(&[merge, &["--", name]].concat());
            assert_eq!(merged.code, 0, "{merged:?}");
        }
    }
}
