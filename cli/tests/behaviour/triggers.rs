//! `generate trigger`.

mod broken;
pub mod cascades;
mod columns;
mod random;
mod recipes;
mod refused;
mod writers;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_migrations::{FileBasedMigrations, MigrationHarness};
use tempfile::{TempDir, tempdir};

use super::Ran;
use crate::{BACKEND, Conn, REFERENCE, TestDatabase};

/// Rows, which refer to articles and users, and may refer to none.
const LIKES: &str = "
    CREATE TABLE article_likes (
        id         BIGINT    NOT NULL PRIMARY KEY,
        article_id BIGINT,
        user_id    BIGINT,
        stars      INTEGER   NOT NULL DEFAULT 1,
        approved   BOOLEAN   NOT NULL DEFAULT TRUE,
        created_at TIMESTAMP NOT NULL DEFAULT '2026-01-01 00:00:00',
        UNIQUE (article_id, user_id),
        FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE,
        FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE SET NULL
    )";

const PARENTS: &str = "
    CREATE TABLE articles (id BIGINT NOT NULL PRIMARY KEY);
    CREATE TABLE users (id BIGINT NOT NULL PRIMARY KEY);
    INSERT INTO articles VALUES (1), (2), (3), (4), (5);
    INSERT INTO users VALUES (1), (2), (3), (4), (5)";

const OTHER_COUNTERS: &str = "
    CREATE TABLE user_counters (
        user_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        stars BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (user_id, day, slot),
        FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
    );
    CREATE TABLE site_counters (
        day DATE NOT NULL, slot SMALLINT NOT NULL, likes BIGINT NOT NULL DEFAULT 0,
        PRIMARY KEY (day, slot)
    )";

/// A connection as an application has it.
pub fn open(database: &TestDatabase) -> Conn {
    let mut conn = database.connect();
    conn.batch_execute(match BACKEND {
        "sqlite" => {
            "PRAGMA busy_timeout = 60000; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON"
        }
        // Transactions that write the same rows in another order deadlock.
        "postgres" => "SET deadlock_timeout = '10ms'",
        _ => "DO 0",
    })
    .unwrap();
    conn
}

/// The tables, in this order or in the other one: so are the cascades of their foreign keys.
pub fn tables(is_rows_first: bool) -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(PARENTS);
    let counters = format!("{REFERENCE}{OTHER_COUNTERS}");
    let (first, second) = match is_rows_first {
        true => (LIKES, &*counters),
        false => (&*counters, LIKES),
    };
    database.execute(first);
    database.execute(second);
    database
}

/// Runs `generate trigger count_likes` for article_likes.
pub fn generate(database: &TestDatabase, args: &[&str]) -> (Ran, TempDir) {
    let folder = tempdir().unwrap();
    let mut all = vec![
        "generate",
        "trigger",
        "count_likes",
        "--rows",
        "article_likes",
    ];
    all.extend(["--migration-dir", folder.path().to_str().unwrap()]);
    all.extend(args);
    (database.run(&all), folder)
}

pub fn migrate(database: &TestDatabase, folder: &TempDir) {
    let migrations = FileBasedMigrations::from_path(folder.path()).unwrap();
    let mut conn = open(database);
    conn.run_pending_migrations(migrations).unwrap();
}

/// Generates the triggers, and creates them.
pub fn counted(database: &TestDatabase, args: &[&str]) {
    let (ran, folder) = generate(database, args);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    migrate(database, &folder);
}

/// What is counted: likes and stars of an article, stars of a user, and likes of the whole site.
const COUNTS: [&str; 8] = [
    "--count",
    "article_id:article_counters.likes",
    "--count",
    "article_id:article_counters.comments=stars",
    "--count",
    "user_id:user_counters.stars=stars",
    "--count",
    "site_counters.likes",
];
pub const LIKES_OF_ARTICLES: [&str; 2] = ["--count", "article_id:article_counters.likes"];

pub fn number(query: &str, conn: &mut Conn) -> i64 {
    let query = diesel::dsl::sql::<BigInt>(&format!("({query})"));
    diesel::select(query).get_result(conn).unwrap()
}

pub fn likes_of(article: i64, conn: &mut Conn) -> i64 {
    let query = format!(
        "SELECT COALESCE(SUM(likes), 0) FROM article_counters WHERE article_id = {article}"
    );
    number(&format!("SELECT CAST(({query}) AS {})", integer()), conn)
}

fn integer() -> &'static str {
    if BACKEND == "mysql" {
        "SIGNED"
    } else {
        "BIGINT"
    }
}

#[test]
fn rows_are_counted_whoever_writes_them() {
    let database = tables(true);
    counted(&database, &LIKES_OF_ARTICLES);
    let conn = &mut open(&database);
    let mut run = |sql: &str, expected: [i64; 2]| {
        conn.batch_execute(sql).unwrap();
        assert_eq!(
            [1, 2].map(|article| likes_of(article, conn)),
            expected,
            "{sql}"
        );
    };
    run(
        "INSERT INTO article_likes (id, article_id, user_id) VALUES (1, 1, 1)",
        [1, 0],
    );
    run(
        "INSERT INTO article_likes (id, article_id, user_id) VALUES (2, 1, 2), (3, 2, 3), (4, NULL, 1)",
        [2, 1],
    );
    run(
        "UPDATE article_likes SET article_id = 2 WHERE id = 1",
        [1, 2],
    );
    run(
        "UPDATE article_likes SET article_id = NULL WHERE id = 3",
        [1, 1],
    );
    run("UPDATE article_likes SET stars = 5", [1, 1]);
    run("BEGIN; DELETE FROM article_likes; ROLLBACK", [1, 1]);
    run("DELETE FROM articles WHERE id = 2", [1, 0]);
    run("DELETE FROM article_likes", [0, 0]);
}

#[test]
fn rows_without_foreign_keys_count_for_the_entities_that_exist() {
    let database = TestDatabase::create();
    database.execute(PARENTS);
    database.execute(&format!("{REFERENCE}{OTHER_COUNTERS}"));
    database.execute(
        "CREATE TABLE article_likes (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT, user_id BIGINT);
         INSERT INTO article_likes VALUES (1, 1, 1), (2, 1, 99), (3, 99, 1), (4, 1, 1)",
    );
    counted(
        &database,
        &[
            &LIKES_OF_ARTICLES[..],
            &["--count", "user_id:user_counters.stars"],
        ]
        .concat(),
    );
    let conn = &mut open(&database);
    conn.batch_execute("DELETE FROM article_likes WHERE id = 4")
        .unwrap();
    let stars = format!(
        "SELECT CAST(SUM(stars) AS {}) FROM user_counters",
        integer()
    );
    assert_eq!((likes_of(1, conn), number(&stars, conn)), (2, 2));
}

#[test]
fn what_has_the_name_already_is_not_replaced() {
    let database = tables(true);
    let (what, create) = match BACKEND {
        "postgres" => (
            "function",
            "CREATE FUNCTION count_likes() RETURNS INTEGER LANGUAGE sql AS 'SELECT 1'",
        ),
        _ => (
            "table or view",
            "CREATE VIEW count_likes AS SELECT COUNT(*) AS likes FROM article_likes",
        ),
    };
    database.execute(create);
    let (ran, _) = generate(&database, &LIKES_OF_ARTICLES);
    let says = format!("there is a {what} count_likes already");
    assert!(ran.stderr.contains(&says), "{ran:?}");
}

#[test]
fn an_update_that_does_not_matter_writes_nothing() {
    let database = tables(true);
    counted(
        &database,
        &[&LIKES_OF_ARTICLES[..], &["--when", "stars > 0"]].concat(),
    );
    let conn = &mut open(&database);
    conn.batch_execute("INSERT INTO article_likes (id, article_id) VALUES (1, 1)")
        .unwrap();
    conn.batch_execute("UPDATE article_counters SET slot = slot + 1000")
        .unwrap();
    conn.batch_execute("UPDATE article_likes SET stars = 7, user_id = 3")
        .unwrap();
    assert_eq!(number("SELECT COUNT(*) FROM article_counters", conn), 1);
}

#[test]
fn existing_rows_are_counted_by_the_migration() {
    for day in [None, Some("created_at")] {
        let database = tables(false);
        let mut conn = open(&database);
        conn.batch_execute(
            "INSERT INTO article_likes (id, article_id, user_id) VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1);
             INSERT INTO article_counters (article_id, day, slot, likes)
             VALUES (1, '2026-01-01', 1, 1), (3, '2026-01-01', 1, 5)",
        )
        .unwrap();
        let day = day.map(|day| ["--day", day]);
        let args = [
            &LIKES_OF_ARTICLES[..],
            day.as_ref().map_or(&[], |day| &day[..]),
        ]
        .concat();
        let (ran, folder) = generate(&database, &args);
        assert!(
            ran.stdout.contains("article_likes has 3 rows here"),
            "{ran:?}"
        );
        migrate(&database, &folder);
        assert_eq!(
            [1, 2, 3].map(|article| likes_of(article, &mut conn)),
            [2, 1, 0]
        );
        let migrations = FileBasedMigrations::from_path(folder.path()).unwrap();
        conn.revert_last_migration(migrations.clone()).unwrap();
        conn.batch_execute("DELETE FROM article_likes WHERE id = 1")
            .unwrap();
        conn.run_pending_migrations(migrations).unwrap();
        assert_eq!(
            [1, 2, 3].map(|article| likes_of(article, &mut conn)),
            [1, 1, 0]
        );
    }
}

#[test]
fn a_recount_corrects_what_was_written_past_the_triggers() {
    let database = tables(true);
    counted(
        &database,
        &[
            &LIKES_OF_ARTICLES[..],
            &[
                "--count",
                "site_counters.likes=stars",
                "--day",
                "created_at",
            ],
        ]
        .concat(),
    );
    let conn = &mut open(&database);
    conn.batch_execute(
        "INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1), (3, 2);
         UPDATE article_counters SET likes = likes + 40 WHERE article_id = 1;
         UPDATE site_counters SET likes = 0",
    )
    .unwrap();
    let dry = database.run(&["recount", "--dry-run"]);
    let expected = "count_likes: 2 counts would be corrected\n  \
        article_counters.likes of 1 on 2026-01-01: stored 42, rows 2\n  \
        site_counters.likes on 2026-01-01: stored 0, rows 3\n";
    assert_eq!(dry.stdout, expected, "{}", dry.stderr);
    let ran = database.run(&["recount", "count_likes"]);
    assert_eq!(
        ran.stdout,
        expected.replace("would be corrected", "corrected"),
        "{}",
        ran.stderr
    );
    let again = database.run(&["recount"]);
    assert_eq!(
        again.stdout,
        "count_likes: all counts agree with article_likes\n"
    );
    assert_eq!([1, 2].map(|article| likes_of(article, conn)), [2, 1]);
    let unknown = database.run(&["recount", "likes"]);
    assert!(
        unknown
            .stderr
            .contains("no triggers likes; there are count_likes"),
        "{unknown:?}"
    );
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let database = tables(true);
    for (args, why) in [
        (
            ["--count", "article_counters.likes"],
            "counts for each article_id",
        ),
        (
            ["--count", "article_id:site_counters.likes"],
            "counts for one thing only",
        ),
        (
            ["--count", "writer_id:article_counters.likes"],
            "article_likes has no column writer_id",
        ),
        (
            ["--count", "created_at:article_counters.likes"],
            "article_counters.article_id is",
        ),
        (
            ["--count", "article_id:article_counters.loves"],
            "has no counter loves",
        ),
        (
            ["--count", "article_id:articles.id"],
            "has no column id to count in",
        ),
    ] {
        let (ran, _) = generate(&database, &args);
        assert!(
            ran.code == 1 && ran.stderr.contains(why),
            "{args:?}: {}",
            ran.stderr
        );
    }
    for (option, value, why) in [
        (
            "--when",
            "aproved",
            "names aproved, and article_likes has no such column",
        ),
        (
            "--when",
            "created_at < CURRENT_TIMESTAMP",
            if BACKEND == "mysql" {
                "time zone"
            } else {
                "the database refuses"
            },
        ),
        ("--when", "user_id = ' Now'", "whose value changes"),
        (
            "--when",
            match BACKEND {
                "sqlite" => "stars > unixepoch()",
                "postgres" => "stars > extract(epoch FROM now())",
                _ => "stars > UNIX_TIMESTAMP()",
            },
            "the database refuses",
        ),
        (
            "--when",
            "stars < COUNT(*)",
            "has COUNT, which is of many rows",
        ),
        ("--by", "max(created_at)", "Read it by a subquery"),
        (
            "--by",
            "stars + ?",
            if BACKEND == "postgres" {
                "cannot read"
            } else {
                "has a placeholder"
            },
        ),
        (
            "--when",
            "user_id IN (SELECT id FROM users)",
            "has a subquery",
        ),
        ("--when", "approved AND", "cannot read the SQL expression"),
        ("--when", "approved\nOR TRUE", "has a control character"),
        ("--when", "approved -- by an editor", "has a comment"),
        (
            "--by",
            if BACKEND == "mysql" {
                "FLOOR(RAND())"
            } else {
                "random()"
            },
            "the database refuses",
        ),
        ("--day", "stars", "not a date or a time"),
        ("--day", "day", "article_likes has no column day"),
    ] {
        let (ran, _) = generate(
            &database,
            &[&LIKES_OF_ARTICLES[..], &[option, value]].concat(),
        );
        assert!(
            ran.code == 1 && ran.stderr.contains(why),
            "{value}: {}",
            ran.stderr
        );
    }
}

/// A row counts for both of two entities in one counter.
#[test]
fn a_row_can_name_two_entities_of_one_counter() {
    let database = tables(true);
    database.execute(
        "CREATE TABLE friendships (
             a BIGINT NOT NULL, b BIGINT NOT NULL, gifts INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (a, b),
             FOREIGN KEY (a) REFERENCES users (id) ON DELETE CASCADE,
             FOREIGN KEY (b) REFERENCES users (id) ON DELETE CASCADE
         );
         INSERT INTO friendships (a, b) VALUES (1, 2), (1, 3), (2, 3);
         ALTER TABLE user_counters ADD COLUMN gifts BIGINT NOT NULL DEFAULT 0",
    );
    let folder = tempdir().unwrap();
    let ran = database.run(&[
        "generate",
        "trigger",
        "count_friends",
        "--rows",
        "friendships",
        "--count",
        "a:user_counters.stars",
        "--count",
        "b:user_counters.stars",
        "--count",
        "b:user_counters.gifts=gifts",
        "--migration-dir",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    migrate(&database, &folder);
    let conn = &mut open(&database);
    let mut then = |statement: &str, expected: [i64; 4]| {
        conn.batch_execute(statement).unwrap();
        let sum = |sum: &str, of: &str| {
            format!(
                "SELECT CAST(COALESCE(SUM({sum}), 0) AS {}) FROM user_counters WHERE {of}",
                integer()
            )
        };
        let friends =
            [1, 2, 3].map(|user| number(&sum("stars", &format!("user_id = {user}")), conn));
        let gifts = number(&sum("gifts", "user_id = 3"), conn);
        assert_eq!(
            [friends[0], friends[1], friends[2], gifts],
            expected,
            "{statement}"
        );
        let recounted = database.run(&["recount", "--dry-run"]).stdout;
        assert_eq!(
            recounted,
            "count_friends: all counts agree with friendships\n"
        );
    };
    then("SELECT 1", [2, 2, 2, 0]);
    then("UPDATE friendships SET gifts = 5 WHERE a = 2", [2, 2, 2, 5]);
    then(
        "DELETE FROM friendships WHERE a = 1 AND b = 2",
        [1, 1, 2, 5],
    );
    then("DELETE FROM users WHERE id = 1", [0, 1, 1, 5]);
    then("UPDATE friendships SET a = 3, b = 2", [0, 1, 1, 0]);
}

/// The rows have no foreign key: they stay when their entity is deleted.
#[test]
fn rows_without_their_entity_count_for_nobody() {
    let database = tables(true);
    database.execute(
        "CREATE TABLE notes (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT, text VARCHAR(9))",
    );
    let folder = tempdir().unwrap();
    let ran = database.run(&[
        "generate",
        "trigger",
        "count_notes",
        "--rows",
        "notes",
        "--count",
        "article_id:article_counters.likes",
        "--migration-dir",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    migrate(&database, &folder);
    let conn = &mut open(&database);
    conn.batch_execute(
        "INSERT INTO notes VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 99, 'c');
         DELETE FROM articles WHERE id = 1;
         UPDATE notes SET text = 'd';
         UPDATE notes SET article_id = 2 WHERE id = 1;
         DELETE FROM notes WHERE id = 2",
    )
    .unwrap();
    assert_eq!([1, 2].map(|article| likes_of(article, conn)), [0, 1]);
    let recounted = database.run(&["recount"]).stdout;
    assert_eq!(recounted, "count_notes: all counts agree with notes\n");
}

#[test]
fn an_expression_keeps_its_text() {
    let [escaped, is] = match BACKEND {
        "mysql" => [r"'a\\b'", r"'a\b'"],
        _ => [r"'a\b'", r"'a\b'"],
    };
    for (condition, text) in [
        (format!("text = {escaped}"), r"a\b"),
        ("text = 'it''s \"text\"'".to_owned(), "it's \"text\""),
        ("text = '{new} {old} {}'".to_owned(), "{new} {old} {}"),
        ("UPPER(text) LIKE 'É%' OR text = 'text'".to_owned(), "text"),
        (
            "CASE WHEN text IN ('x', 'y') THEN 1 = 1 ELSE FALSE END".to_owned(),
            "y",
        ),
    ] {
        let database = TestDatabase::with_article_counters();
        database.execute("CREATE TABLE notes (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT, text VARCHAR(20))");
        let folder = tempdir().unwrap();
        let ran = database.run(&[
            "generate",
            "trigger",
            "count_notes",
            "--rows",
            "notes",
            "--when",
            &condition,
            "--count",
            "article_id:article_counters.likes",
            "--migration-dir",
            folder.path().to_str().unwrap(),
        ]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        migrate(&database, &folder);
        let conn = &mut open(&database);
        diesel::sql_query(match BACKEND {
            "postgres" => "INSERT INTO notes VALUES (1, 1, $1), (2, 1, 'other')",
            _ => "INSERT INTO notes VALUES (1, 1, ?), (2, 1, 'other')",
        })
        .bind::<diesel::sql_types::Text, _>(text)
        .execute(conn)
        .unwrap();
        assert_eq!(likes_of(1, conn), 1, "{condition} {is}");
    }
}

#[test]
fn names_can_be_any() {
    let database = TestDatabase::create();
    let [open_quote, close_quote] = if BACKEND == "mysql" {
        ["`", "`"]
    } else {
        ["\"", "\""]
    };
    let quoted = |sql: &str| sql.replace('[', open_quote).replace(']', close_quote);
    database.execute(&quoted(
        "CREATE TABLE [order] ([group] BIGINT NOT NULL, [key] INTEGER NOT NULL, [when] BOOLEAN NOT NULL);
         CREATE TABLE [select] ([entity] BIGINT NOT NULL, [day] DATE NOT NULL, [slot] SMALLINT NOT NULL,
             [count] BIGINT NOT NULL DEFAULT 0, [table] BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY ([entity], [day], [slot]))",
    ));
    let folder = tempdir().unwrap();
    let ran = database.run(&[
        "generate",
        "trigger",
        "count-it",
        "--rows",
        "order",
        "--count",
        "group:select.count",
        "--count",
        &quoted("group:select.table=[key]"),
        "--when",
        &quoted("[when] OR [key] = 7"),
        "--migration-dir",
        folder.path().to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    migrate(&database, &folder);
    let conn = &mut open(&database);
    conn.batch_execute(&quoted(
        "INSERT INTO [order] VALUES (1, 7, FALSE), (1, 2, TRUE), (1, 3, FALSE)",
    ))
    .unwrap();
    let sum = quoted("SELECT CAST(SUM([count] * 100 + [table]) AS ")
        + integer()
        + &quoted(") FROM [select]");
    assert_eq!(number(&sum, conn), 209);
    let checked = database.run(&["check", "select"]).stdout;
    assert!(!checked.contains("count-it"), "{checked}");
    assert_eq!(
        database.run(&["recount"]).stdout,
        "count-it: all counts agree with order\n"
    );
}

/// Compares a migration that the command wrote with one that is kept in the repository.
fn assert_kept(ran: &Ran, folder: &str) {
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for file in ["up", "down"] {
        let written = std::fs::read_to_string(ran.json()[file].as_str().unwrap()).unwrap();
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
        let path = format!("{root}/{}/{file}.sql", folder.replace("{db}", BACKEND));
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            std::fs::write(&path, &written).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            written, kept,
            "{path}: write it again with INSTA_UPDATE=always"
        );
    }
}

#[test]
fn the_triggers_of_reference_are_what_it_writes() {
    let database = TestDatabase::with_article_counters();
    database.execute(
        "CREATE TABLE article_likes (
             article_id BIGINT NOT NULL, user_id BIGINT NOT NULL,
             PRIMARY KEY (article_id, user_id),
             FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
         )",
    );
    let folder = tempdir().unwrap();
    let ran = count_article_likes(&database, &folder, &[]);
    let kept = "migrations/triggers/{db}/00000000000002_count_article_likes";
    assert_kept(&ran, kept);
}

#[test]
fn the_triggers_of_the_blog_are_what_it_writes() {
    let database = TestDatabase::create();
    let migrations = format!(
        "{}/../examples/blog/migrations/{BACKEND}",
        env!("CARGO_MANIFEST_DIR")
    );
    let tables = format!("{migrations}/2026-11-24-000000_create_blog/up.sql");
    database.execute(&std::fs::read_to_string(tables).unwrap());
    let folder = tempdir().unwrap();
    let more = ["--day", "created_on", "--slots", "16"];
    let ran = count_article_likes(&database, &folder, &more);
    let kept = "examples/blog/migrations/{db}/2026-11-24-000100_count_article_likes";
    assert_kept(&ran, kept);
}

fn count_article_likes(database: &TestDatabase, folder: &TempDir, more: &[&str]) -> Ran {
    let arguments = [
        "generate",
        "trigger",
        "count_article_likes",
        "--rows",
        "article_likes",
        "--count",
        "article_id:article_counters.likes",
        "--migration-dir",
        folder.path().to_str().unwrap(),
        "--json",
    ];
    database.run(&[&arguments, more].concat())
}

/// They count in slots and in a column.
#[test]
fn the_triggers_of_the_enumerator_are_what_it_writes() {
    let database = TestDatabase::with_article_counters();
    database.execute(
        "ALTER TABLE articles ADD COLUMN like_count BIGINT NOT NULL DEFAULT 0;
         CREATE TABLE article_likes (
             article_id BIGINT NOT NULL, user_id BIGINT NOT NULL,
             PRIMARY KEY (article_id, user_id),
             FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
         )",
    );
    let folder = tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let ran = database.run(&[
        "generate",
        "trigger",
        "count_article_likes",
        "--rows",
        "article_likes",
        "--count",
        "article_id:article_counters.likes",
        "--count",
        "article_id:articles.like_count",
        "--migration-dir",
        folder,
        "--json",
    ]);
    assert_kept(&ran, "soak/triggers/{db}/count_article_likes");
}

#[test]
fn the_triggers_of_the_benchmark_are_what_it_writes() {
    let database = TestDatabase::create();
    database.execute(include_str!("../../../bench/tagging/tables.sql"));
    database.execute(
        "CREATE TABLE bench_hot_articles (
             id BIGINT NOT NULL PRIMARY KEY, comments BIGINT NOT NULL DEFAULT 0
         );
         CREATE TABLE bench_hot_comments (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT NOT NULL)",
    );
    let definitions: [(&str, &[&str]); 3] = [
        (
            "columns",
            &[
                "bench_count_hot",
                "--rows",
                "bench_hot_comments",
                "--count",
                "article_id:bench_hot_articles.comments",
            ],
        ),
        (
            "tagging",
            &[
                "bench_count_posts",
                "--rows",
                "bench_posts",
                "--count",
                "bench_site_counters.post_count",
            ],
        ),
        (
            "tagging",
            &[
                "bench_count_post_tags",
                "--rows",
                "bench_post_tags",
                "--count",
                "post_id:bench_posts.tag_count",
                "--count",
                "tag_id:bench_tag_counters.usage_count",
            ],
        ),
    ];
    for (folder_of, definition) in definitions {
        let folder = tempdir().unwrap();
        let options = ["--migration-dir", folder.path().to_str().unwrap(), "--json"];
        let ran = database.run(&[&["generate", "trigger"], definition, &options].concat());
        assert_kept(&ran, &format!("bench/{folder_of}/{{db}}/{}", definition[0]));
    }
}
