//! A federated forum, as in `lab/bench/forum`: posts, comments and votes are counted for each of them, for
//! people, for local communities and for the site.

use std::collections::HashMap;
use std::thread;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::dsl::claim_slot;
use rand::seq::IndexedRandom;

use super::{number, open};
use crate::{BACKEND, Conn, TestDatabase};

const CLIENTS: i64 = 16;
const TRANSACTIONS: i64 = 40;

/// What the benchmark counts.
fn definitions(kind: &str) -> &'static str {
    match kind {
        "columns" => include_str!("../../../../lab/bench/forum/columns.toml"),
        _ => include_str!("../../../../lab/bench/forum/slots.toml"),
    }
}

/// The tables of the forum. On MySQL and MariaDB, foreign keys of votes and comments share-lock the rows of
/// people. Columns are counted in without them: the triggers lock the creator of a post after the person who
/// votes, and two people who vote on each other's posts would deadlock.
fn tables(kind: &str) -> TestDatabase {
    let database = TestDatabase::create();
    let tables = include_str!("../../../../lab/bench/forum/tables.sql").lines();
    let is_cut = BACKEND == "mysql" && kind == "columns";
    let tables = tables.filter(|line| !is_cut || !line.contains("-- Not on MySQL"));
    database.execute(&Vec::from_iter(tables).join("\n"));
    for of in ["post", "comment", "person", "community", "site"] {
        database.set_period(&format!("bench_forum_{of}_counters"), "total");
    }
    database
}

#[test]
fn a_busy_community_counts_in_columns_without_a_deadlock() {
    run("columns");
}

#[test]
fn a_busy_community_counts_in_slots_without_a_deadlock() {
    run("slots");
}

fn run(kind: &str) {
    let database = tables(kind);
    // With fewer people, of whom each votes once.
    let rows = include_str!("../../../../lab/bench/forum/rows.sql");
    database.execute(&rows.replace("other.id < 96", "other.id < 2"));
    // Another server sends the counts of its community.
    database.execute(
        "UPDATE bench_forum_communities SET local = FALSE, posts = 77, comments = 77 WHERE id = 5;
         UPDATE bench_forum_posts SET local = FALSE WHERE community_id = 5",
    );
    database.count(definitions(kind));
    let deadlocks = thread::scope(|scope| {
        let client = |client| {
            let database = &database;
            scope.spawn(move || transactions(client, &mut open(database)))
        };
        let clients = Vec::from_iter((0..CLIENTS).map(client));
        let deadlocks = clients.into_iter().map(|client| client.join().unwrap());
        deadlocks.sum::<i64>()
    });
    assert_eq!(deadlocks, 0);
    let conn = &mut open(&database);
    for wrong in wrong_counts(kind) {
        assert_eq!(number(&wrong, conn), 0, "{wrong}");
    }
    if kind == "columns" {
        let federated =
            "SELECT COUNT(*) FROM bench_forum_communities WHERE posts = 77 AND comments = 77";
        assert_eq!(number(federated, conn), 1);
    }
    database.assert_agrees();
}

/// Returns how many of a client's transactions have failed with a deadlock.
fn transactions(client: i64, conn: &mut Conn) -> i64 {
    claim_slot().execute(conn).unwrap();
    let lines = include_str!("../../../../lab/bench/forum/busy.txt").lines();
    let lines = Vec::from_iter(lines.map(|line| line.split_once(" | ").unwrap()));
    let mut deadlocks = 0;
    for number in 0..TRANSACTIONS {
        let weight = |line: &(&str, &str)| line.0.trim().parse::<u32>().unwrap();
        let (_, sql) = lines.choose_weighted(&mut rand::rng(), weight).unwrap();
        let values = values(client, number).into_iter();
        let sql = values.fold((*sql).to_owned(), |sql, (name, value)| {
            sql.replace(&format!("{{{name}}}"), &value.to_string())
        });
        let sql = match sql.contains(';') {
            true if BACKEND == "sqlite" => format!("BEGIN IMMEDIATE; {sql}; COMMIT"),
            true => format!("BEGIN; {sql}; COMMIT"),
            false => sql,
        };
        if let Err(error) = conn.batch_execute(&sql) {
            // MySQL's and MariaDB's has the number 1213.
            let text = error.to_string();
            let is_deadlock = text.contains("deadlock detected") || text.contains("Deadlock found");
            assert!(is_deadlock, "{text}: {sql}");
            conn.batch_execute("ROLLBACK").unwrap();
            deadlocks += 1;
        }
    }
    deadlocks
}

/// What a transaction writes. The clients have posts, comments and votes of their own, but vote and comment
/// on the same.
fn values(client: i64, number: i64) -> HashMap<&'static str, i64> {
    let earlier = rand::random_range(0..=number);
    let person = |number| number * CLIENTS + client + 1;
    let id = |number| (client + 1) * 1_000_000 + number;
    HashMap::from([
        ("person", person(number)),
        ("voter", person(earlier)),
        ("post", number % 5 + 1),
        ("voted", earlier % 5 + 1),
        ("comment", rand::random_range(1..=50)),
        ("id", id(number)),
        ("earlier", id(earlier)),
        ("vote", if number % 4 == 3 { -1 } else { 1 }),
    ])
}

/// Queries for the number of counts that are not those of the rows.
fn wrong_counts(kind: &str) -> impl Iterator<Item = String> {
    let lines = include_str!("../../../../lab/bench/forum/counts.txt").lines();
    lines.map(move |line| {
        let cells = Vec::from_iter(line.split('|').map(str::trim));
        let [counters, key, entities, counter, rows] = cells[..] else {
            panic!("{line}")
        };
        let (stored, only) = match (kind, entities) {
            ("slots", _) => {
                let rows = format!("bench_forum_{counters} WHERE {key} = entity.id");
                (format!("SUM({counter}) FROM {rows}"), "")
            }
            (_, "communities") => (format!("entity.{counter}"), "entity.local AND"),
            _ => (format!("entity.{counter}"), ""),
        };
        format!(
            "SELECT COUNT(*) FROM bench_forum_{entities} AS entity \
             LEFT JOIN (SELECT {rows} GROUP BY 1) AS counted ON counted.id = entity.id \
             WHERE {only} COALESCE((SELECT {stored}), 0) <> COALESCE(counted.number, 0)"
        )
    })
}
