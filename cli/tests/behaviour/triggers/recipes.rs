//! The recipes of docs/triggers.md, as they stand there.

use std::path::Path;
use std::process::Command;

use diesel::connection::SimpleConnection;

use super::{OTHER_COUNTERS, PARENTS, integer, likes_of, migrate, number, open};
use crate::{BACKEND, REFERENCE, TestDatabase};

const DOCS: &str = include_str!("../../../../docs/triggers.md");

/// A database with articles and counters.
fn blog() -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(PARENTS);
    database.execute(REFERENCE);
    database
}

/// Runs the SQL and the commands under a heading.
fn run(heading: &str, database: &TestDatabase) {
    let section = DOCS
        .split("\n## ")
        .find(|section| section.starts_with(heading));
    let mut blocks = section.unwrap().split("\n```").skip(1).step_by(2);
    let folder = tempfile::tempdir().unwrap();
    blocks
        .by_ref()
        .for_each(|block| match block.split_once('\n').unwrap() {
            ("sql", sql) => database.execute(sql),
            ("sh", commands) => {
                let commands = commands.replace("diesel migration run", "");
                let command = Path::new(env!("CARGO_BIN_EXE_diesel-counters"));
                let path = std::env::var("PATH").unwrap();
                let ran = Command::new("sh")
                    .args(["-ec", &commands])
                    .env(
                        "PATH",
                        format!("{}:{path}", command.parent().unwrap().display()),
                    )
                    .env("DATABASE_URL", database.url())
                    .env("MIGRATION_DIRECTORY", folder.path())
                    .output()
                    .unwrap();
                assert!(
                    ran.status.success(),
                    "{commands}: {}",
                    String::from_utf8_lossy(&ran.stderr)
                );
                migrate(database, &folder);
            }
            _ => {}
        });
}

fn do_nothing() -> &'static str {
    match BACKEND {
        "mysql" => "ON DUPLICATE KEY UPDATE article_id = article_id",
        _ => "ON CONFLICT DO NOTHING",
    }
}

#[test]
fn a_like_counts_once() {
    let database = blog();
    run("Likes", &database);
    let conn = &mut open(&database);
    for _ in 0..100 {
        let like = format!(
            "INSERT INTO article_likes (article_id, user_id) VALUES (1, 7) {}",
            do_nothing()
        );
        conn.batch_execute(&like).unwrap();
    }
    assert_eq!(likes_of(1, conn), 1);
    conn.batch_execute("INSERT INTO article_likes (article_id, user_id) VALUES (1, 8)")
        .unwrap();
    assert_eq!(likes_of(1, conn), 2);
    conn.batch_execute("DELETE FROM article_likes WHERE user_id = 7")
        .unwrap();
    assert_eq!(likes_of(1, conn), 1);
    run("Check and recount", &database);
}

#[test]
fn a_view_counts_once_for_each_visitor_and_day() {
    let database = blog();
    run("A view", &database);
    let conn = &mut open(&database);
    for (visitor, day) in [("a", 1), ("a", 1), ("b", 1), ("a", 2)] {
        conn.batch_execute(&format!(
            "INSERT INTO article_views VALUES (1, '{visitor}', '2026-01-0{day}') {}",
            do_nothing()
        ))
        .unwrap();
    }
    let views = |day| {
        format!(
            "SELECT CAST(SUM(views) AS {}) FROM article_counters WHERE day = '2026-01-0{day}'",
            integer()
        )
    };
    assert_eq!([1, 2].map(|day| number(&views(day), conn)), [2, 1]);
}

#[test]
fn a_comment_counts_for_its_article_its_writer_and_the_site() {
    let database = blog();
    database.execute(
        &OTHER_COUNTERS
            .replace("user", "writer")
            .replace("stars", "words")
            .replace("likes", "comments")
            .replace("REFERENCES writers", "REFERENCES users"),
    );
    database.execute(
        "CREATE TABLE comments (
             id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL, writer_id BIGINT, words INTEGER NOT NULL,
             approved BOOLEAN NOT NULL, deleted_at TIMESTAMP NULL, created_at TIMESTAMP NOT NULL,
             FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE,
             FOREIGN KEY (writer_id) REFERENCES users (id) ON DELETE SET NULL
         )",
    );
    run("What a row counts", &database);
    let conn = &mut open(&database);
    conn.batch_execute(
        "INSERT INTO comments VALUES
             (1, 1, 1, 10, TRUE, NULL, '2026-01-01 10:00:00'),
             (2, 1, NULL, 20, TRUE, NULL, '2026-01-01 10:00:00'),
             (3, 2, 1, 40, FALSE, NULL, '2026-01-02 10:00:00'),
             (4, 2, 2, 80, TRUE, NULL, '2026-01-02 10:00:00')",
    )
    .unwrap();
    let mut counts = || {
        [
            ("comments", "article_counters WHERE article_id = 1"),
            ("comments", "article_counters WHERE article_id = 2"),
            ("words", "writer_counters"),
            ("comments", "site_counters"),
        ]
        .map(|(counter, of)| {
            let sum = format!("SELECT CAST(SUM({counter}) AS {}) FROM {of}", integer());
            number(&sum, conn)
        })
    };
    assert_eq!(counts(), [2, 1, 90, 3]);
    database.execute("UPDATE comments SET approved = TRUE WHERE id = 3");
    assert_eq!(counts(), [2, 2, 130, 4]);
    database.execute("UPDATE comments SET deleted_at = '2026-02-01 00:00:00' WHERE id = 1");
    assert_eq!(counts(), [1, 2, 120, 3]);
}
