//! `generate triggers`.

mod broken;
mod busy;
pub mod cascades;
mod columns;
pub mod file;
mod folded;
mod forum;
mod in_production;
mod kept;
mod limit;
mod names;
mod printing;
mod pruned_log;
mod random;
pub mod recipes;
mod recount_errors;
mod recounts;
mod refused;
mod renamed;
mod restored;
mod shapes;
mod targets;
mod without_stopping;
mod writers;

use crate::behaviour::Execute;

use diesel::prelude::*;
use diesel::sql_types::BigInt;

use super::project::{key, trigger};
use super::{Ran, quote};
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
    conn.run(match BACKEND {
        "sqlite" => {
            "PRAGMA busy_timeout = 60000; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON"
        }
        // Transactions that write the same rows in another order deadlock.
        "postgres" => "SET deadlock_timeout = '10ms'",
        _ => "DO 0",
    });
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

/// Only PostgreSQL has names of triggers by table.
pub fn drop_trigger(name: &str, table: &str) -> String {
    match BACKEND {
        "postgres" => format!("DROP TRIGGER {name} ON {table}"),
        _ => format!("DROP TRIGGER {name}"),
    }
}

/// A definition that counts the rows of article_likes, with these keys.
pub fn count_likes(keys: &str) -> String {
    trigger("count_likes", "article_likes", keys)
}

/// The tables, with triggers that count the likes of articles.
pub fn counted_likes() -> TestDatabase {
    let database = tables(true);
    database.count(&count_likes(OF_ARTICLES));
    database
}

/// Counts the likes of articles in slots.
pub const OF_ARTICLES: &str = "count = [\"article_id:article_counters.likes\"]\n";

/// Counts likes and stars of an article, stars of a user, and likes of the whole site.
const COUNTS: &str = r#"
count = [
    "article_id:article_counters.likes",
    "article_id:article_counters.comments=stars",
    "user_id:user_counters.stars=stars",
    "site_counters.likes",
]
"#;

pub fn number(query: &str, conn: &mut Conn) -> i64 {
    let query = diesel::dsl::sql::<BigInt>(&format!("({query})"));
    diesel::select(query).get_result(conn).unwrap()
}

/// Runs a command, and again if it has waited too long for the lock of SQLite, beside writers.
fn patient(command: impl Fn() -> Ran) -> Ran {
    loop {
        let ran = command();
        if ran.code == 0 || BACKEND != "sqlite" || !ran.stderr.contains("locked") {
            return ran;
        }
    }
}

/// The likes of each of these articles.
pub fn likes<const N: usize>(articles: [i64; N], conn: &mut Conn) -> [i64; N] {
    articles.map(|article| likes_of(article, conn))
}

pub fn likes_of(article: i64, conn: &mut Conn) -> i64 {
    let query = format!(
        "SELECT COALESCE(SUM(likes), 0) FROM article_counters WHERE article_id = {article}"
    );
    number(&format!("SELECT CAST(({query}) AS {})", integer()), conn)
}

pub fn integer() -> &'static str {
    match BACKEND {
        "mysql" => "SIGNED",
        _ => "BIGINT",
    }
}

#[test]
fn an_update_that_does_not_matter_writes_nothing() {
    let database = tables(true);
    database.count(&count_likes(&format!("{OF_ARTICLES}when = 'stars > 0'")));
    let conn = &mut open(&database);
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1)");
    conn.run("UPDATE article_counters SET slot = slot + 1000");
    conn.run("UPDATE article_likes SET stars = 7, user_id = 3");
    assert_eq!(number("SELECT COUNT(*) FROM article_counters", conn), 1);
}

/// Asserts that `generate triggers` said this beside the migration.
#[track_caller]
fn notes(ran: &Ran, text: &str) {
    assert!(ran.stderr.contains(text), "{text}: {ran:?}");
}

/// Some of a count can be older than the rows, so the migration keeps it. A recount adds what is
/// missing, and lowers a count only if it's told to.
#[test]
fn existing_rows_are_counted_where_there_is_no_count_yet() {
    for day in ["", "day = 'created_at'"] {
        let database = tables(false);
        let conn = &mut open(&database);
        conn.run(
            "INSERT INTO article_likes (id, article_id, user_id) VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1);
             INSERT INTO article_counters (article_id, day, slot, likes)
             VALUES (1, '2026-01-01', 1, 1), (3, '2026-01-01', 1, 5)",
        );
        let ran = database.count(&count_likes(&format!("{OF_ARTICLES}{day}")));
        notes(
            &ran,
            "in article_counters.likes, the counts of 2 entities differ from their rows in article_likes, \
             by 6 in total, and the migration keeps them",
        );
        assert_eq!(likes([1, 2, 3], conn), [1, 1, 5]);
        database.command("recount").works();
        assert_eq!(likes([1, 2, 3], conn), [2, 1, 5]);
        database.command("recount --lower").works();
        assert_eq!(likes([1, 2, 3], conn), [2, 1, 0]);
        database.revert();
        conn.run("DELETE FROM article_likes WHERE id = 1");
        database.migrate();
        assert_eq!(likes([1, 2, 3], conn), [2, 1, 0]);
        database.command("recount --lower").works();
        assert_eq!(likes([1, 2, 3], conn), [1, 1, 0]);
    }
}

#[test]
fn a_recount_corrects_what_was_written_past_the_triggers() {
    let database = tables(true);
    database.count(&count_likes(
        r#"
        count = ["article_id:article_counters.likes", "site_counters.likes=stars"]
        day = "created_at"
        "#,
    ));
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1), (3, 2);
         UPDATE article_counters SET likes = likes + 40 WHERE article_id = 1;
         UPDATE site_counters SET likes = 0",
    );
    let dry = database.command("recount --dry-run --lower");
    let expected = "count_likes: 2 counts would be corrected\n  \
        article_counters.likes of 1 on 2026-01-01: stored 42, rows 2\n  \
        site_counters.likes on 2026-01-01: stored 0, rows 3\n";
    assert_eq!(dry.stdout, expected, "{}", dry.stderr);
    let corrected = expected.replace("would be corrected", "corrected");
    let ran = database.command("recount count_likes --lower");
    assert_eq!(ran.stdout, corrected);
    let agrees = "count_likes: all counts agree with article_likes\n";
    assert_eq!(database.command("recount").stdout, agrees);
    assert_eq!(likes([1, 2], conn), [2, 1]);
    let unknown = database.command("recount likes");
    unknown.fails("counters.toml has no [[trigger]] likes; it has count_likes");
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let database = tables(true);
    refuses(
        &database,
        "article_likes",
        "
        article_counters.likes                  | counts for every article_id
        article_id:site_counters.likes          | counts for one thing only
        writer_id:article_counters.likes        | article_likes has no column writer_id
        artcle_id:article_counters.likes        | has no column artcle_id (did you mean article_id?)
        created_at:article_counters.likes       | article_counters.article_id is
        article_id:article_counters.loves       | has no counter loves
        article_id:articles.id                  | has no column id to count in
        abs(article_id):article_counters.likes  | with columns, not with expressions",
    );
    let refuses_now = match BACKEND {
        "mysql" => "depends on the session",
        _ => "the database refuses",
    };
    let clock_changes = match BACKEND {
        "sqlite" => "depends on the current time",
        _ => "the database refuses",
    };
    let no_parameter = match BACKEND {
        "postgres" => "cannot read",
        _ => "the database refuses",
    };
    let [random, clock] = match BACKEND {
        "mysql" => ["FLOOR(RAND())", "UNIX_TIMESTAMP()"],
        "postgres" => ["random()", "extract(epoch FROM now())"],
        _ => ["random()", "unixepoch()"],
    };
    let cases = format!("
        when | aproved                             | names aproved, and article_likes has no such column
        when | created_at < CURRENT_TIMESTAMP      | {refuses_now}
        when | stars > {clock}                     | {clock_changes}
        when | stars < COUNT(*)                    | the database refuses
        by   | max(stars)                          | the database refuses
        by   | stars + ?                           | {no_parameter}
        when | user_id IN (SELECT user_id)         | the database refuses
        when | approved AND                        | cannot read the SQL expression
        when | approved\tOR TRUE                   | has a control character
        when | approved -- by an editor            | has a comment
        by   | {random}                            | the database refuses
        day  | stars                               | not a date or a time
        day  | day                                 | article_likes has no column day");
    for [name, value, why] in table_of(&cases) {
        let refused = count_likes(&format!("{OF_ARTICLES}{}", key(name, value)));
        database.generate(&refused).fails(why);
    }
}

/// The cells of a text table.
pub fn table_of<const N: usize>(text: &str) -> Vec<[&str; N]> {
    let lines = text.trim().lines();
    let rows = lines.map(|line| Vec::from_iter(line.split('|').map(str::trim)));
    rows.map(|row| row.try_into().unwrap()).collect()
}

/// Asserts that no triggers are generated for each of these counts, and why.
#[track_caller]
fn refuses(database: &TestDatabase, rows: &str, counts: &str) {
    for [count, why] in table_of(counts) {
        let refused = trigger("count_it", rows, &format!("count = [\"{count}\"]"));
        database.generate(&refused).fails(why);
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
    database.count(
        r#"
        [[trigger]]
        name = "count_friends"
        rows = "friendships"
        count = ["a:user_counters.stars", "b:user_counters.stars", "b:user_counters.gifts=gifts"]
        "#,
    );
    let conn = &mut open(&database);
    let sums = "SELECT CAST(SUM(stars * 10 + gifts) AS BIGINT) FROM user_counters";
    let sums = sums.replace("BIGINT", integer());
    for (statement, expected) in [
        ("SELECT 1", 60),
        ("UPDATE friendships SET gifts = 5 WHERE a = 2", 65),
        ("DELETE FROM friendships WHERE a = 1 AND b = 2", 45),
        ("DELETE FROM users WHERE id = 1", 25),
        ("UPDATE friendships SET a = 3, b = 2", 25),
    ] {
        conn.run(statement);
        assert_eq!(number(&sums, conn), expected, "{statement}");
        database.assert_agrees();
    }
}

/// The rows have no foreign key: they stay when their entity is deleted.
#[test]
fn rows_without_their_entity_count_for_nobody() {
    let database = tables(true);
    database.execute(
        "CREATE TABLE notes (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT, text VARCHAR(9))",
    );
    database.count(&trigger("count_notes", "notes", OF_ARTICLES));
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO notes VALUES (1, 1, 'a'), (2, 1, 'b'), (3, 99, 'c');
         DELETE FROM articles WHERE id = 1;
         UPDATE notes SET text = 'd';
         UPDATE notes SET article_id = 2 WHERE id = 1;
         DELETE FROM notes WHERE id = 2",
    );
    assert_eq!(likes([1, 2], conn), [0, 1]);
    database.assert_agrees();
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
        let keys = format!("{OF_ARTICLES}{}", key("when", &condition));
        database.count(&trigger("count_notes", "notes", &keys));
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
    let quoted = |sql: &str| sql.replace(['[', ']'], &quote().to_string());
    database.execute(&quoted(
        "CREATE TABLE [order] ([group] BIGINT NOT NULL, [key] INTEGER NOT NULL, [when] BOOLEAN NOT NULL);
         CREATE TABLE [select] ([entity] BIGINT NOT NULL, [day] DATE NOT NULL, [slot] SMALLINT NOT NULL,
             [count] BIGINT NOT NULL DEFAULT 0, [table] BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY ([entity], [day], [slot]))",
    ));
    let weight = quoted("[key]");
    let when = key("when", &quoted("[when] OR [key] = 7"));
    database.count(&format!(
        "[[trigger]]
         name = 'count-it'
         rows = 'order'
         count = ['group:select.count', 'group:select.table={weight}']
         {when}"
    ));
    let conn = &mut open(&database);
    conn.run(&quoted(
        "INSERT INTO [order] VALUES (1, 7, FALSE), (1, 2, TRUE), (1, 3, FALSE)",
    ));
    let sum = quoted("SELECT CAST(SUM([count] * 100 + [table]) AS ")
        + integer()
        + &quoted(") FROM [select]");
    assert_eq!(number(&sum, conn), 209);
    let checked = database.run(&["check", "select"]).stdout;
    assert!(!checked.contains("count-it"), "{checked}");
    database.assert_agrees();
}

/// Compares the migration that the command writes with one that is kept in the repository.
#[track_caller]
pub fn assert_kept(database: &TestDatabase, toml: &str, folder: &str) {
    let ran = database.printed(toml);
    ran.works();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let folder = folder.replace("{db}", BACKEND);
    for (part, file) in [
        ("up", "up.sql"),
        ("down", "down.sql"),
        ("counters", "counters.toml"),
    ] {
        let written = ran.json()[part].as_str().unwrap().to_owned();
        let path = format!("{root}/{folder}/{file}");
        if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
            std::fs::write(&path, &written).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let help = "write it again with INSTA_UPDATE=always";
        assert_eq!(written, kept, "{path}: {help}");
    }
}

#[test]
fn the_triggers_of_the_reference_tables_are_what_it_writes() {
    let database = TestDatabase::with_article_counters();
    database.execute(
        "CREATE TABLE article_likes (
             article_id BIGINT NOT NULL, user_id BIGINT NOT NULL,
             PRIMARY KEY (article_id, user_id),
             FOREIGN KEY (article_id) REFERENCES articles (id) ON DELETE CASCADE
         )",
    );
    let in_slots = trigger("count_article_likes", "article_likes", OF_ARTICLES);
    let kept = "migrations/triggers/{db}/00000000000002_count_article_likes";
    assert_kept(&database, &in_slots, kept);
}

#[test]
fn the_triggers_of_the_blog_are_what_it_writes() {
    let database = TestDatabase::create();
    let blog = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/blog");
    let tables = format!("{blog}/migrations/{BACKEND}/2026-11-24-000000_create_blog/up.sql");
    database.execute(&std::fs::read_to_string(tables).unwrap());
    let counters = std::fs::read_to_string(format!("{blog}/counters.toml")).unwrap();
    let kept = "examples/blog/migrations/{db}/2026-11-24-000100_count_article_likes";
    assert_kept(&database, &counters, kept);
}
