//! The order in which triggers lock rows: that of their creation.

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::triggers::{generate_triggers, open};

const TABLES: &str = "
    CREATE TABLE posts (id BIGINT PRIMARY KEY, votes BIGINT NOT NULL DEFAULT 0,
        comments BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE users (id BIGINT PRIMARY KEY, votes BIGINT NOT NULL DEFAULT 0,
        comments BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE tags (id BIGINT PRIMARY KEY, tagged BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE votes (id BIGINT PRIMARY KEY, post_id BIGINT, user_id BIGINT);
    CREATE TABLE comments (id BIGINT PRIMARY KEY, post_id BIGINT, user_id BIGINT);
    CREATE TABLE taggings (id BIGINT PRIMARY KEY, tag_id BIGINT)";

const USERS_FIRST: &str =
    "c_comments --rows comments --count user_id:users.comments --count post_id:posts.comments";
const POSTS_FIRST: &str =
    "c_comments --rows comments --count post_id:posts.comments --count user_id:users.comments";

const OF_POST: &str = "b_votes --rows votes --count post_id:posts.votes";
const OF_USER: &str = "a_votes --rows votes --count user_id:users.votes";

/// A migration of its own.
#[track_caller]
fn create(database: &TestDatabase, words: &str) {
    let (generated, _) = generate_triggers(database, words, &[]);
    generated.works();
    database.execute(generated.json()["up"].as_str().unwrap());
}

/// The tables, with these definitions, each of a migration of its own.
fn counted(definitions: [&str; 2]) -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(TABLES);
    for words in definitions {
        create(&database, words);
    }
    database
}

/// Votes lock a row of posts before one of users, against the order of the names.
#[track_caller]
fn assert_posts_first(database: &TestDatabase) {
    let (refused, _) = generate_triggers(database, USERS_FIRST, &[]);
    refused.fails("two transactions could wait for each other");
    create(database, POSTS_FIRST);
    create(
        database,
        "d_tags --rows taggings --count tag_id:tags.tagged",
    );
}

#[test]
fn triggers_run_in_the_order_of_their_migrations() {
    assert_posts_first(&counted([OF_POST, OF_USER]));
}

/// The SQL of a fault creates a trigger again, behind the others of its event.
#[test]
fn a_trigger_that_was_created_again_runs_last() {
    let database = counted([OF_USER, OF_POST]);
    let conn = &mut open(&database);
    for event in ["insert", "update", "delete"] {
        conn.run(&format!("DROP TRIGGER a_votes_{event}"));
    }
    for fault in database.trigger_faults("") {
        database.mend(&fault);
    }
    assert_posts_first(&database);
}

/// BEFORE triggers also run in an update by a trigger: posts lock their forum before their user.
#[test]
fn a_trigger_that_updates_rows_runs_their_before_triggers_first() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE users (id BIGINT PRIMARY KEY, s BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE forums (id BIGINT PRIMARY KEY, s BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE posts (id BIGINT PRIMARY KEY, user_id BIGINT, forum_id BIGINT,
             n BIGINT NOT NULL DEFAULT 0, FOREIGN KEY (forum_id) REFERENCES forums (id));
         CREATE TABLE comments (id BIGINT PRIMARY KEY, post_id BIGINT)",
    );
    for words in [
        "p_a --rows posts --count user_id:users.s=n",
        "p_b --rows posts --count forum_id:forums.s=n",
        "c --rows comments --count post_id:posts.n",
    ] {
        create(&database, words);
    }
}
