//! Writers of rows that count in the same counters.

use crate::behaviour::{Execute, words};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use diesel::prelude::*;
use diesel_counters::dsl::claim_slot;
use rand::seq::SliceRandom;

use super::{COUNTS, counted, counted_too, likes_of, number, open, tables};
use crate::BACKEND;

const WRITERS: i64 = 16;
const TRANSACTIONS: i64 = 30;

/// Each transaction inserts rows of three articles in random order, and then rows of all articles
/// in one statement. A deadlock, or any other error, ends the test.
#[test]
fn writers_of_the_same_entities_do_not_deadlock() {
    let database = tables(true);
    counted(&database, &words(COUNTS));
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

fn write(first_id: i64, conn: &mut crate::Conn) {
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

/// The recount of existing rows is killed, and run again, beside writers. They take off rows that are not
/// counted yet.
#[test]
fn existing_rows_are_counted_later_beside_writers() {
    let database = tables(true);
    database.execute("ALTER TABLE articles ADD COLUMN likes INTEGER NOT NULL DEFAULT 0");
    let conn = &mut open(&database);
    let articles = (100..400).map(|id| format!("({id})")).collect::<Vec<_>>();
    let articles = articles.join(", ");
    conn.run(&format!("INSERT INTO articles (id) VALUES {articles}"));
    conn.run(
        "INSERT INTO article_likes (id, article_id, user_id)
         SELECT a.id * 10 + u.id, a.id, u.id FROM articles a CROSS JOIN users u WHERE a.id >= 100",
    );
    let column = words("--count article_id:articles.likes --existing later");
    counted_too(&database, &column);
    assert_eq!(database.trigger_faults("")[0]["fault"], "trigger_later");
    let is_done = &AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..3 {
            let database = &database;
            scope.spawn(move || {
                let conn = &mut open(database);
                for id in (100..400).filter(|id| id % 3 == writer).cycle() {
                    conn.run(&format!("DELETE FROM article_likes WHERE id = {id}0 + 1"));
                    let insert = "INSERT INTO article_likes (id, article_id)";
                    conn.run(&format!("{insert} VALUES ({id}0 + 1, {id})"));
                    if is_done.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        let mut recount = Command::new(env!("CARGO_BIN_EXE_diesel-counters"));
        recount
            .args(["recount", "count_likes"])
            .stdout(Stdio::null());
        let mut killed = recount.env("DATABASE_URL", database.url()).spawn().unwrap();
        let counted = "SELECT COUNT(*) FROM articles WHERE likes > 1";
        while number(counted, conn) == 0 && killed.try_wait().unwrap().is_none() {}
        killed.kill().unwrap();
        killed.wait().unwrap();
        // Beside writers of SQLite, it can wait too long for the write lock.
        let recount = loop {
            let ran = database.command("recount count_likes");
            if ran.code == 0 || BACKEND != "sqlite" {
                break ran;
            }
        };
        is_done.store(true, Ordering::Relaxed);
        recount.works();
    });
    database.assert_agrees();
    assert!(database.trigger_faults("").is_empty());
    let rows = number("SELECT COUNT(*) FROM article_likes", conn);
    let sum = number("SELECT COUNT(*) FROM articles WHERE likes = 5", conn);
    assert_eq!((rows, sum), (1500, 300));
}
