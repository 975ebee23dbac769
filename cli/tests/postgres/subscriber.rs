//! A database that receives rows by logical replication, whose triggers don't run.

use crate::behaviour::Execute;
use crate::behaviour::triggers::{counted_likes, likes, open};

/// Logical replication applies what it receives in a session of this kind, and runs no triggers of
/// statements in it, also not those that are `ENABLE ALWAYS`.
const AS_A_SUBSCRIBER: &str = "SET session_replication_role = replica";

const ROWS: &str = "INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1), (3, 2)";

#[test]
fn rows_without_their_counters_are_not_counted_until_a_recount() {
    let database = counted_likes();
    let conn = &mut open(&database);
    conn.run(AS_A_SUBSCRIBER);
    conn.run(ROWS);
    // The triggers are those of counters.toml.
    database.command("check").works();
    assert_eq!(likes([1, 2], conn), [0, 0]);
    assert_eq!(database.command("recount --dry-run").code, 3);
    database.command("recount").works();
    assert_eq!(likes([1, 2], conn), [2, 1]);
    // What comes later is not counted, either.
    conn.run("DELETE FROM article_likes WHERE id = 1");
    assert_eq!(likes([1, 2], conn), [2, 1]);
    database.command("recount --lower").works();
    assert_eq!(likes([1, 2], conn), [1, 1]);
}

#[test]
fn rows_and_their_counters_are_exact() {
    let publisher = counted_likes();
    let conn = &mut open(&publisher);
    conn.run(ROWS);
    let subscriber = counted_likes();
    let conn = &mut open(&subscriber);
    conn.run(AS_A_SUBSCRIBER);
    conn.run(ROWS);
    conn.run(
        "INSERT INTO article_counters (article_id, day, slot, likes)
         VALUES (1, '2026-01-01', 1, 2), (2, '2026-01-01', 1, 1)",
    );
    assert_eq!(likes([1, 2], conn), [2, 1]);
    subscriber.assert_agrees();
}
