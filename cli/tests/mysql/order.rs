//! The order in which triggers lock rows: that of their creation.

use crate::TestDatabase;
use crate::behaviour::project::trigger;

impl TestDatabase {
    /// Has the database count what this definition says, too.
    #[track_caller]
    fn count_too(&self, toml: &str) {
        let all = format!("{}\n{toml}", self.defined());
        self.count(&all);
    }
}

const TABLES: &str = "
    CREATE TABLE posts (id BIGINT PRIMARY KEY, votes BIGINT NOT NULL DEFAULT 0,
        comments BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE users (id BIGINT PRIMARY KEY, votes BIGINT NOT NULL DEFAULT 0,
        comments BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE tags (id BIGINT PRIMARY KEY, tagged BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE votes (id BIGINT PRIMARY KEY, post_id BIGINT, user_id BIGINT);
    CREATE TABLE comments (id BIGINT PRIMARY KEY, post_id BIGINT, user_id BIGINT);
    CREATE TABLE taggings (id BIGINT PRIMARY KEY, tag_id BIGINT)";

const USERS_FIRST: &str = "count = ['user_id:users.comments', 'post_id:posts.comments']";
const POSTS_FIRST: &str = "count = ['post_id:posts.comments', 'user_id:users.comments']";

/// A definition that counts votes.
fn votes(name: &str, count: &str) -> String {
    trigger(name, "votes", &format!("count = ['{count}']"))
}

fn of_post() -> String {
    votes("b_votes", "post_id:posts.votes")
}

fn of_user() -> String {
    votes("a_votes", "user_id:users.votes")
}

/// The tables, with these definitions, each of a migration of its own.
fn counted(definitions: [String; 2]) -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(TABLES);
    for definition in &definitions {
        database.count_too(definition);
    }
    database
}

/// Votes lock a row of posts before one of users, against the order of the names.
#[track_caller]
fn assert_posts_first(database: &TestDatabase) {
    let before = database.defined();
    let with_comments = |count| format!("{before}\n{}", trigger("c_comments", "comments", count));
    let refused = database.generate(&with_comments(USERS_FIRST));
    refused.fails("two transactions could wait for each other");
    database.count(&with_comments(POSTS_FIRST));
    let tags = "count = ['tag_id:tags.tagged']";
    database.count_too(&trigger("d_tags", "taggings", tags));
}

#[test]
fn triggers_run_in_the_order_of_their_migrations() {
    assert_posts_first(&counted([of_post(), of_user()]));
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
    for (name, rows, count) in [
        ("p_a", "posts", "user_id:users.s=n"),
        ("p_b", "posts", "forum_id:forums.s=n"),
        ("c", "comments", "post_id:posts.n"),
    ] {
        let count = format!("count = ['{count}']");
        database.count_too(&trigger(name, rows, &count));
    }
}
