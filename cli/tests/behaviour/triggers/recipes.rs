//! The recipes of docs/triggers.md and docs/recipes.md, as they stand there.

use crate::behaviour::project::trigger;
use crate::behaviour::{Execute, check_of};
use std::path::Path;
use std::process::Command;
use std::thread;

use diesel::dsl::sql as sql_literal;
use diesel::result::Error::DatabaseError;
use diesel::sql_types::Text;
use diesel::{RunQueryDsl, sql_query};

use super::{OTHER_COUNTERS, PARENTS, integer, likes_of, number, open};
use crate::{BACKEND, Conn, REFERENCE, TestDatabase};

const TRIGGERS: &str = include_str!("../../../../docs/triggers.md");
const RECIPES: &str = include_str!("../../../../docs/recipes.md");
const GENERATE: &str = "diesel-counters generate triggers";

/// Each one in a thread with its name, which the message of a failure begins with.
#[test]
fn each_recipe_holds() {
    let (tables, recipes) = RECIPES.split_once("\n## ").unwrap();
    let holds = |recipe: &str| {
        let database = TestDatabase::create();
        run(tables, &database);
        run(recipe, &database);
        if recipe.contains("[[trigger]]") {
            database.assert_agrees();
            database.command("check").works();
        }
    };
    thread::scope(|scope| {
        for recipe in recipes.split("\n## ") {
            let thread = thread::Builder::new().name(recipe.lines().next().unwrap().to_owned());
            thread.spawn_scoped(scope, move || holds(recipe)).unwrap();
        }
    });
}

/// A database after a recipe of docs/recipes.md.
pub fn recipe(heading: &str) -> TestDatabase {
    let (tables, recipes) = RECIPES.split_once("\n## ").unwrap();
    let mut recipes = recipes.split("\n## ");
    let recipe = recipes.find(|recipe| recipe.starts_with(heading));
    let database = TestDatabase::create();
    run(tables, &database);
    run(recipe.unwrap(), &database);
    database
}

/// A database with articles and counters.
pub fn blog() -> TestDatabase {
    let database = TestDatabase::create();
    database.execute(PARENTS);
    database.execute(REFERENCE);
    database
}

/// Runs the section of docs/triggers.md under a heading.
pub fn run_section(heading: &str, database: &TestDatabase) {
    let mut sections = TRIGGERS.split("\n## ");
    let section = sections.find(|section| section.starts_with(heading));
    run(section.unwrap(), database);
}

/// Runs the SQL, the definitions and the commands of a section. If no command generates the triggers
/// of its definitions, they are generated here.
fn run(section: &str, database: &TestDatabase) {
    let blocks = section.split("\n```").skip(1).step_by(2);
    let blocks: Vec<_> = blocks
        .map(|block| block.split_once('\n').unwrap())
        .collect();
    let generates =
        |(languages, text): &(&str, &str)| *languages == "sh" && text.contains(GENERATE);
    let is_generated = blocks.iter().any(generates);
    for (languages, text) in blocks {
        match languages.split_once(' ').unwrap_or((languages, BACKEND)) {
            (_, backends) if !backends.contains(BACKEND) => {}
            ("sql", _) => run_sql(text, &mut open(database)),
            ("toml", _) if is_generated => database.define(text),
            ("toml", _) => {
                database.count(text);
            }
            ("sh", _) => run_commands(text, database),
            _ => {}
        }
    }
}

/// Runs the statements. A comment after one has the values of a query, the number of rows, or the kind of the
/// error.
fn run_sql(sql: &str, conn: &mut Conn) {
    let sql = sql.replace("AS BIGINT", &format!("AS {}", integer()));
    let text = if BACKEND == "mysql" { "CHAR" } else { "TEXT" };
    let mut rest = &*sql;
    while let Some((statement, after)) = rest.split_once(';') {
        let (comment, after) = after.split_once('\n').unwrap_or((after, ""));
        rest = after;
        if comment.is_empty() {
            conn.run(statement);
            continue;
        }
        let returned = match statement.strip_prefix("SELECT ") {
            None => match sql_query(statement).execute(conn) {
                Err(DatabaseError(kind, _)) => format!("{kind:?}"),
                rows => rows.unwrap().to_string(),
            },
            Some(query) => {
                let query = query.replacen(" FROM", &format!(" AS {text}) FROM"), 1);
                let query = sql_literal::<Text>(&format!("SELECT CAST({query}"));
                query.load::<String>(conn).unwrap().join(", ")
            }
        };
        assert_eq!(format!(" -- {returned}"), comment, "{statement}");
    }
    assert_eq!(rest, "", "without a semicolon");
}

/// Runs the commands of a block in the folder of the project, and the migrations that they write.
fn run_commands(commands: &str, database: &TestDatabase) {
    let backend = format!("--backend {BACKEND}");
    let commands = commands.replace("--backend postgres", &backend);
    let command = Path::new(env!("CARGO_BIN_EXE_diesel-counters"));
    let binaries = command.parent().unwrap().display();
    let path = format!("{binaries}:{}", std::env::var("PATH").unwrap());
    for part in commands.split("diesel migration run") {
        let part = part.replace("diesel migration", "true");
        let part = part.replace("cd migrations/", "true ");
        // It exits with 3 if a count is wrong.
        let part = part.replace(" --dry-run", " --dry-run || [ $? = 3 ]");
        let mut shell = Command::new("sh");
        shell.args(["-ec", &part]).current_dir(database.project());
        shell.env("PATH", &path).env("DATABASE_URL", database.url());
        let ran = shell.env_remove("MIGRATION_DIRECTORY").output().unwrap();
        assert!(ran.status.success(), "{part}: {ran:?}");
        // What `generate migration` has printed.
        let up = database.project().join("up.sql");
        if let Ok(sql) = std::fs::read_to_string(&up) {
            open(database).run(&sql);
            std::fs::remove_file(up).unwrap();
        }
        database.migrate();
    }
}

#[test]
fn a_like_counts_once() {
    let database = blog();
    run_section("Likes", &database);
    let conn = &mut open(&database);
    let do_nothing = match BACKEND {
        "mysql" => "ON DUPLICATE KEY UPDATE article_id = article_id",
        _ => "ON CONFLICT DO NOTHING",
    };
    let like = "INSERT INTO article_likes (article_id, user_id) VALUES (1, 7)";
    for _ in 0..100 {
        conn.run(&format!("{like} {do_nothing}"));
    }
    assert_eq!(likes_of(1, conn), 1);
    conn.run("INSERT INTO article_likes (article_id, user_id) VALUES (1, 8)");
    assert_eq!(likes_of(1, conn), 2);
    conn.run("DELETE FROM article_likes WHERE user_id = 7");
    assert_eq!(likes_of(1, conn), 1);
    run_section("Check and recount", &database);
}

#[test]
fn messages_that_are_pruned_stay_in_the_count() {
    let database = TestDatabase::create();
    let check = check_of("messages");
    database.execute(&format!(
        "CREATE TABLE channel_counters (
             channel_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             messages BIGINT NOT NULL DEFAULT 0 {check}, PRIMARY KEY (channel_id, day, slot)
         );
         CREATE TABLE messages (id BIGINT NOT NULL PRIMARY KEY, channel_id BIGINT NOT NULL)"
    ));
    let count = "count = ['channel_id:channel_counters.messages']\ndeleted = 'kept'";
    database.count(&trigger("count_messages", "messages", count));
    let conn = &mut open(&database);
    conn.run("INSERT INTO messages VALUES (1, 1), (2, 1)");
    conn.run("DELETE FROM messages");
    let sum = format!(
        "SELECT CAST(SUM(messages) AS {}) FROM channel_counters",
        integer()
    );
    assert_eq!(number(&sum, conn), 2);
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
    run_section("What a row counts", &database);
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
    let key = match table {
        "articles" => "id",
        _ => "article_id",
    };
    let likes = |id| format!("SELECT {column} FROM {table} WHERE {key} = {id}");
    [1, 2, 3].map(|id| number(&likes(id), conn))
}

fn write_likes(conn: &mut Conn) {
    conn.run(
        "INSERT INTO article_likes VALUES (3, 1), (3, 2); DELETE FROM article_likes WHERE article_id = 2",
    );
}

#[track_caller]
fn becomes_exact(section: &str, column: &str, database: &TestDatabase) {
    run_section(section, database);
    let conn = &mut open(database);
    assert_eq!(likes_in(column, conn), [2, 1, 0]);
    write_likes(conn);
    assert_eq!(likes_in(column, conn), [2, 0, 2]);
}

#[test]
fn a_column_that_was_counted_in_becomes_exact() {
    let database = blog_with_likes();
    database.execute("UPDATE articles SET like_count = 7");
    becomes_exact("From a column", "articles.like_count", &database);
}

#[test]
fn a_view_takes_the_place_of_a_statistics_table() {
    let database = blog_with_likes();
    database.execute(
        "CREATE TABLE article_statistics (article_id BIGINT NOT NULL PRIMARY KEY, like_count BIGINT NOT NULL)",
    );
    let column = "article_statistics.like_count";
    becomes_exact("From a statistics table", column, &database);
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
    let column = "articles.like_count";
    becomes_exact("From triggers of your own", column, &database);
    database.command("check").works();
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
    let usages = trigger(
        "count_post_tags",
        "post_tags",
        "count = ['post_id:posts.tag_count', 'tag_id:tag_counters.usages']",
    );
    let comments = trigger(
        "count_comments",
        "comments",
        "count = ['article_id:article_counters.comments', 'site_counters.comments']
         when = 'approved'\nday = 'created_at'",
    );
    database.count(&format!("{usages}\n{comments}"));
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
