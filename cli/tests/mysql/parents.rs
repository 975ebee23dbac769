//! Several foreign keys from one parent.

use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use diesel::connection::SimpleConnection;

use crate::behaviour::triggers::{open, table_of};
use crate::{TEXT, TestDatabase};

/// Both cascades would change the row of the parent that is deleted, in a trigger that the deletion
/// runs.
#[test]
fn several_foreign_keys_of_a_parent_with_counters_in_its_columns_are_refused_or_counted() {
    let mut wrong = Vec::new();
    // The actions of the two keys, what is counted, and whether it must work.
    for [first, second, counts, must_work] in table_of("
        CASCADE  | CASCADE  | 'from_id:users.following', 'to_id:users.followers'                             |
        CASCADE  | CASCADE  | 'from_id:users.following'                                                      |
        CASCADE  | SET NULL | 'from_id:users.following', 'to_id:users.followers'                             |
        SET NULL | SET NULL | 'from_id:users.following', 'to_id:users.followers'                             |
        CASCADE  | CASCADE  | 'from_id:profiles(user_id).following', 'to_id:profiles(user_id).followers'     | works
        CASCADE  | CASCADE  | 'from_id:user_counters.following', 'to_id:user_counters.followers'             | works
        CASCADE  |          | 'from_id:users.following'                                                      | works")
    {
        let must_work = must_work == "works";
        let database = TestDatabase::create();
        let second = match second {
            "" => String::new(),
            action => format!(", FOREIGN KEY (to_id) REFERENCES users (id) ON DELETE {action}"),
        };
        database.execute(&format!(
            "CREATE TABLE users (id BIGINT PRIMARY KEY, following BIGINT NOT NULL DEFAULT 0,
                 followers BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE profiles (user_id BIGINT PRIMARY KEY, following BIGINT NOT NULL DEFAULT 0,
                 followers BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE user_counters (user_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 following BIGINT NOT NULL DEFAULT 0, followers BIGINT NOT NULL DEFAULT 0,
                 PRIMARY KEY (user_id, day, slot));
             CREATE TABLE follows (id BIGINT PRIMARY KEY, from_id BIGINT, to_id BIGINT,
                 FOREIGN KEY (from_id) REFERENCES users (id) ON DELETE {first}{second});
             INSERT INTO users (id) VALUES (1), (2), (3);
             INSERT INTO profiles (user_id) VALUES (1), (2), (3)"
        ));
        let keys = format!("count = [{counts}]");
        let generated = database.generate(&trigger("count_follows", "follows", &keys));
        if generated.code != 0 {
            if must_work || !generated.stderr.contains("users") {
                wrong.push(format!("{first}{second} {counts}: {}", generated.stderr));
            }
            continue;
        }
        database.migrate();
        let conn = &mut open(&database);
        conn.run("INSERT INTO follows VALUES (1, 1, 2), (2, 2, 1), (3, 3, 1), (4, 2, 3)");
        let deleted = conn.batch_execute("DELETE FROM users WHERE id = 1");
        let recounted = database.run(&["recount", "--dry-run"]);
        if deleted.is_err() || !recounted.stdout.contains("all counts agree") {
            wrong.push(format!(
                "{first}{second} {counts}: {deleted:?} {}",
                recounted.stdout
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The trigger of articles would change pairs, whose trigger would change articles.
#[test]
fn a_chain_of_triggers_back_to_the_parent_is_refused() {
    let database = TestDatabase::create();
    let of_article = "FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE";
    database.execute(&format!(
        "CREATE TABLE articles (id BIGINT PRIMARY KEY, commenters BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE comments (id BIGINT PRIMARY KEY, article_id BIGINT, user_id BIGINT, {of_article});
         CREATE TABLE pairs (article_id BIGINT, user_id BIGINT, comments BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (article_id, user_id), {of_article})"
    ));
    let comments = "count = ['article_id,user_id:pairs.comments']";
    database.count(&trigger("count_comments", "comments", comments));
    let pairs = "count = ['article_id:articles.commenters']\nwhen = 'comments > 0'";
    let pairs = trigger("count_pairs", "pairs", pairs);
    let generated = database.generate(&format!("{}\n{pairs}", database.defined()));
    generated.fails("could not delete any row of articles");
}

/// Each of them can delete rows.
#[test]
fn two_foreign_keys_of_one_column_are_counted() {
    for [of_users, of_profiles] in [
        ["NO ACTION", "CASCADE"],
        ["CASCADE", "CASCADE"],
        ["SET NULL", "CASCADE"],
    ] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE users (id BIGINT PRIMARY KEY);
             CREATE TABLE profiles (user_id BIGINT PRIMARY KEY);
             CREATE TABLE user_counters (user_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 posts BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (user_id, day, slot));
             CREATE TABLE posts (id BIGINT PRIMARY KEY, user_id BIGINT,
                 CONSTRAINT a_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE {of_users},
                 CONSTRAINT b_profiles FOREIGN KEY (user_id) REFERENCES profiles (user_id) ON DELETE {of_profiles});
             INSERT INTO users VALUES (1), (2), (3);
             INSERT INTO profiles VALUES (1), (2), (3)"
        ));
        let count = "count = ['user_id:user_counters.posts']";
        database.count(&trigger("count_posts", "posts", count));
        let conn = &mut open(&database);
        conn.run(
            "INSERT INTO posts VALUES (1, 1), (2, 1), (3, 2), (4, 3);
             DELETE FROM profiles WHERE user_id = 1",
        );
        database.assert_agrees();
        if of_users != "NO ACTION" {
            conn.run("DELETE FROM users WHERE id = 2");
            database.assert_agrees();
        }
        database.command("check user_counters").works();
    }
}

/// The rows' collation takes texts as equal that are two entities.
#[test]
fn a_cascade_tells_texts_apart_as_the_counters_do() {
    for counters in [
        "day DATE NOT NULL, slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (path, day, slot)",
        "hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (path)",
    ] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE sites (id BIGINT PRIMARY KEY);
             CREATE TABLE paths (path {TEXT} NOT NULL, {counters});
             CREATE TABLE hits (id BIGINT PRIMARY KEY, site_id BIGINT,
                 path VARCHAR(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL,
                 FOREIGN KEY (site_id) REFERENCES sites (id) ON DELETE CASCADE);
             INSERT INTO sites VALUES (1), (2)"
        ));
        if !counters.contains("slot") {
            database.execute("INSERT INTO paths (path) VALUES ('/a'), ('/A')");
        }
        let count = "count = ['path:paths.hits']";
        database.count(&trigger("count_hits", "hits", count));
        open(&database).run(
            "INSERT INTO hits VALUES (1, 1, '/a'), (2, 1, '/A'), (3, 1, '/A'), (4, 2, '/a');
             DELETE FROM sites WHERE id = 1",
        );
        database.assert_agrees();
    }
}
