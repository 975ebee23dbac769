//! The row of an ordinary table that a row is counted in: its key names what the row's foreign key names.

use crate::behaviour::Execute;

use super::{number, open, refuses};
use crate::TestDatabase;
use crate::behaviour::project::trigger;

/// Statistics have keys of their own, in another order than that of the posts.
const STATISTICS: &str = "
    CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY);
    CREATE TABLE post_stats (
        id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT NOT NULL, likes BIGINT NOT NULL DEFAULT 0,
        UNIQUE (post_id), FOREIGN KEY (post_id) REFERENCES posts (id) ON DELETE CASCADE
    );
    CREATE TABLE post_likes (
        post_id BIGINT NOT NULL, user_id BIGINT NOT NULL, PRIMARY KEY (post_id, user_id),
        FOREIGN KEY (post_id) REFERENCES posts (id) ON DELETE CASCADE
    );
    INSERT INTO posts VALUES (1), (2), (3), (4);
    INSERT INTO post_stats (id, post_id) VALUES (1, 3), (2, 1), (3, 2);
    INSERT INTO post_likes VALUES (1, 1), (1, 2), (1, 3), (3, 1), (3, 2), (4, 1)";

const WRONG: &str = "SELECT COUNT(*) FROM post_stats WHERE likes <>
    (SELECT COUNT(*) FROM post_likes WHERE post_likes.post_id = post_stats.post_id)";

const LIKES: &str = r#"
    [[trigger]]
    name = "count_likes"
    rows = "post_likes"
    count = ["post_id:post_stats.likes"]
    "#;

#[test]
fn a_statistics_table_is_found_by_a_unique_column() {
    let database = TestDatabase::create();
    database.execute(STATISTICS);
    database.count(LIKES);
    let conn = &mut open(&database);
    for statement in [
        "SELECT 1",
        "INSERT INTO post_likes VALUES (2, 7), (2, 8), (3, 7)",
        "UPDATE post_likes SET post_id = 2 WHERE post_id = 1 AND user_id < 3",
        "DELETE FROM post_likes WHERE user_id = 2",
        "DELETE FROM posts WHERE id = 1",
        "BEGIN; DELETE FROM posts WHERE id = 2; ROLLBACK",
    ] {
        conn.run(statement);
        assert_eq!(number(WRONG, conn), 0, "{statement}");
        database.assert_agrees();
    }
    conn.run("UPDATE post_stats SET likes = 40 WHERE post_id = 3");
    let recounted = database.command("recount --lower");
    recounted.prints("post_stats.likes of 3: stored 40, rows 2");
    assert_eq!(number(WRONG, conn), 0);
    assert_eq!(database.trigger_faults("post_stats").len(), 0);
}

/// A profile shares the key of its user, and a note has no foreign key.
#[test]
fn a_shared_key_names_the_same_row() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY);
         CREATE TABLE user_profiles (
             user_id BIGINT NOT NULL PRIMARY KEY, number BIGINT NOT NULL UNIQUE, posts BIGINT NOT NULL DEFAULT 0,
             FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
         );
         CREATE TABLE posts (
             id BIGINT NOT NULL PRIMARY KEY, user_id BIGINT NOT NULL,
             FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
         );
         INSERT INTO users VALUES (1), (2);
         INSERT INTO user_profiles VALUES (1, 2, 0), (2, 1, 0);
         INSERT INTO posts VALUES (1, 1), (2, 1), (3, 2)",
    );
    database.count(
        r#"
        [[trigger]]
        name = "count_posts"
        rows = "posts"
        count = ["user_id:user_profiles.posts"]
        "#,
    );
    let conn = &mut open(&database);
    conn.run("INSERT INTO posts VALUES (4, 2), (5, 2); DELETE FROM posts WHERE id = 1");
    let wrong = "SELECT COUNT(*) FROM user_profiles WHERE posts <>
        (SELECT COUNT(*) FROM posts p WHERE p.user_id = user_profiles.user_id)";
    assert_eq!(number(wrong, conn), 0);
    database.assert_agrees();
}

const OTHERS: &str = "
    CREATE TABLE users (
        id BIGINT NOT NULL PRIMARY KEY, number BIGINT NOT NULL, likes BIGINT NOT NULL DEFAULT 0, UNIQUE (number)
    );
    CREATE TABLE notes (
        id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT NOT NULL, user_id BIGINT NOT NULL,
        FOREIGN KEY (post_id) REFERENCES posts (id)
    );
    CREATE TABLE numbers (
        id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT NOT NULL, version BIGINT NOT NULL, user_id BIGINT,
        likes BIGINT NOT NULL DEFAULT 0,
        UNIQUE (post_id, version), UNIQUE (user_id)
    );
    CREATE TABLE user_counters (
        user_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL, likes BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (user_id, day, slot), FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
    )";

#[test]
fn a_key_that_names_another_table_is_refused() {
    let database = TestDatabase::create();
    database.execute(STATISTICS);
    database.execute(OTHERS);
    refuses(
        &database,
        "notes",
        "
        post_id:users.likes            | notes.post_id refers to posts.id, and users.id is the key of users
        post_id:user_counters.likes    | notes.post_id refers to posts.id, and user_counters.user_id to users.id
        user_id:users.likes            | users has several keys: id, number
        user_id:users(likes).likes     | users has no unique index on (likes)
        user_id:numbers(user_id).likes | numbers has no unique index on (user_id)
        user_id:users(id,number).likes | users has no unique index on (id, number)
        user_id:user_counters(user_id).likes | user_counters is a counter table
        post_id:post_stats(post_id).post_id  | post_stats has no column post_id to count in",
    );
    for count in ["users(id)", "users(number)", "numbers", "numbers(id)"] {
        let keys = format!("count = [\"user_id:{count}.likes\"]");
        let generated = database.printed(&trigger("count_it", "notes", &keys));
        generated.works();
    }
}

/// The only key that is left has the number of the statistics, not that of the post.
#[test]
fn triggers_that_would_count_for_other_entities_are_found() {
    let database = TestDatabase::create();
    database.execute(STATISTICS);
    database.count(LIKES);
    database.execute(
        "DROP TABLE post_stats;
         CREATE TABLE post_stats (
             id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT NOT NULL, likes BIGINT NOT NULL DEFAULT 0
         )",
    );
    let faults = database.trigger_faults("post_stats");
    let what = faults[0]["what"].as_str().unwrap();
    assert_eq!(faults[0]["fault"], "definition");
    let says = "post_likes.post_id refers to posts.id, and post_stats.id is the key of post_stats";
    assert!(what.contains(says), "{what}");
    database.command("recount").fails(says);
}

/// One update changes the key of the statistics, and then the rows, or the other way round.
#[test]
fn rows_that_follow_an_update_with_their_statistics_are_counted_or_refused() {
    let database = TestDatabase::create();
    let follows = "ON DELETE CASCADE ON UPDATE CASCADE";
    database.execute(&STATISTICS.replace("ON DELETE CASCADE", follows));
    let generated = database.generate(LIKES);
    if generated.code != 0 {
        generated.fails("ON UPDATE CASCADE");
        return;
    }
    database.migrate();
    let conn = &mut open(&database);
    conn.run("UPDATE posts SET id = 7 WHERE id = 1");
    assert_eq!(number(WRONG, conn), 0);
}
