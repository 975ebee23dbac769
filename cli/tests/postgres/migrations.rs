//! What a migration waits for, and what it refuses.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::triggers::{OF_ARTICLES, count_likes, likes_of, number, open, tables};
use crate::hot_row::wait_until;

/// Until the migration waits for a lock.
fn await_migration(database: &TestDatabase) {
    let waits = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE NOT l.granted AND d.datname = current_database()";
    let conn = &mut open(database);
    wait_until("the migration does not wait", || number(waits, conn) > 0);
}

/// A writer of the column that has not committed, and one that deadlocks with a migration that
/// locks the rows first. What it has written stays, and what it has inserted is counted.
#[test]
fn a_migration_waits_for_writers_of_its_column() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE article_likes (post_id BIGINT NOT NULL REFERENCES posts, who TEXT NOT NULL);
         INSERT INTO posts VALUES (1, 0), (2, 0);
         INSERT INTO article_likes VALUES (1, 'a'), (2, 'a'), (2, 'b')",
    );
    let generated = database.generate(&count_likes("count = ['post_id:posts.likes']"));
    generated.works();
    let writer = &mut open(&database);
    writer.run("BEGIN; UPDATE posts SET likes = 7 WHERE id = 1");
    std::thread::scope(|scope| {
        let migrates = scope.spawn(|| database.migrate());
        await_migration(&database);
        writer.run("INSERT INTO article_likes VALUES (1, 'c'), (2, 'c'); COMMIT");
        migrates.join().unwrap();
    });
    let likes = |id| format!("SELECT likes FROM posts WHERE id = {id}");
    assert_eq!([1, 2].map(|id| number(&likes(id), writer)), [7, 3]);
}

/// A writer of votes locks them, then comments and then posts.
#[test]
fn a_migration_that_drops_triggers_locks_tables_as_a_writer_does() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE comments (id BIGINT PRIMARY KEY, post_id BIGINT NOT NULL REFERENCES posts,
             likes BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE votes (comment_id BIGINT NOT NULL REFERENCES comments);
         INSERT INTO posts VALUES (1, 0); INSERT INTO comments VALUES (1, 1, 0)",
    );
    database.count(
        r#"
        [[trigger]]
        name = "count_votes"
        rows = "votes"
        count = ["comment_id:comments.likes"]

        [[trigger]]
        name = "count_comments"
        rows = "comments"
        count = ["post_id:posts.likes=likes"]
        "#,
    );
    let writer = &mut open(&database);
    // What an INSERT locks before its triggers run.
    writer.run("BEGIN; LOCK TABLE votes IN ROW EXCLUSIVE MODE");
    std::thread::scope(|scope| {
        let reverts = scope.spawn(|| database.revert());
        await_migration(&database);
        writer.run("INSERT INTO votes VALUES (1); COMMIT");
        reverts.join().unwrap();
    });
    assert_eq!(number("SELECT likes FROM posts", writer), 1);
}

/// The tables, and a migration that has not run yet.
fn with_a_migration() -> TestDatabase {
    let database = tables(true);
    database.generate(&count_likes(OF_ARTICLES)).works();
    database
}

/// Runs the migration in a session with this default level.
fn migrate_at(level: &str, database: &TestDatabase) -> Result<(), String> {
    let conn = &mut open(database);
    conn.run(&format!("SET default_transaction_isolation = '{level}'"));
    database.migrate_in(conn)
}

/// It runs at READ COMMITTED. At another level, its snapshot would be older than its locks.
#[test]
fn a_migration_counts_what_is_committed_while_it_waits_at_each_default_level() {
    for level in ["read committed", "repeatable read", "serializable"] {
        let database = with_a_migration();
        let writer = &mut open(&database);
        writer.run("BEGIN; INSERT INTO article_likes (id, article_id) VALUES (1, 1)");
        std::thread::scope(|scope| {
            let migrates = scope.spawn(|| migrate_at(level, &database));
            await_migration(&database);
            writer.run("COMMIT");
            assert_eq!(migrates.join().unwrap(), Ok(()), "{level}");
        });
        assert_eq!(likes_of(1, writer), 1, "{level}");
    }
}

#[test]
fn a_migration_in_a_transaction_with_an_older_snapshot_fails() {
    let database = with_a_migration();
    let conn = &mut open(&database);
    conn.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT * FROM article_likes");
    let up = database.last_migration("up.sql");
    let failed = conn.batch_execute(&up).unwrap_err().to_string();
    let says = "SET TRANSACTION ISOLATION LEVEL must be called before any query";
    assert!(failed.contains(says), "{failed}");
}

/// As tests of an application do.
#[test]
fn a_migration_runs_in_a_test_transaction() {
    let database = with_a_migration();
    let conn = &mut open(&database);
    conn.begin_test_transaction().unwrap();
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1)");
    database.migrate_in(conn).unwrap();
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (2, 1)");
    assert_eq!(likes_of(1, conn), 2);
}

#[test]
fn a_migration_that_fails_leaves_nothing() {
    let database = with_a_migration();
    let conn = &mut open(&database);
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1)");
    conn.run(
        "CREATE FUNCTION count_likes_delete() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    );
    let failed = migrate_at("read committed", &database).unwrap_err();
    assert!(failed.contains("already exists"), "{failed}");
    let triggers = "SELECT COUNT(*) FROM pg_trigger WHERE NOT tgisinternal";
    assert_eq!(number(triggers, conn), 0);
    assert_eq!(likes_of(1, conn), 0);
    conn.run("DROP FUNCTION count_likes_delete()");
    database.migrate();
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (2, 1)");
    assert_eq!(likes_of(1, conn), 2);
}

/// As `psql` runs them without `--single-transaction`.
#[test]
fn a_lock_fails_if_the_statements_of_a_migration_are_not_in_a_transaction() {
    let database = with_a_migration();
    let up = database.last_migration("up.sql");
    let lock = up
        .lines()
        .find(|line| line.starts_with("LOCK TABLE"))
        .unwrap();
    let failed = open(&database).batch_execute(lock).unwrap_err().to_string();
    let says = "LOCK TABLE can only be used in transaction blocks";
    assert!(failed.contains(says), "{failed}");
}
