//! What triggers would count wrong is refused, and what only looks like a definition is none.

use diesel::connection::SimpleConnection;
use tempfile::tempdir;

use super::{LIKES_OF_ARTICLES, counted, generate, likes_of, migrate, number, open, tables};
use crate::{BACKEND, TestDatabase};

/// A cascade changes the rows after their entity: a trigger would add them to what the entity holds already.
#[test]
fn a_foreign_key_that_changes_the_key_of_a_count_in_a_column_is_refused_or_counted() {
    for action in ["ON UPDATE CASCADE", "ON UPDATE SET NULL"] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE article_likes (id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT,
                 FOREIGN KEY (post_id) REFERENCES posts (id) {action});
             INSERT INTO posts (id) VALUES (1), (3);
             INSERT INTO article_likes VALUES (1, 1), (2, 1), (3, 1), (4, 3)"
        ));
        let folder = tempdir().unwrap();
        let ran = database.run(&[
            "generate",
            "trigger",
            "count_likes",
            "--rows",
            "article_likes",
            "--count",
            "post_id:posts.likes",
            "--migration-dir",
            folder.path().to_str().unwrap(),
        ]);
        if ran.code != 0 {
            assert!(ran.stderr.contains("ON UPDATE"), "{ran:?}");
            continue;
        }
        migrate(&database, &folder);
        let conn = &mut open(&database);
        conn.batch_execute("UPDATE posts SET id = 2 WHERE id = 1")
            .unwrap();
        let wrong = "SELECT COUNT(*) FROM posts WHERE likes <> (SELECT COUNT(*) FROM article_likes WHERE post_id = posts.id)";
        assert_eq!(number(wrong, conn), 0, "{action}");
    }
}

/// It fails if somebody reads it.
#[test]
fn a_view_with_the_column_of_a_definition_is_not_run() {
    let database = tables(true);
    counted(&database, &LIKES_OF_ARTICLES);
    let value = match BACKEND {
        "postgres" => "CAST(1 / (SELECT COUNT(*) FROM users WHERE id < 0) AS TEXT)",
        "mysql" => "CAST((SELECT id FROM users) AS CHAR)",
        _ => "CAST(abs(-9223372036854775807 - (SELECT MIN(id) FROM users)) AS TEXT)",
    };
    let conn = &mut open(&database);
    conn.batch_execute(&format!(
        "CREATE VIEW planted AS SELECT {value} AS diesel_counters_trigger;
         INSERT INTO article_likes (id, article_id) VALUES (1, 1)"
    ))
    .unwrap();
    for args in [
        &["recount", "--dry-run"][..],
        &["recount"],
        &["check", "article_counters"],
    ] {
        let ran = database.run(args);
        let is_named = ran.stderr.contains("planted") && ran.stderr.contains("cannot read");
        assert!(ran.code == 0 || is_named, "{ran:?}");
    }
    assert_eq!(likes_of(1, conn), 1);
}

#[test]
fn what_cannot_be_a_key_or_a_condition_is_told_by_what_can() {
    let database = tables(true);
    database.execute(
        "CREATE TABLE deep_counters (
             a BIGINT NOT NULL, b BIGINT NOT NULL, c BIGINT NOT NULL, d BIGINT NOT NULL, e BIGINT NOT NULL,
             f BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (a, b, c, d, e, f, day, slot)
         )",
    );
    for (count, says) in [
        (
            "id:deep_counters.hits",
            "deep_counters has 6 columns before its day and slot: a counter table has up to 5",
        ),
        (
            "abs(article_id):article_counters.likes",
            "an entity is named by columns, and not by expressions",
        ),
    ] {
        let (ran, _) = generate(&database, &["--count", count]);
        assert!(ran.code == 1 && ran.stderr.contains(says), "{ran:?}");
    }
    let (ran, _) = generate(&database, &LIKES_OF_ARTICLES);
    let says = "Rows of article_likes whose article_id is NULL, for the counters of that column.";
    assert!(ran.stdout.contains(says), "{ran:?}");
}

/// The one does not depend on the time zone of the session, and the other one does.
#[test]
fn two_times_of_one_type_can_be_compared() {
    let zoned = match BACKEND {
        "postgres" => "TIMESTAMPTZ",
        _ => "TIMESTAMP",
    };
    let database = tables(true);
    database.execute(&format!(
        "CREATE TABLE parcels (
             id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT,
             delivered_at {zoned} NULL, due_at {zoned} NULL
         )"
    ));
    let generate = |when: &str| {
        let count = "article_id:article_counters.likes";
        let args = ["generate", "trigger", "count_parcels", "--rows", "parcels"];
        database.run(&[&args[..], &["--count", count, "--when", when, "--stdout"]].concat())
    };
    let compared = generate("delivered_at <= due_at");
    assert_eq!(compared.code, 0, "{compared:?}");
    let zoned = generate("delivered_at <= '2026-01-01'");
    assert_eq!(zoned.code == 1, BACKEND != "sqlite", "{zoned:?}");
}
