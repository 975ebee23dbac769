//! The recipes of docs/triggers.md, as they stand there.

use crate::behaviour::Execute;
use std::path::Path;
use std::process::Command;

use super::{OTHER_COUNTERS, PARENTS, integer, likes_of, number, open};
use crate::{BACKEND, Conn, REFERENCE, TestDatabase};

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
    let files = tempfile::tempdir().unwrap();
    blocks
        .by_ref()
        .for_each(|block| match block.split_once('\n').unwrap() {
            (language, sql) if is_here(language) => database.execute(&match BACKEND {
                "mysql" => sql.replace("AS BIGINT", "AS SIGNED"),
                _ => sql.to_owned(),
            }),
            ("toml", definitions) => {
                std::fs::write(files.path().join("counters.toml"), definitions).unwrap();
            }
            ("sh", commands) => {
                let commands = commands.replace("diesel migration", "true");
                let commands = commands.replace("cd migrations/", "true ");
                let command = Path::new(env!("CARGO_BIN_EXE_diesel-counters"));
                let folder = command.parent().unwrap().display();
                let path = format!("{folder}:{}", std::env::var("PATH").unwrap());
                let mut shell = Command::new("sh");
                let shell = shell.args(["-ec", &commands]).current_dir(&files);
                let environment = [("PATH", path), ("DATABASE_URL", database.url())];
                let ran = shell.envs(environment).output().unwrap();
                assert!(ran.status.success(), "{commands}: {ran:?}");
                let up = files.path().join("up.sql");
                if let Ok(sql) = std::fs::read_to_string(&up) {
                    open(database).run(&sql);
                    std::fs::remove_file(up).unwrap();
                }
            }
            _ => {}
        });
}

/// Whether it is SQL of this database: of all, or of those that follow `sql`.
fn is_here(language: &str) -> bool {
    let mut words = language.split(' ');
    words.next() == Some("sql") && (language == "sql" || words.any(|word| word == BACKEND))
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
        let like = "INSERT INTO article_likes (article_id, user_id) VALUES (1, 7)";
        conn.run(&format!("{like} {}", do_nothing()));
    }
    assert_eq!(likes_of(1, conn), 1);
    conn.run("INSERT INTO article_likes (article_id, user_id) VALUES (1, 8)");
    assert_eq!(likes_of(1, conn), 2);
    conn.run("DELETE FROM article_likes WHERE user_id = 7");
    assert_eq!(likes_of(1, conn), 1);
    run("Check and recount", &database);
}

#[test]
fn a_view_counts_once_for_each_visitor_and_day() {
    let database = blog();
    run("A view", &database);
    let conn = &mut open(&database);
    for (visitor, day) in [("a", 1), ("a", 1), ("b", 1), ("a", 2)] {
        conn.run(&format!(
            "INSERT INTO article_views VALUES (1, '{visitor}', '2026-01-0{day}') {}",
            do_nothing()
        ));
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
    conn.run(
        "INSERT INTO comments VALUES
             (1, 1, 1, 10, TRUE, NULL, '2026-01-01 10:00:00'),
             (2, 1, NULL, 20, TRUE, NULL, '2026-01-01 10:00:00'),
             (3, 2, 1, 40, FALSE, NULL, '2026-01-02 10:00:00'),
             (4, 2, 2, 80, TRUE, NULL, '2026-01-02 10:00:00')",
    );
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

/// A blog with likes, and a column that counts them.
fn blog_with_likes() -> TestDatabase {
    let database = blog();
    database.execute(LIKES);
    database.execute("ALTER TABLE articles ADD COLUMN like_count BIGINT NOT NULL DEFAULT 0");
    database
}

const LIKES: &str = "
    CREATE TABLE article_likes (
        article_id BIGINT NOT NULL, user_id BIGINT NOT NULL, PRIMARY KEY (article_id, user_id),
        FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
    );
    INSERT INTO article_likes VALUES (1, 1), (1, 2), (2, 1)";

fn likes_in(column: &str, conn: &mut Conn) -> [i64; 3] {
    let (table, column) = column.split_once('.').unwrap();
    let key = if table == "articles" {
        "id"
    } else {
        "article_id"
    };
    let likes = |id| format!("SELECT {column} FROM {table} WHERE {key} = {id}");
    [1, 2, 3].map(|id| number(&likes(id), conn))
}

fn write_likes(conn: &mut Conn) {
    conn.run(
        "INSERT INTO article_likes VALUES (3, 1), (3, 2); DELETE FROM article_likes WHERE article_id = 2",
    );
}

#[test]
fn a_column_that_was_counted_in_becomes_exact() {
    let database = blog_with_likes();
    database.execute("UPDATE articles SET like_count = 7");
    run("From a column", &database);
    let conn = &mut open(&database);
    assert_eq!(likes_in("articles.like_count", conn), [2, 1, 0]);
    write_likes(conn);
    assert_eq!(likes_in("articles.like_count", conn), [2, 0, 2]);
}

#[test]
fn a_view_takes_the_place_of_a_statistics_table() {
    let database = blog_with_likes();
    database.execute(
        "CREATE TABLE article_statistics (article_id BIGINT NOT NULL PRIMARY KEY, like_count BIGINT NOT NULL)",
    );
    run("From a statistics table", &database);
    let conn = &mut open(&database);
    assert_eq!(likes_in("article_statistics.like_count", conn), [2, 1, 0]);
    write_likes(conn);
    assert_eq!(likes_in("article_statistics.like_count", conn), [2, 0, 2]);
}

#[test]
fn triggers_of_ones_own_are_replaced() {
    let database = blog_with_likes();
    let update = "UPDATE articles SET like_count = like_count + 1 WHERE id = NEW.article_id";
    database.execute(&match BACKEND {
        "postgres" => format!(
            "CREATE FUNCTION count_like() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN {update}; RETURN NULL; END $$;
             CREATE TRIGGER count_like AFTER INSERT ON article_likes FOR EACH ROW EXECUTE FUNCTION count_like()"
        ),
        _ => format!(
            "CREATE TRIGGER count_like AFTER INSERT ON article_likes FOR EACH ROW BEGIN {update}; END"
        ),
    });
    run("From triggers of your own", &database);
    let conn = &mut open(&database);
    write_likes(conn);
    assert_eq!(likes_in("articles.like_count", conn), [2, 0, 2]);
    database.command("check").works();
}

#[test]
fn a_maximum_stays_a_subquery() {
    let database = blog();
    database.execute(
        "CREATE TABLE comments (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL, created_at TIMESTAMP NOT NULL);
         INSERT INTO comments VALUES (1, 1, '2026-01-01 10:00:00'), (2, 1, '2026-01-02 10:00:00')",
    );
    run("A maximum", &database);
    let refused = database.command("generate trigger count_last --rows comments --count article_id:article_counters.comments=max(created_at)");
    refused.fails("subquery");
}

#[test]
fn a_file_of_definitions_is_one_migration() {
    let database = blog();
    database.execute(
        "CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, tag_count BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE tags (id BIGINT NOT NULL PRIMARY KEY);
         CREATE TABLE post_tags (post_id BIGINT NOT NULL, tag_id BIGINT NOT NULL, PRIMARY KEY (post_id, tag_id),
             FOREIGN KEY (post_id) REFERENCES posts (id) ON DELETE CASCADE,
             FOREIGN KEY (tag_id) REFERENCES tags (id) ON DELETE CASCADE);
         CREATE TABLE tag_counters (tag_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             usages BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (tag_id, day, slot));
         CREATE TABLE site_counters (day DATE NOT NULL, slot SMALLINT NOT NULL,
             comments BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (day, slot));
         CREATE TABLE comments (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL, approved BOOLEAN NOT NULL,
             created_at TIMESTAMP NOT NULL, FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE);
         INSERT INTO posts VALUES (1, 0);
         INSERT INTO tags VALUES (1), (2)",
    );
    run("Several tables", &database);
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO post_tags VALUES (1, 1), (1, 2);
         INSERT INTO comments VALUES (1, 1, TRUE, '2026-01-01 10:00:00'), (2, 1, FALSE, '2026-01-01 10:00:00')",
    );
    let mut count = |counter: &str, table: &str| {
        let sum = format!("SELECT CAST(SUM({counter}) AS {}) FROM {table}", integer());
        number(&sum, conn)
    };
    assert_eq!(count("tag_count", "posts"), 2);
    assert_eq!(count("usages", "tag_counters"), 2);
    assert_eq!(count("comments", "site_counters"), 1);
    assert_eq!(count("comments", "article_counters"), 1);
}
