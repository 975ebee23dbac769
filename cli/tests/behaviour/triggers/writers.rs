//! Writers of rows that count in the same counters.

use crate::behaviour::Execute;
use std::thread;

use diesel::prelude::*;
use diesel_counters::dsl::claim_slot;
use rand::seq::SliceRandom;

use super::{COUNTS, counted, likes_of, number, open, tables};
use crate::BACKEND;

const WRITERS: i64 = 16;
const TRANSACTIONS: i64 = 30;

/// Each transaction inserts rows of three articles in random order, and then rows of all articles
/// in one statement. A deadlock, or any other error, ends the test.
#[test]
fn writers_of_the_same_entities_do_not_deadlock() {
    let database = tables(true);
    counted(&database, &COUNTS);
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
