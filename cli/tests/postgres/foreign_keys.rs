//! Foreign keys that are not validated, deferred, or in any order.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use itertools::Itertools;

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::{OF_ARTICLES, cascades, count_likes, likes, number, open, tables};

/// Rows without an entity are there in spite of the foreign key.
#[test]
fn a_foreign_key_that_was_not_validated_is_none() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE article_likes (post_id BIGINT NOT NULL, who TEXT NOT NULL);
         INSERT INTO posts VALUES (1, 0); INSERT INTO article_likes VALUES (1, 'a'), (77, 'b');
         ALTER TABLE article_likes ADD FOREIGN KEY (post_id) REFERENCES posts NOT VALID",
    );
    database.count(&count_likes("count = ['post_id:posts.likes']"));
    database.assert_agrees();
}

#[test]
fn a_foreign_key_that_was_not_validated_leaves_rows_without_an_entity() {
    let database = tables(true);
    database.execute(
        "ALTER TABLE article_likes DROP CONSTRAINT article_likes_article_id_fkey;
         INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 77);
         ALTER TABLE article_likes ADD FOREIGN KEY (article_id) REFERENCES articles
             ON DELETE CASCADE NOT VALID",
    );
    database.count(&count_likes(OF_ARTICLES));
    let conn = &mut open(&database);
    conn.run("UPDATE article_likes SET id = id + 10, stars = 2");
    conn.run("DELETE FROM article_likes WHERE article_id = 77");
    assert_eq!(likes([1, 77], conn), [1, 0]);
    database.assert_agrees();
}

/// It refuses counts of an entity that is gone, as any foreign key does.
#[test]
fn a_foreign_key_of_the_counters_that_was_not_validated_acts() {
    let database = tables(true);
    database.execute(
        "ALTER TABLE article_counters DROP CONSTRAINT article_counters_article_id_fkey;
         ALTER TABLE article_counters ADD FOREIGN KEY (article_id) REFERENCES articles
             ON DELETE CASCADE NOT VALID",
    );
    database.count(&count_likes(OF_ARTICLES));
    let conn = &mut open(&database);
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 2)");
    conn.run("DELETE FROM articles WHERE id = 1");
    assert_eq!(likes([1, 2], conn), [0, 1]);
    database.assert_agrees();
    // Its rows are those of other entities.
    database.execute(
        "ALTER TABLE article_counters DROP CONSTRAINT article_counters_article_id_fkey;
         ALTER TABLE article_counters ADD FOREIGN KEY (article_id) REFERENCES users NOT VALID",
    );
    let others = trigger("count_others", "article_likes", OF_ARTICLES);
    let generated = database.generate(&others);
    generated.fails("rows would count for the wrong entities");
}

/// It says which values a column has.
#[test]
fn a_foreign_key_that_was_not_validated_names_the_key() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE users (id BIGINT PRIMARY KEY);
         CREATE TABLE profiles (
             id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL UNIQUE REFERENCES users,
             posts BIGINT NOT NULL DEFAULT 0
         );
         CREATE TABLE posts (id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL);
         INSERT INTO users VALUES (1), (2); INSERT INTO profiles VALUES (1, 2), (2, 1);
         INSERT INTO posts VALUES (1, 1), (2, 77);
         ALTER TABLE posts ADD FOREIGN KEY (user_id) REFERENCES users NOT VALID",
    );
    let count = "count = ['user_id:profiles.posts']";
    database.count(&trigger("count_posts", "posts", count));
    let conn = &mut open(&database);
    conn.run("INSERT INTO posts VALUES (3, 1)");
    let posts = |id| format!("SELECT posts FROM profiles WHERE id = {id}");
    assert_eq!([1, 2].map(|id| number(&posts(id), conn)), [0, 2]);
    database.assert_agrees();
}

#[test]
fn a_key_that_an_update_cascades_is_refused() {
    let database = tables(true);
    database.execute(
        "ALTER TABLE article_counters DROP CONSTRAINT article_counters_article_id_fkey;
         ALTER TABLE article_counters ADD FOREIGN KEY (article_id) REFERENCES articles (id)
             ON DELETE CASCADE ON UPDATE CASCADE",
    );
    let generated = database.generate(&count_likes(OF_ARTICLES));
    generated.fails("Remove ON UPDATE CASCADE first");
}

/// The server runs the actions of foreign keys in the order in which these were created.
#[test]
fn what_several_foreign_keys_change_is_counted_in_each_order() {
    let deleted = cascades::deleted();
    let mut number = 0;
    for condition in cascades::CONDITIONS {
        for deferrable in ["", "DEFERRABLE INITIALLY DEFERRED"] {
            let database = cascades::counted(true, deferrable, condition);
            let conn = &mut open(&database);
            let definitions = "SELECT string_agg(format('%s %s %s', conrelid::regclass, conname,
                    pg_get_constraintdef(oid)), ';') FROM pg_constraint
                WHERE conname IN ('user_of_article', 'article_of_counter', 'article_of_comment',
                    'writer_of_comment', 'user_of_counter')";
            let definitions =
                diesel::dsl::sql::<diesel::sql_types::Text>(&format!("({definitions})"));
            let definitions: String = diesel::select(definitions).get_result(conn).unwrap();
            for order in definitions.split(';').permutations(5) {
                let again = order.iter().map(|definition| {
                    let mut words = definition.splitn(3, ' ');
                    let mut next = || words.next().unwrap();
                    let (table, name, definition) = (next(), next(), next());
                    format!(
                        "ALTER TABLE {table} DROP CONSTRAINT {name};
                         ALTER TABLE {table} ADD CONSTRAINT {name} {definition};"
                    )
                });
                conn.run(&again.collect::<String>());
                // The server itself cannot run some of them: it checks a row again that it changes
                // twice, and whose article is gone.
                let runs = |deleted: &&str| {
                    let alone = format!(
                        "BEGIN; ALTER TABLE comments DISABLE TRIGGER USER;
                         DELETE FROM {deleted}; SET CONSTRAINTS ALL IMMEDIATE"
                    );
                    let runs = conn.batch_execute(&alone).is_ok();
                    conn.run("ROLLBACK");
                    runs
                };
                let deleted: Vec<_> = deleted.iter().copied().filter(runs).collect();
                number += deleted.len();
                cascades::assert_counted(
                    &deleted,
                    condition,
                    "SET CONSTRAINTS ALL IMMEDIATE",
                    conn,
                );
            }
        }
    }
    assert!(number > 2000, "{number}");
}

#[test]
fn rows_can_come_before_their_entity() {
    let database = tables(true);
    database.execute(
        "ALTER TABLE article_likes ALTER CONSTRAINT article_likes_article_id_fkey
             DEFERRABLE INITIALLY DEFERRED",
    );
    let why = "Make it DEFERRABLE INITIALLY DEFERRED too";
    database.generate(&count_likes(OF_ARTICLES)).fails(why);
    let counters = "ALTER TABLE article_counters ALTER CONSTRAINT article_counters_article_id_fkey";
    database.execute(&format!("{counters} DEFERRABLE INITIALLY DEFERRED"));
    database.count(&count_likes(OF_ARTICLES));
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1), (3, 2);
         BEGIN;
         INSERT INTO article_likes (id, article_id) VALUES (4, 8), (5, 8), (6, 8);
         DELETE FROM article_likes WHERE id = 4;
         UPDATE article_likes SET article_id = 1 WHERE id = 5;
         UPDATE article_likes SET article_id = 9 WHERE id IN (1, 3);
         INSERT INTO articles VALUES (8), (9);
         COMMIT",
    );
    assert_eq!(likes([1, 2, 8, 9], conn), [2, 0, 1, 2]);
    conn.run("DELETE FROM articles WHERE id IN (8, 9)");
    database.assert_agrees();
    assert_eq!(database.run(&["check", "article_counters"]).code, 0);
    database.execute(&format!("{counters} NOT DEFERRABLE"));
    database.command("check article_counters --json").finds(why);
}

/// The foreign key would refuse that at the end of the transaction, if there were rows left.
#[test]
fn rows_can_be_truncated_after_their_entity_is_gone() {
    let database = tables(true);
    database.execute(
        "ALTER TABLE article_likes DROP CONSTRAINT article_likes_article_id_fkey;
         ALTER TABLE article_likes ADD FOREIGN KEY (article_id) REFERENCES articles
             DEFERRABLE INITIALLY DEFERRED;
         ALTER TABLE article_counters ALTER CONSTRAINT article_counters_article_id_fkey
             DEFERRABLE INITIALLY DEFERRED",
    );
    database.count(&count_likes(OF_ARTICLES));
    let conn = &mut open(&database);
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1), (3, 2)");
    conn.run("BEGIN; DELETE FROM articles WHERE id = 1; TRUNCATE article_likes; COMMIT");
    assert_eq!(likes([1, 2], conn), [0, 0]);
    database.assert_agrees();
}
