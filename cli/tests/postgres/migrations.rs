//! What a migration waits for, and what it refuses.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_migrations::{FileBasedMigrations, MigrationHarness};

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::triggers::{
    LIKES_OF_ARTICLES, file_of, generate, generate_triggers, likes_of, migrate, number, open,
    tables,
};
use crate::hot_row::wait_until;

/// Until the migration waits for a lock.
fn await_migration(database: &TestDatabase) {
    let waits = "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
        WHERE NOT l.granted AND d.datname = current_database()";
    let conn = &mut open(database);
    wait_until("the migration does not wait", || number(waits, conn) > 0);
}

/// A writer of the column that has not committed, and one that deadlocks with a migration that
/// locks the rows first.
#[test]
fn a_migration_waits_for_writers_of_its_column() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE article_likes (post_id BIGINT NOT NULL REFERENCES posts, who TEXT NOT NULL);
         INSERT INTO posts VALUES (1, 0); INSERT INTO article_likes VALUES (1, 'a'), (1, 'b')",
    );
    let (ran, folder) = generate(&database, &["--count", "post_id:posts.likes"]);
    ran.works();
    let writer = &mut open(&database);
    writer.run("BEGIN; UPDATE posts SET likes = likes + 1");
    std::thread::scope(|scope| {
        let migrates = scope.spawn(|| migrate(&database, &folder));
        await_migration(&database);
        writer.run("INSERT INTO article_likes VALUES (1, 'c'); COMMIT");
        migrates.join().unwrap();
    });
    assert_eq!(number("SELECT likes FROM posts", writer), 3);
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
    let (_folder, words) = file_of(
        "[[trigger]]
         name = \"count_votes\"
         rows = \"votes\"
         count = [\"comment_id:comments.likes\"]
         [[trigger]]
         name = \"count_comments\"
         rows = \"comments\"
         count = [\"post_id:posts.likes=likes\"]",
    );
    let (ran, folder) = generate_triggers(&database, &words, &[]);
    migrate(&database, &folder);
    let ran = ran.json();
    let down = ran["down"].as_str().unwrap();
    let writer = &mut open(&database);
    // What an INSERT locks before its triggers run.
    writer.run("BEGIN; LOCK TABLE votes IN ROW EXCLUSIVE MODE");
    std::thread::scope(|scope| {
        let migrates = scope.spawn(|| open(&database).batch_execute(down));
        await_migration(&database);
        let written = writer.batch_execute("INSERT INTO votes VALUES (1); COMMIT");
        assert_eq!((written, migrates.join().unwrap()), (Ok(()), Ok(())));
    });
    assert_eq!(number("SELECT likes FROM posts", writer), 1);
}

#[test]
fn a_migration_that_could_miss_rows_fails() {
    let database = tables(true);
    let (_, folder) = generate(&database, &LIKES_OF_ARTICLES);
    let conn = &mut open(&database);
    conn.run("SET default_transaction_isolation = 'repeatable read'");
    let migrations = FileBasedMigrations::from_path(folder.path()).unwrap();
    let failed = conn.run_pending_migrations(migrations).unwrap_err();
    let (failed, says) = (failed.to_string(), "run this migration at READ COMMITTED");
    assert!(failed.contains(says), "{failed}");
}

/// psql runs each statement in a transaction of its own, and goes on after an error.
#[test]
fn a_migration_is_one_statement() {
    let database = tables(true);
    let (ran, _) = generate(&database, &LIKES_OF_ARTICLES);
    let up = ran.json()["up"].as_str().unwrap().to_owned();
    let conn = &mut open(&database);
    conn.run(
        "CREATE FUNCTION count_likes_delete() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
    );
    let failed = diesel::sql_query(&up).execute(conn).unwrap_err();
    assert!(failed.to_string().contains("already exists"), "{failed}");
    let triggers = "SELECT COUNT(*) FROM pg_trigger WHERE NOT tgisinternal";
    assert_eq!(number(triggers, conn), 0);
    conn.run("DROP FUNCTION count_likes_delete()");
    diesel::sql_query(&up).execute(conn).unwrap();
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1)");
    assert_eq!(likes_of(1, conn), 1);
}
