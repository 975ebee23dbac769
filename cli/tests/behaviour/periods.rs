//! The period that a counter table counts by, which stands in the database.

use crate::behaviour::{Execute, words};
use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::Period;
use diesel_counters::dsl::fold;
use diesel_counters::prelude::*;

use super::run;
use crate::{BACKEND, Conn, TestDatabase};

diesel::table! {
    #[sql_name = "hit_counters"]
    by_month (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        hits -> BigInt,
    }
}
diesel_counters::counter_table!(by_month { period = Month });

/// A table that counts by this period, as the database knows, or as it does not.
fn counter_table(period: Option<&str>) -> TestDatabase {
    let database = TestDatabase::create();
    let (by_day, of_day) = (generate("day"), "diesel_counters: period = day");
    assert!(by_day.contains(of_day), "{by_day}");
    let comment = period.map_or(String::new(), |period| of_day.replace("day", period));
    database.execute(&by_day.replace(of_day, &comment));
    database
}

fn generate(period: &str) -> String {
    let args = format!(
        "generate migration hit_counters --entity article_id:bigint --counters hits \
         --period {period} --backend {BACKEND}"
    );
    run(&words(&args)).stdout
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
    let fold = "fold hit_counters --before 2026-05-01 --into";
    let into_weeks = database.command(&format!("{fold} week"));
    into_weeks.fails("has the period month");
    assert_eq!(rows(conn), before);
    database.command(&format!("{fold} year")).works();
    assert_eq!(rows(conn), [(day("2025-01-01"), 8)]);
}

#[test]
fn the_month_of_before_is_not_merged() {
    let (database, typed) = (counter_table(Some("month")), counter_table(Some("month")));
    let conns = &mut [database.connect(), typed.connect()];
    for conn in conns.iter_mut() {
        count_by_month(conn);
    }
    let fold_before = "fold hit_counters --before 2025-03-20";
    database.command(fold_before).works();
    let fold = fold(by_month::table).before(day("2025-03-20"));
    fold.execute(&mut conns[1]).unwrap();
    let [by_command, by_program] = conns.each_mut().map(rows);
    assert_eq!(by_command, by_program);
    assert_eq!(by_command[1], (day("2025-03-01"), 5));
}

#[test]
fn what_depends_on_an_unknown_period_is_refused() {
    let database = counter_table(None);
    let conn = &mut database.connect();
    count_by_month(conn);
    let before = rows(conn);
    let fold = "fold hit_counters --before 2026-05-01";
    for into in ["week", "month"] {
        let args = format!("{fold} --into {into}");
        let refused = database.command(&args);
        refused.fails("--period");
        refused.fails("diesel_counters: period = ");
        assert_eq!(rows(conn), before);
        let given = database.command(&format!("{args} --period month --dry-run"));
        assert_eq!(given.code == 0, into != "week", "{given:?}");
    }
    for args in ["compact hit_counters", fold] {
        database.command(args).works();
    }
}

/// The faults that `check` finds about the period, and what else it says.
fn faults(database: &TestDatabase) -> (i32, Vec<serde_json::Value>) {
    let checked = database.command("check hit_counters --json");
    (checked.code, checked.faults())
}

#[test]
fn check_says_how_to_write_the_period_into_the_database() {
    let database = counter_table(None);
    let (code, found) = faults(&database);
    assert_eq!(code, 0, "{found:?}");
    assert_eq!(found[0]["severity"], "note");
    assert_eq!(found[0]["fault"], "period");
    match found[0]["sql"][0].as_str() {
        None => assert_eq!(BACKEND, "sqlite"),
        Some(statement) => {
            database.execute(&statement.replace("= day", "= month"));
            assert_eq!(faults(&database).1.len(), 0);
            let conn = &mut database.connect();
            count_by_month(conn);
            let fold = "fold hit_counters --before 2026-05-01 --into week";
            database.command(fold).fails("has the period month");
        }
    }
}

#[test]
fn a_period_that_cannot_be_read_is_none() {
    for unreadable in ["months", "", "day; slots = 3", "Month"] {
        let database = counter_table(Some(unreadable));
        let (_, found) = faults(&database);
        assert_eq!(found[0]["fault"], "period", "{found:?}");
        let fold = "fold hit_counters --before 2026-05-01 --into year";
        database.command(fold).fails("diesel_counters: period =");
        if let Some(statement) = found[0]["sql"][0].as_str() {
            database.execute(statement);
            assert_eq!(faults(&database), (0, Vec::new()));
            database.command(fold).works();
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
    database.execute(
        "INSERT INTO hit_counters VALUES (1, '2025-02-01', 1, 1), (1, '2025-02-01', 2, 1)",
    );
    let mut beside = Vec::new();
    let merge = fold(by_month::table).per(Period::Month);
    let merge = merge.before(day("2026-05-01"));
    let compact = || database.command("compact hit_counters --json");
    let merge = merge.on_progress(|_| beside.push(compact()));
    merge.execute(conn).unwrap();
    assert!(!beside.is_empty());
    for ran in beside {
        let is_busy = ran.json()["already_running"] == true;
        assert_eq!(is_busy, crate::HAS_SLOTS, "{ran:?}");
    }
    let after = database.command("compact hit_counters --json");
    assert_eq!(after.json()["already_running"], false, "{after:?}");
}

#[test]
fn a_generated_table_has_its_period() {
    for period in ["day", "week", "month", "year", "total"] {
        let database = TestDatabase::create();
        database.execute(&generate(period));
        assert_eq!(faults(&database), (0, Vec::new()));
        let fold = "fold hit_counters --before 2025-05-01 --period";
        database.command(&format!("{fold} {period}")).works();
        let other = if period == "day" { "week" } else { "day" };
        let refused = database.command(&format!("{fold} {other}"));
        assert_eq!(refused.code == 0, BACKEND == "sqlite", "{refused:?}");
    }
}

/// A counter table that counts by this period, and the triggers that count the rows of `hits` in it.
fn with_triggers(period: Option<&str>) -> TestDatabase {
    let database = counter_table(period);
    database.execute(
        "CREATE TABLE hits (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT, hit_on DATE)",
    );
    database.count(
        r#"
        [[trigger]]
        name = "count_hits"
        rows = "hits"
        count = ["article_id:hit_counters.hits"]
        day = "hit_on"
        "#,
    );
    database
}

#[test]
fn triggers_count_by_the_period_of_the_table() {
    let database = with_triggers(Some("month"));
    let conn = &mut database.connect();
    conn.run(
        "INSERT INTO hits VALUES (1, 1, '2025-02-10'), (2, 1, '2025-03-15'), (3, 1, '2025-03-16')",
    );
    assert_eq!(rows(conn), [(day("2025-02-01"), 1), (day("2025-03-01"), 2)]);
    database.assert_agrees();
}

/// `counters.toml` stays the same, because the period stands in the database.
#[test]
fn triggers_are_generated_again_for_another_period() {
    let database = with_triggers(None);
    database.set_period("hit_counters", "year");
    let faults = database.trigger_faults("hit_counters");
    assert_eq!(faults[0]["fault"], "trigger_changed", "{faults:?}");
    let again = database.command("generate triggers by_year --repair count_hits");
    again.works();
    database.migrate();
    assert_eq!(database.trigger_faults("hit_counters").len(), 0);
    let conn = &mut database.connect();
    conn.run("INSERT INTO hits VALUES (1, 1, '2025-03-15')");
    assert_eq!(rows(conn), [(day("2025-01-01"), 1)]);
}
