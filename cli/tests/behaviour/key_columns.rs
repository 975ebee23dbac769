//! Counter tables whose key has several columns.

use crate::behaviour::Execute;
use crate::behaviour::words;
use chrono::NaiveDate;
use diesel::prelude::*;
use diesel_counters::dsl::{put_back, take};
use diesel_counters::prelude::*;

use super::project::trigger;
use super::triggers::open;
use super::triggers::recipes::recipe;
use super::{check_of, run};
use crate::{BACKEND, Conn, TestDatabase};

diesel::table! {
    reaction_counters (article_id, emoji, day, slot) {
        article_id -> BigInt,
        emoji -> Text,
        day -> Date,
        slot -> SmallInt,
        given -> BigInt,
    }
}
diesel_counters::counter_table!(reaction_counters);

use reaction_counters::{emoji, given};

const ARTICLES: &str = "
    CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY, total BIGINT NOT NULL DEFAULT 0);
    INSERT INTO articles (id) VALUES (1), (2), (3)";

/// With the table that `generate migration` writes.
fn migrated() -> (TestDatabase, Conn) {
    let words = format!(
        "generate migration reaction_counters --entity article_id:bigint:articles.id \
         --entity emoji:text --counters given --backend {BACKEND}"
    );
    let ran = run(&super::words(&words));
    ran.works();
    let database = TestDatabase::create();
    database.execute(ARTICLES);
    database.execute(&ran.stdout);
    let conn = database.connect();
    (database, conn)
}

#[test]
fn a_table_is_created_checked_and_merged() {
    let (database, mut conn) = migrated();
    let conn = &mut conn;
    conn.run(
        "INSERT INTO reaction_counters VALUES
             (1, '👍', '2026-01-01', 1, 1), (1, '👍', '2026-01-01', 2, 20),
             (1, '🎉, 2', '2026-01-01', 1, 300), (2, '👍', '2026-01-01', 1, 4000)",
    );
    let checked = database.run(&["check"]);
    assert!(checked.summary().ends_with(": good"), "{checked:?}");

    let merged = database.command("compact reaction_counters --json");
    merged.works();
    assert_eq!(merged.json()["merged_rows"], 4, "{merged:?}");
    let rows: i64 = reaction_counters::table.count().get_result(conn).unwrap();
    assert_eq!(rows, 3);
    let folded = database.command("fold reaction_counters --before 2026-02-01 --json");
    assert_eq!(folded.json()["merged_rows"], 3);
}

/// The texts of rows and of counters have one collation.
fn text() -> &'static str {
    match BACKEND {
        "mysql" => "VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        _ => "TEXT",
    }
}

/// Rows, and counters by two of their columns.
fn with_reactions() -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(ARTICLES);
    let (text, check) = (text(), check_of("given"));
    database.execute(&format!(
        "CREATE TABLE reactions (
             id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT, emoji {text},
             FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
         );
         CREATE TABLE reaction_counters (
             article_id BIGINT NOT NULL, emoji {text} NOT NULL, day DATE NOT NULL,
             slot SMALLINT NOT NULL, given BIGINT NOT NULL DEFAULT 0 {check},
             PRIMARY KEY (article_id, emoji, day, slot),
             FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
         );
         INSERT INTO reactions VALUES (1, 1, 'like'), (2, 1, 'like'), (3, 2, 'joy'), (4, NULL, 'joy')"
    ));
    database
}

fn counted(conn: &mut Conn) -> Vec<((i64, String), i64)> {
    let counts = counter_value(given).group_by((reaction_counters::article_id, emoji));
    let counts: Vec<((i64, String), i64)> = counts.load(conn).unwrap();
    counts.into_iter().filter(|(_, n)| *n != 0).collect()
}

fn expected(counts: &[(i64, &str, i64)]) -> Vec<((i64, String), i64)> {
    let counts = counts.iter();
    counts
        .map(|(id, of, n)| ((*id, (*of).to_owned()), *n))
        .collect()
}

/// Counts reactions by these columns.
fn count_by(columns: &str) -> String {
    let keys = format!("count = [\"{columns}:reaction_counters.given\"]");
    trigger("count_reactions", "reactions", &keys)
}

#[test]
fn rows_are_counted_by_two_of_their_columns() {
    let database = with_reactions();
    let one_column = database.generate(&count_by("article_id"));
    one_column.fails("write \"COLUMN,COLUMN:reaction_counters.COUNTER\" in count");
    database.count(&count_by("article_id,emoji"));

    let conn = &mut open(&database);
    let mut run = |sql: &str, counts: &[(i64, &str, i64)]| {
        conn.run(sql);
        assert_eq!(counted(conn), expected(counts), "{sql}");
    };
    run("SELECT 1", &[(1, "like", 2), (2, "joy", 1)]);
    run(
        "INSERT INTO reactions VALUES (5, 2, 'joy'), (6, 2, NULL), (7, 3, 'like')",
        &[(1, "like", 2), (2, "joy", 2), (3, "like", 1)],
    );
    run(
        "UPDATE reactions SET emoji = 'joy' WHERE id = 1",
        &[(1, "joy", 1), (1, "like", 1), (2, "joy", 2), (3, "like", 1)],
    );
    run(
        "UPDATE reactions SET article_id = 3, emoji = 'like' WHERE id = 5",
        &[(1, "joy", 1), (1, "like", 1), (2, "joy", 1), (3, "like", 2)],
    );
    run(
        "DELETE FROM articles WHERE id = 1",
        &[(2, "joy", 1), (3, "like", 2)],
    );
    run(
        "DELETE FROM reactions WHERE id = 7",
        &[(2, "joy", 1), (3, "like", 1)],
    );

    let checked = database.run(&["check", "reaction_counters"]);
    assert!(checked.summary().contains(": good"), "{checked:?}");
    increment(given).of((2, "joy")).by(9).execute(conn).unwrap();
    increment(given).of((2, "like")).execute(conn).unwrap();
    let recounted = database.command("recount --lower --json");
    let wrong = recounted.json()["triggers"][0]["wrong"].clone();
    let wrong = wrong.as_array().unwrap().iter();
    let wrong: Vec<_> = wrong.map(|one| one["entity"].clone()).collect();
    assert_eq!(wrong, ["2, joy", "2, like"], "{recounted:?}");
    assert_eq!(counted(conn), expected(&[(2, "joy", 1), (3, "like", 1)]));
}

#[test]
fn a_foreign_key_of_several_columns_is_refused() {
    let (database, text) = (with_reactions(), text());
    database.execute(&format!(
        "DROP TABLE reaction_counters;
         CREATE TABLE article_emojis (
             article_id BIGINT NOT NULL, emoji {text} NOT NULL, PRIMARY KEY (article_id, emoji)
         );
         CREATE TABLE reaction_counters (
             article_id BIGINT NOT NULL, emoji {text} NOT NULL, day DATE NOT NULL,
             slot SMALLINT NOT NULL, given BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (article_id, emoji, day, slot),
             FOREIGN KEY (article_id, emoji) REFERENCES article_emojis (article_id, emoji)
                 ON DELETE CASCADE
         )"
    ));
    let generated = database.generate(&count_by("article_id,emoji"));
    generated.fails("has several columns");
}

#[test]
fn six_columns_of_a_key_are_refused_with_the_limit() {
    let mut args = format!("generate migration hit_counters --counters hits --backend {BACKEND}");
    args.extend(["a", "b", "c", "d", "e", "f"].map(|name| format!(" --entity {name}:text")));
    let refused = run(&words(&args));
    refused.fails("a key has up to five columns besides the day and the slot");
}

diesel::table! {
    call_quotas (on_day, user_id, day, slot) {
        on_day -> Date,
        user_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        remaining -> BigInt,
    }
}
diesel_counters::counter_table!(call_quotas { period = Total, stock = (remaining) });
use call_quotas::remaining;

/// With the table of the recipe, as its command writes it. The library's tests have its clients.
#[test]
fn a_stock_with_a_day_in_its_key_is_created_taken_from_checked_and_merged() {
    let database = recipe("A quota for each day");
    let checked = database.run(&["check", "call_quotas"]);
    checked.is_good("call_quotas");

    let conn = &mut open(&database);
    let [today, tomorrow] = [1, 2].map(|day| NaiveDate::from_ymd_opt(2026, 3, day).unwrap());
    conn.run("INSERT INTO call_quotas VALUES ('2026-03-01', 1, '1970-01-01', 0, 2)");
    let can_call = |user, on, conn: &mut Conn| take(remaining).of((on, user)).execute(conn);
    assert_eq!(can_call(1_i64, tomorrow, conn), Ok(false));
    assert_eq!(can_call(2, today, conn), Ok(false));
    let allowed = [(); 3].map(|()| can_call(1, today, conn));
    assert_eq!(allowed, [Ok(true), Ok(true), Ok(false)]);

    put_back(remaining)
        .of((today, 1_i64))
        .execute(conn)
        .unwrap();
    database.command("compact call_quotas").works();
    database
        .run(&["check", "call_quotas"])
        .is_good("call_quotas");
    let rows: Vec<(i16, i64)> = call_quotas::table
        .select((call_quotas::slot, remaining))
        .load(conn)
        .unwrap();
    assert_eq!(rows, [(0, 1)]);
    // The quota goes with the user.
    conn.run("DELETE FROM comments; DELETE FROM articles; DELETE FROM users WHERE id = 1");
    assert_eq!(call_quotas::table.count().get_result(conn), Ok(0_i64));
}
