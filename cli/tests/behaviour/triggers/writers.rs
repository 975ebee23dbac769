//! Writers of rows that count in the same counters.

use std::panic::catch_unwind;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use diesel::prelude::*;
use diesel_counters::dsl::{claim_slot, increment};
use rand::seq::SliceRandom;

use super::{COUNTS, count_likes, counted_likes, likes_of, number, open, patient, tables};
use crate::behaviour::Execute;
use crate::{BACKEND, Conn, TestDatabase};

const WRITERS: i64 = 16;
const TRANSACTIONS: i64 = 30;

/// Each transaction inserts rows of three articles in random order, and then rows of all articles
/// in one statement. A deadlock, or any other error, ends the test.
#[test]
fn writers_of_the_same_entities_do_not_deadlock() {
    let database = tables(true);
    database.count(&count_likes(COUNTS));
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let database = &database;
            scope.spawn(move || {
                let conn = &mut open(database);
                claim_slot().execute(conn).unwrap();
                for transaction in 0..TRANSACTIONS {
                    write(writer * 1_000_000 + transaction * 100, conn);
                }
            });
        }
    });
    let conn = &mut open(&database);
    let rows = number("SELECT COUNT(*) FROM article_likes", conn);
    assert_eq!(rows, WRITERS * TRANSACTIONS * 13);
    let likes: i64 = (1..=5).map(|article| likes_of(article, conn)).sum();
    assert_eq!(likes, rows);
}

fn write(first_id: i64, conn: &mut Conn) {
    let mut articles = [1, 2, 3, 4, 5];
    articles.shuffle(&mut rand::rng());
    let row = |(id, article): (i64, &i64)| format!("({id}, {article}, 2)");
    let insert = |rows: Vec<String>| {
        let rows = rows.join(", ");
        format!("INSERT INTO article_likes (id, article_id, stars) VALUES {rows};")
    };
    let single = (first_id..).zip(&articles[..3]).map(row);
    let bulk = (first_id + 10..)
        .zip(articles.iter().chain(&articles))
        .map(row);
    let begin = if BACKEND == "sqlite" {
        "BEGIN IMMEDIATE;"
    } else {
        "BEGIN;"
    };
    let single = single.map(|row| insert(vec![row]));
    let statements = single.chain([insert(bulk.collect())]).collect::<String>();
    conn.run(&format!("{begin}{statements}COMMIT"));
}

diesel::table! {
    article_counters (article_id, day, slot) {
        article_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(article_counters);

#[test]
fn each_connection_counts_in_its_own_slot_by_triggers_and_by_increments() {
    let database = counted_likes();
    let mut connections = Vec::new();
    for article in 1..=3 {
        let mut conn = open(&database);
        claim_slot().execute(&mut conn).unwrap();
        conn.run(&format!(
            "INSERT INTO article_likes (id, article_id) VALUES ({article}, {article})"
        ));
        let view = increment(article_counters::views).of(article);
        view.execute(&mut conn).unwrap();
        let slots = "SELECT COUNT(DISTINCT slot) FROM article_counters WHERE article_id =";
        assert_eq!(number(&format!("{slots} {article}"), &mut conn), 1);
        // Once it is closed, another connection can claim its number.
        connections.push(conn);
    }
    let slots = "SELECT COUNT(DISTINCT slot) FROM article_counters";
    let expected = if BACKEND == "sqlite" { 1 } else { 3 };
    assert_eq!(number(slots, &mut open(&database)), expected);
}

/// The recount of existing rows is killed half way, and run again, beside writers. They take off
/// rows that are not counted yet.
#[test]
fn existing_rows_are_counted_later_beside_writers() {
    let database = &tables(true);
    database.execute("ALTER TABLE articles ADD COLUMN likes INTEGER NOT NULL DEFAULT 0");
    let conn = &mut open(database);
    let articles = (100..=LAST).map(|id| format!("({id})")).collect::<Vec<_>>();
    let articles = articles.join(", ");
    conn.run(&format!("INSERT INTO articles (id) VALUES {articles}"));
    conn.run(
        "INSERT INTO article_likes (id, article_id, user_id)
         SELECT a.id * 10 + u.id, a.id, u.id FROM articles a CROSS JOIN users u WHERE a.id >= 100",
    );
    database.define(&count_likes(
        r#"count = ["article_id:article_counters.likes", "article_id:articles.likes"]"#,
    ));
    let generated = database.command("generate triggers step --existing later");
    generated.works();
    database.migrate();
    let counted = "SELECT COUNT(*) FROM articles WHERE likes <> 0";
    assert_eq!(number(counted, conn), 0);
    let is_done = &AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..3 {
            scope.spawn(move || write_again(writer, is_done, &mut open(database)));
        }
        let recounted = catch_unwind(|| {
            kill_a_recount(database);
            patient(|| database.command("recount count_likes")).works();
        });
        is_done.store(true, Relaxed);
        recounted.unwrap();
    });
    database.assert_agrees();
    assert!(database.trigger_faults("").is_empty());
    let rows = number("SELECT COUNT(*) FROM article_likes", conn);
    let sum = number("SELECT COUNT(*) FROM articles WHERE likes = 5", conn);
    assert_eq!((rows, sum), (1505, 301));
}

/// The article that a recount comes to last. No writer writes its likes.
const LAST: i64 = 400;

/// Deletes a like of each third article, and inserts it again.
fn write_again(writer: i64, is_done: &AtomicBool, conn: &mut Conn) {
    for id in (100..LAST).filter(|id| id % 3 == writer).cycle() {
        conn.run(&format!("DELETE FROM article_likes WHERE id = {id}0 + 1"));
        let insert = "INSERT INTO article_likes (id, article_id)";
        conn.run(&format!("{insert} VALUES ({id}0 + 1, {id})"));
        if is_done.load(Relaxed) {
            break;
        }
    }
}

/// Kills a recount that has corrected some articles, and waits for the lock of the last one.
/// SQLite has no such lock: there the recount can have ended.
fn kill_a_recount(database: &TestDatabase) {
    let holder = &mut open(database);
    if BACKEND != "sqlite" {
        holder.run(&format!(
            "BEGIN; UPDATE articles SET likes = likes WHERE id = {LAST}"
        ));
    }
    let mut recount = Command::new(env!("CARGO_BIN_EXE_diesel-counters"));
    recount.args(["recount", "count_likes"]);
    recount.current_dir(database.project());
    recount.env("DATABASE_URL", database.url());
    let mut killed = recount.stdout(Stdio::null()).spawn().unwrap();
    let conn = &mut open(database);
    let corrected = "SELECT COUNT(*) FROM articles WHERE likes > 1";
    let mut has_ended = false;
    while number(corrected, conn) == 0 && !has_ended {
        has_ended = killed.try_wait().unwrap().is_some();
    }
    killed.kill().unwrap();
    let status = killed.wait().unwrap();
    assert!(!status.success() || BACKEND == "sqlite", "{status}");
}
