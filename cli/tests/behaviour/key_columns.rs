//! Counter tables whose key has several columns.

use crate::behaviour::Execute;
use crate::behaviour::words;
use diesel::prelude::*;
use diesel_counters::Slot;
use diesel_counters::prelude::*;

use super::run;
use super::triggers::{generate_triggers, migrate, number, open};
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
        "generate migration create_reaction_counters --entity article_id:bigint:articles.id \
         --entity emoji:text --counters given --backend {BACKEND} --stdout"
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
fn a_table_is_created_checked_shown_merged_and_copied() {
    let (database, mut conn) = migrated();
    let conn = &mut conn;
    let past = chrono::NaiveDate::from_ymd_opt(2026, 1, 1).unwrap();
    for (key, index, n) in [
        ((1, "👍"), 0, 1),
        ((1, "👍"), 1, 20),
        ((1, "🎉, 2"), 0, 300),
        ((2, "👍"), 0, 4000),
    ] {
        let slot = Slot::Partition { index, of: 2 };
        let increment = increment(given).of(key).by(n).on(past).slot(slot);
        increment.execute(conn).unwrap();
    }
    let checked = database.run(&["check"]);
    assert!(checked.summary().ends_with(": good"), "{checked:?}");

    let shown = |args: &[&str]| {
        let args = [&["show", "reaction_counters"], args, &["--json"]].concat();
        database.run(&args).json()
    };
    let of_all = shown(&[]);
    assert_eq!(of_all["counters"][0]["total"], 4321, "{of_all}");
    assert_eq!(shown(&["1"])["counters"][0]["total"], 321);
    let of_one = shown(&["1", "🎉, 2"]);
    assert_eq!(of_one["counters"][0]["total"], 300, "{of_one}");
    assert_eq!(of_one["entity"], "1, 🎉, 2");
    let too_many = database.command("show reaction_counters 1 👍 9");
    too_many.fails("leave out 9");

    let top = database.command("top reaction_counters given -n 2 --json");
    assert_eq!(top.json()["top"][0]["entity"], "2, 👍", "{top:?}");
    assert_eq!(top.json()["top"][1]["entity"], "1, 🎉, 2", "{top:?}");

    let merged = database.command("compact reaction_counters --json");
    merged.works();
    if BACKEND != "sqlite" {
        assert_eq!(merged.json()["merged_rows"], 4, "{merged:?}");
    }
    let rows: i64 = reaction_counters::table.count().get_result(conn).unwrap();
    assert_eq!(rows, 3);
    let folded = database.command("fold reaction_counters --before 2026-02-01 --json");
    assert_eq!(folded.json()["merged_rows"], 3);

    let copied = database.command("materialize reaction_counters given --into articles.total");
    copied.works();
    let total = |id| format!("SELECT total FROM articles WHERE id = {id}");
    let totals = [1, 2, 3].map(|id| number(&total(id), conn));
    assert_eq!(totals, [321, 4000, 0]);

    // A table whose key is the whole key; the foreign key refers to another one.
    let key = "SELECT DISTINCT article_id, emoji FROM reaction_counters";
    let columns = "total BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (article_id, emoji)";
    database.execute(&match BACKEND {
        // With the collation of the counter table.
        "mysql" => format!("CREATE TABLE kinds ({columns}) {key}"),
        _ => format!(
            "CREATE TABLE kinds (article_id BIGINT NOT NULL, emoji TEXT NOT NULL, {columns});
             INSERT INTO kinds (article_id, emoji) {key}"
        ),
    });
    let copied = database.command("materialize reaction_counters given --into kinds.total");
    copied.works();
    let total = |id| format!("SELECT total FROM kinds WHERE article_id = {id} AND emoji = '👍'");
    let totals = [1, 2].map(|id| number(&total(id), conn));
    assert_eq!(totals, [21, 4000]);
}

/// Rows, and counters by two of their columns. The texts of both have one collation.
fn with_reactions() -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(ARTICLES);
    let text = match BACKEND {
        "mysql" => "VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        _ => "TEXT",
    };
    let check = match BACKEND {
        "sqlite" => "CHECK (typeof(given) = 'integer')",
        _ => "",
    };
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

const COUNT_REACTIONS: &str = "count_reactions --rows reactions";

#[test]
fn rows_are_counted_by_two_of_their_columns() {
    let database = with_reactions();
    let generate = |count| generate_triggers(&database, COUNT_REACTIONS, &["--count", count]);
    let (one_column, _) = generate("article_id:reaction_counters.given");
    one_column.fails("--count COLUMN,COLUMN:reaction_counters.COUNTER");
    let (ran, folder) = generate("article_id,emoji:reaction_counters.given");
    ran.works();
    migrate(&database, &folder);

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
    let recounted = database.run(&["recount", "--json"]);
    let wrong = recounted.json()["triggers"][0]["wrong"].clone();
    let wrong: Vec<_> = wrong
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["entity"].clone())
        .collect();
    assert_eq!(wrong, ["2, joy", "2, like"], "{recounted:?}");
    assert_eq!(counted(conn), expected(&[(2, "joy", 1), (3, "like", 1)]));
}

#[test]
fn a_foreign_key_of_several_columns_is_refused() {
    let database = with_reactions();
    let text = match BACKEND {
        "mysql" => "VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
        _ => "TEXT",
    };
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
    let ran = database.command("generate trigger count_reactions --rows reactions --count article_id,emoji:reaction_counters.given");
    ran.fails("has several columns");
}

#[test]
fn six_columns_of_a_key_are_refused_with_the_limit() {
    let mut args =
        format!("generate migration create_counters --counters hits --backend {BACKEND}");
    args.extend(["a", "b", "c", "d", "e", "f"].map(|name| format!(" --entity {name}:text")));
    let refused = run(&words(&args));
    refused.fails("a key has up to five columns besides the day and the slot");
}
