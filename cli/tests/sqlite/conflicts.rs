//! `INSERT OR IGNORE` and the others. SQLite runs the statements of triggers with the policy of the
//! statement that runs them.

use diesel::connection::SimpleConnection;

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::{number, open};

const POLICIES: [&str; 6] = [
    "",
    "OR ABORT",
    "OR FAIL",
    "OR IGNORE",
    "OR REPLACE",
    "OR ROLLBACK",
];

const POSTS: &str = "
    CREATE TABLE posts (id INTEGER PRIMARY KEY, likes INTEGER NOT NULL DEFAULT 0 CHECK (likes <= 2));
    CREATE TABLE post_counters (
        post_id INTEGER NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        likes BIGINT NOT NULL DEFAULT 0 CHECK (typeof(likes) = 'integer'), PRIMARY KEY (post_id, day, slot)
    );
    CREATE TABLE post_likes (id INTEGER PRIMARY KEY, post_id INTEGER, stars INTEGER NOT NULL DEFAULT 1);
    INSERT INTO posts (id) VALUES (1), (2), (3)";

/// A definition that counts likes in this counter.
fn likes_in(rows: &str, counter: &str) -> String {
    trigger("count_likes", rows, &format!("count = ['{counter}']"))
}

/// Runs each statement with each policy, in a transaction and without one. Returns those after which a
/// count is not that of the rows.
fn miscounted(counter: &str, before: &str, statements: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    for policy in POLICIES {
        for begin in ["", "BEGIN"] {
            for statement in statements {
                let database = TestDatabase::create();
                database.execute(POSTS);
                database.count(&likes_in("post_likes", counter));
                let conn = &mut open(&database);
                conn.run(before);
                conn.run(begin);
                let statement = statement.replace("OR ?", policy);
                let ran = conn.batch_execute(&statement);
                let _ = conn.batch_execute("COMMIT");
                let recounted = database.command("recount --dry-run");
                if !recounted.stdout.contains("all counts agree") {
                    wrong.push(format!("{begin} {statement}: {ran:?}: {recounted:?}"));
                }
            }
        }
    }
    wrong
}

#[test]
fn a_row_whose_count_is_refused_by_a_check_is_refused_too() {
    let wrong = miscounted(
        "post_id:posts.likes",
        "INSERT INTO post_likes (id, post_id) VALUES (1, 1), (2, 1), (3, 2)",
        &[
            "INSERT OR ? INTO post_likes (post_id) VALUES (2), (1)",
            "UPDATE OR ? post_likes SET post_id = 1 WHERE id = 3",
        ],
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_row_whose_count_is_out_of_range_is_refused_too() {
    for counter in [
        "post_id:post_counters.likes=stars",
        "post_id:posts.likes=stars - 9223372036854775806",
    ] {
        let wrong = miscounted(
            counter,
            "INSERT INTO post_likes (id, post_id, stars) VALUES (1, 1, 9223372036854775806), (2, 2, 9223372036854775806)",
            &[
                "INSERT OR ? INTO post_likes (post_id, stars) VALUES (3, 9223372036854775806), (1, 9223372036854775807), (1, 9223372036854775807), (1, 9223372036854775807)",
                "UPDATE OR ? post_likes SET post_id = 1 WHERE id = 2",
            ],
        );
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

/// Otherwise OR IGNORE would ignore the count of the first row, and OR REPLACE replace another entity's.
#[test]
fn a_counter_table_that_refuses_new_rows_is_refused() {
    let tables = "
        CREATE TABLE likes (id INTEGER PRIMARY KEY, post_id INTEGER);
        CREATE TABLE noted (post_id INTEGER NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            likes BIGINT NOT NULL DEFAULT 0, note TEXT NOT NULL, PRIMARY KEY (post_id, day, slot));
        CREATE TABLE ranked (post_id INTEGER NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            likes BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (post_id, day, slot), UNIQUE (day, likes));
        CREATE TABLE few (post_id INTEGER NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
            likes BIGINT NOT NULL DEFAULT 0 CHECK (likes <= 100), PRIMARY KEY (post_id, day, slot));
        CREATE TABLE posts (id INTEGER PRIMARY KEY, likes INTEGER NOT NULL DEFAULT 0 UNIQUE)";
    let database = TestDatabase::create();
    database.execute(tables);
    for (counter, why) in [
        (
            "post_id:noted.likes",
            "noted.note is NOT NULL and has no default",
        ),
        ("post_id:ranked.likes", "a unique index of ranked"),
        ("post_id:few.likes", "a CHECK of few"),
        ("post_id:posts.likes", "a unique index of posts"),
    ] {
        database.generate(&likes_in("likes", counter)).fails(why);
    }
}

#[test]
fn a_row_without_an_entity_is_ignored_as_before() {
    let database = TestDatabase::create();
    database.execute(POSTS);
    database.count(&likes_in("post_likes", "post_id:posts.likes"));
    let conn = &mut open(&database);
    conn.run(
        "INSERT OR IGNORE INTO post_likes (id, post_id) VALUES (1, 9), (1, 1), (2, NULL), (3, 1)",
    );
    assert_eq!(number("SELECT COUNT(*) FROM post_likes", conn), 3);
    assert_eq!(number("SELECT SUM(likes) FROM posts", conn), 1);
}

/// It has a function of the program, say.
#[test]
fn a_check_that_cannot_be_read_is_refused() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE posts (id INTEGER PRIMARY KEY, likes INTEGER NOT NULL DEFAULT 0, CHECK (posts.likes >= 0));
         CREATE TABLE likes (id INTEGER PRIMARY KEY, post_id INTEGER)",
    );
    let generated = database.generate(&likes_in("likes", "post_id:posts.likes"));
    generated.fails("write it with only columns, without their table");
}
