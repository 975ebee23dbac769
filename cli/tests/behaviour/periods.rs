//! The period that a counter table counts by, which stands in the database.

use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::dsl::fold;
use diesel_counters::prelude::*;
use serde_json::json;

use super::run;
use crate::{BACKEND, Conn, TestDatabase};

diesel::table! {
    articles (id) {
        id -> BigInt,
        total -> BigInt,
    }
}

/// One table in the database, which programs can count in by any period.
macro_rules! counting_by {
    ($($period:ident $name:literal $table:ident $Model:ident,)*) => {$(
        diesel::table! {
            #[sql_name = "hit_counters"]
            $table (article_id, day, slot) {
                article_id -> BigInt,
                day -> Date,
                slot -> SmallInt,
                hits -> BigInt,
            }
        }
        diesel_counters::counter_table!($table { parent = articles::id, period = $period });

        #[derive(HasCounters)]
        #[diesel(table_name = articles)]
        #[counters(table_name = $table)]
        struct $Model {
            #[allow(dead_code)]
            id: i64,
        }
    )*};
}

counting_by! {
    Month "month" by_month ByMonth,
    Total "total" in_total InTotal,
}

/// A table that counts by this period, as the database knows, or as it does not.
fn counter_table(period: Option<&str>) -> TestDatabase {
    let database = TestDatabase::create();
    let [above, after, then] = match (period, BACKEND) {
        (None, _) => Default::default(),
        (Some(period), "sqlite") => [
            format!("-- diesel_counters: period = {period}\n"),
            String::new(),
            String::new(),
        ],
        (Some(period), "postgres") => [
            String::new(),
            String::new(),
            format!("COMMENT ON COLUMN hit_counters.day IS 'diesel_counters: period = {period}'"),
        ],
        (Some(period), _) => [
            String::new(),
            format!(" COMMENT 'diesel_counters: period = {period}'"),
            String::new(),
        ],
    };
    let check = match BACKEND {
        "sqlite" => " CHECK (typeof(hits) = 'integer')",
        _ => "",
    };
    database.execute(&format!(
        "CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, total BIGINT NOT NULL DEFAULT 0);
         INSERT INTO articles (id) VALUES (1);
         CREATE TABLE hit_counters (
             article_id BIGINT NOT NULL,
             {above}day DATE NOT NULL{after},
             slot SMALLINT NOT NULL,
             hits BIGINT NOT NULL DEFAULT 0{check},
             PRIMARY KEY (article_id, day, slot)
         ); {then}"
    ));
    database
}

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

/// All rows, as days and counts.
fn rows(conn: &mut Conn) -> Vec<(NaiveDate, i64)> {
    let rows = by_month::table.select((by_month::day, by_month::hits));
    rows.order(by_month::day).load(conn).unwrap()
}

fn count_by_month(conn: &mut Conn) {
    for (on, hits) in [("2025-02-10", 3), ("2025-03-15", 5)] {
        let counting = increment(by_month::hits).of(1_i64).by(hits).on(day(on));
        counting.execute(conn).unwrap();
    }
}

#[test]
fn a_table_that_counts_by_month_is_not_folded_into_weeks() {
    let database = counter_table(Some("month"));
    let conn = &mut database.connect();
    count_by_month(conn);
    let before = rows(conn);
    assert_eq!(before, [(day("2025-02-01"), 3), (day("2025-03-01"), 5)]);
    let into = |period| {
        [
            "fold",
            "hit_counters",
            "--before",
            "2026-05-01",
            "--into",
            period,
        ]
    };
    let folded = database.run(&into("week"));
    assert_eq!((folded.code, rows(conn)), (1, before), "{folded:?}");
    assert!(folded.stderr.contains("counts by month"), "{folded:?}");

    let folded = database.run(&into("year"));
    assert_eq!((folded.code, rows(conn)), (0, vec![(day("2025-01-01"), 8)]));
}

#[test]
fn the_month_of_before_is_not_merged() {
    let (database, typed) = (counter_table(Some("month")), counter_table(Some("month")));
    let conns = &mut [database.connect(), typed.connect()];
    for conn in conns.iter_mut() {
        count_by_month(conn);
    }
    let args = ["fold", "hit_counters", "--before", "2025-03-20"];
    assert_eq!(database.run(&args).code, 0);
    let fold = fold(by_month::table).before(day("2025-03-20"));
    fold.execute(&mut conns[1]).unwrap();
    let [by_command, by_program] = conns.each_mut().map(rows);
    assert_eq!(by_command, by_program);
    assert_eq!(by_command[1], (day("2025-03-01"), 5));
}

#[test]
fn materialize_of_days_writes_what_a_program_writes() {
    for (period, count, copy) in [
        (
            "month",
            count_by_month as fn(&mut Conn),
            (|conn| {
                let copy = ByMonth::materialize(by_month::hits, articles::total);
                copy.between(day("2025-03-10")..).execute(conn)
            }) as fn(&mut Conn) -> QueryResult<usize>,
        ),
        (
            "total",
            |conn| {
                let counting = increment(in_total::hits).of(1_i64).by(7);
                counting.execute(conn).unwrap();
            },
            |conn| {
                let copy = InTotal::materialize(in_total::hits, articles::total);
                copy.between(day("2025-03-10")..).execute(conn)
            },
        ),
    ] {
        let database = counter_table(Some(period));
        let conn = &mut database.connect();
        count(conn);
        let args = [
            "materialize",
            "hit_counters",
            "hits",
            "--into",
            "articles.total",
        ];
        let ran = database.run(&[&args[..], &["--from", "2025-03-10"]].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let total = || articles::table.select(articles::total);
        let by_command: i64 = total().first(conn).unwrap();
        assert_eq!(
            copy(conn),
            Ok(0),
            "{period}: a program writes another total than {by_command}"
        );
    }
}

#[test]
fn what_depends_on_an_unknown_period_is_refused() {
    let database = counter_table(None);
    let conn = &mut database.connect();
    count_by_month(conn);
    let before = rows(conn);
    let fold = ["fold", "hit_counters", "--before", "2026-05-01"];
    let copy = [
        "materialize",
        "hit_counters",
        "hits",
        "--into",
        "articles.total",
    ];
    let depends = [
        [&fold[..], &["--into", "week"]].concat(),
        [&fold[..], &["--into", "month"]].concat(),
        [&copy[..], &["--last-days", "90"]].concat(),
        [&copy[..], &["--to", "2025-04-01"]].concat(),
    ];
    for args in &depends {
        let refused = database.run(args);
        assert_eq!(
            (refused.code, rows(conn)),
            (1, before.clone()),
            "{refused:?}"
        );
        for says in ["--period", "diesel_counters: period = "] {
            assert!(refused.stderr.contains(says), "{refused:?}");
        }
        let given = database.run(&[args, &["--period", "month", "--dry-run"][..]].concat());
        let is_good = !args.contains(&"week");
        assert_eq!(given.code == 0, is_good, "{given:?}");
    }
    for args in [&["compact", "hit_counters"][..], &copy, &fold] {
        let ran = database.run(args);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
}

#[test]
fn another_period_than_that_of_the_database_is_refused() {
    let database = counter_table(Some("month"));
    let args = [
        "fold",
        "hit_counters",
        "--before",
        "2026-05-01",
        "--period",
        "day",
    ];
    let refused = database.run(&args);
    // On SQLite, nobody could change the comment.
    if BACKEND != "sqlite" {
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(refused.stderr.contains("counts by month"), "{refused:?}");
    }
    let agreed = database.run(&[&args[..5], &["month"]].concat());
    assert_eq!(agreed.code, 0, "{agreed:?}");
}

/// The faults that `check` finds about the period, and what else it says.
fn faults(database: &TestDatabase) -> (i32, Vec<serde_json::Value>) {
    let checked = database.run(&["check", "hit_counters", "--json"]);
    let faults = checked.json()["tables"][0]["faults"]
        .as_array()
        .unwrap()
        .clone();
    (checked.code, faults)
}

#[test]
fn check_says_how_to_write_the_period_into_the_database() {
    for period in ["day", "week", "month", "year", "total"] {
        let (code, found) = faults(&counter_table(Some(period)));
        assert_eq!((code, found.len()), (0, 0), "{found:?}");
    }
    let database = counter_table(None);
    let (code, found) = faults(&database);
    assert_eq!(
        (code, &found[0]["severity"]),
        (0, &json!("note")),
        "{found:?}"
    );
    assert_eq!(found[0]["fault"], "no_period");
    match found[0]["sql"][0].as_str() {
        None => assert_eq!(BACKEND, "sqlite"),
        Some(statement) => {
            database.execute(&statement.replace("= day", "= month"));
            assert_eq!(faults(&database).1.len(), 0);
            let conn = &mut database.connect();
            count_by_month(conn);
            let into = [
                "fold",
                "hit_counters",
                "--before",
                "2026-05-01",
                "--into",
                "week",
            ];
            assert!(database.run(&into).stderr.contains("counts by month"));
        }
    }
}

#[test]
fn a_period_that_cannot_be_read_is_wrong() {
    for unreadable in ["months", "", "day; slots = 3", "Month"] {
        let database = counter_table(Some(unreadable));
        let (code, found) = faults(&database);
        assert_eq!(
            (code, &found[0]["severity"]),
            (3, &json!("wrong")),
            "{found:?}"
        );
        let fold = ["fold", "hit_counters", "--before", "2026-05-01"];
        let refused = database.run(&fold);
        assert_eq!(refused.code, 1, "{refused:?}");
        assert!(
            refused.stderr.contains("diesel_counters: period ="),
            "{refused:?}"
        );
        if let Some(statement) = found[0]["sql"][0].as_str() {
            database.execute(statement);
            assert_eq!(faults(&database).0, 0);
            assert_eq!(database.run(&fold).code, 0);
        }
    }
}

#[test]
fn a_comment_of_the_application_stays() {
    if BACKEND == "sqlite" {
        return;
    }
    let database = counter_table(None);
    database.execute(match BACKEND {
        "postgres" => "COMMENT ON COLUMN hit_counters.day IS 'it''s in UTC \\ GMT'",
        _ => "ALTER TABLE hit_counters MODIFY day DATE NOT NULL COMMENT 'it''s in UTC \\\\ GMT'",
    });
    let (_, found) = faults(&database);
    let statement = found[0]["sql"][0].as_str().unwrap();
    assert!(statement.contains("it''s in UTC \\"), "{statement}");
    database.execute(statement);
    assert_eq!(faults(&database), (0, Vec::new()));
}

/// The lock of a merge is one, whatever a program calls the table.
#[test]
fn a_merge_of_a_program_and_one_of_the_command_exclude_each_other() {
    let database = counter_table(Some("month"));
    let conn = &mut database.connect();
    for slot in 1..=2 {
        diesel::insert_into(by_month::table)
            .values((
                by_month::article_id.eq(1),
                by_month::day.eq(day("2025-02-01")),
                by_month::slot.eq(slot),
                by_month::hits.eq(1),
            ))
            .execute(conn)
            .unwrap();
    }
    let mut beside = Vec::new();
    let merge = fold(by_month::table)
        .per(Period::Month)
        .before(day("2026-05-01"));
    merge
        .on_progress(|_| beside.push(database.run(&["compact", "hit_counters", "--json"])))
        .execute(conn)
        .unwrap();
    assert!(!beside.is_empty());
    for ran in beside {
        let is_busy = ran.json()["already_running"] == true;
        assert_eq!(is_busy, crate::HAS_SLOTS, "{ran:?}");
    }
    let after = database.run(&["compact", "hit_counters", "--json"]);
    assert_eq!(after.json()["already_running"], false, "{after:?}");
}

#[test]
fn a_generated_table_has_its_period() {
    for period in ["day", "week", "month", "year", "total"] {
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().to_str().unwrap();
        let args = format!(
            "generate migration create_hit_counters --entity article_id:bigint --counters hits \
             --period {period} --backend {BACKEND} --into {into}"
        );
        let ran = run(&args.split(' ').collect::<Vec<_>>());
        assert_eq!(ran.code, 0, "{ran:?}");
        let is_said = ran.stdout.contains("{ period = ");
        assert_eq!(is_said, period != "day", "{}", ran.stdout);
        let database = TestDatabase::create();
        database.execute(&std::fs::read_to_string(folder.path().join("up.sql")).unwrap());
        assert_eq!(faults(&database), (0, Vec::new()));
        let other = match period {
            "day" => "week",
            _ => "day",
        };
        let fold = ["fold", "hit_counters", "--before", "2025-05-01", "--period"];
        let agreed = database.run(&[&fold[..], &[period]].concat());
        assert_eq!(agreed.code, 0, "{agreed:?}");
        let refused = database.run(&[&fold[..], &[other]].concat());
        assert_eq!(refused.code == 0, BACKEND == "sqlite", "{refused:?}");
    }
}

#[test]
fn triggers_count_by_the_period_of_the_table() {
    let database = counter_table(Some("month"));
    database.execute("CREATE TABLE hits (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT)");
    let generate = |more: &[&str]| {
        let args = [
            "generate",
            "trigger",
            "count_hits",
            "--rows",
            "hits",
            "--count",
            "article_id:hit_counters.hits",
            "--stdout",
        ];
        database.run(&[&args[..], more].concat())
    };
    let refused = generate(&[]);
    let says = "hit_counters counts by month, as the comment of its day says: give --period month";
    assert!(refused.stderr.contains(says), "{refused:?}");
    let written = generate(&["--period", "month"]);
    assert_eq!(written.code, 0, "{written:?}");
}

/// Rows of other days are from before the table counted by month.
#[test]
fn an_import_sets_the_count_of_a_whole_period() {
    let database = counter_table(Some("month"));
    database.execute(
        "INSERT INTO hit_counters VALUES (1, '2026-01-15', 1, 4), (1, '2026-01-20', 1, 4)",
    );
    let folder = tempfile::tempdir().unwrap();
    let import = |line: &str| {
        let file = folder.path().join("hits.csv");
        std::fs::write(&file, line).unwrap();
        database.run(&["import", "hit_counters", "hits", file.to_str().unwrap()])
    };
    let set = import("1,2026-01-01,10\n");
    assert_eq!(set.code, 0, "{set:?}");
    let shown = database.run(&["show", "hit_counters", "--json"]).json();
    assert_eq!(shown["counters"][0]["total"], 10);
    let refused = import("1,2026-01-15,10\n");
    let says = "2026-01-15 is not the first day of a period of the table: give 2026-01-01";
    assert!(
        refused.code == 1 && refused.stdout.contains(says),
        "{refused:?}"
    );
}
