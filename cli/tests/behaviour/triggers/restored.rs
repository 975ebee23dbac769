//! The way back creates again what was dropped, unless the application has something of its name.

use super::{LIKES_OF_ARTICLES, counted, drop_trigger, file_of, number, open, tables};
use crate::behaviour::{Execute, Ran};
use crate::{BACKEND, TestDatabase};

/// The definition of another name, in place of `count_likes`.
const RENAMED: &str = r#"
    [[trigger]]
    name = "count_likes_again"
    rows = "article_likes"
    count = ["article_id:article_counters.likes"]
    "#;

fn with_file(database: &TestDatabase, command: &str, toml: &str) -> Ran {
    let (_folder, file) = file_of(toml);
    database.command(&format!("{command} {file}"))
}

/// Runs the migration to what a file says.
fn change_to(toml: &str, database: &TestDatabase) {
    let generated = with_file(database, "generate triggers", toml);
    generated.works();
    database.execute(&generated.stdout);
}

/// A trigger of the application on another table than that of the rows.
fn own_trigger(name: &str, database: &TestDatabase) {
    let create = match BACKEND {
        "postgres" => {
            database.execute(
                "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS
                     'BEGIN RETURN NULL; END'",
            );
            "FOR EACH ROW EXECUTE FUNCTION nothing()"
        }
        "mysql" => "FOR EACH ROW DO 1",
        _ => "BEGIN SELECT 1; END",
    };
    database.execute(&format!(
        "CREATE TRIGGER {name} AFTER DELETE ON users {create}"
    ));
}

/// The number of triggers on the table of users.
fn triggers_of_users(database: &TestDatabase) -> i64 {
    let query = match BACKEND {
        "postgres" => {
            "SELECT COUNT(*) FROM pg_trigger
             WHERE NOT tgisinternal AND tgrelid = 'users'::regclass"
        }
        "mysql" => {
            "SELECT COUNT(*) FROM information_schema.triggers
             WHERE trigger_schema = DATABASE() AND event_object_table = 'users'"
        }
        _ => "SELECT COUNT(*) FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'users'",
    };
    number(query, &mut open(database))
}

/// The triggers have not gone yet: the way back is printed before the migration has run.
#[test]
fn the_way_back_leaves_an_own_trigger() {
    let database = tables(true);
    counted(&database, &LIKES_OF_ARTICLES);
    database.execute(&drop_trigger("count_likes_update", "article_likes"));
    own_trigger("count_likes_update", &database);
    let up = with_file(&database, "generate triggers", "");
    let down = with_file(&database, "generate triggers --down", "");
    up.works();
    down.works();
    if BACKEND != "postgres" {
        let says = "this cannot create again what was there: count_likes: users has a trigger \
                    count_likes_update already";
        assert!(down.stderr.contains(says), "{down:?}");
    }
    database.execute(&up.stdout);
    // The client library of MariaDB cannot send an empty text.
    let has_statements = !down.stdout.trim().is_empty();
    assert_eq!(has_statements, BACKEND == "postgres", "{down:?}");
    if has_statements {
        database.execute(&down.stdout);
    }
    assert_eq!(triggers_of_users(&database), 1);
}

/// The migration has run, and then the application has taken the names that are free.
#[test]
fn the_way_back_after_the_migration_takes_no_name_of_the_application() {
    let database = tables(true);
    counted(&database, &LIKES_OF_ARTICLES);
    change_to(RENAMED, &database);
    let back = || with_file(&database, "generate triggers --down", RENAMED);
    back().works();
    if BACKEND == "postgres" {
        // Names of triggers are by table.
        own_trigger("count_likes_update", &database);
        database.execute(&back().stdout);
        assert_eq!(triggers_of_users(&database), 1);
        return;
    }
    let conn = &mut open(&database);
    conn.run("CREATE VIEW count_likes AS SELECT 1 AS one");
    back().fails("there is a table or view count_likes already");
    conn.run("DROP VIEW count_likes");
    own_trigger("count_likes_update", &database);
    back().fails("users has a trigger count_likes_update already");
}

/// Likes of articles, in a column that stays at 0 or more, and in slots.
const IN_COLUMN: [&str; 2] = ["--count", "article_id:articles.likes"];
const IN_SLOTS: &str = r#"
    [[trigger]]
    name = "count_likes"
    rows = "article_likes"
    count = ["article_id:article_counters.likes"]
    "#;

/// A row that is not counted yet can be deleted, and the column refuses to count that.
#[test]
fn the_way_back_does_not_count_later_what_a_column_would_refuse() {
    const WHY: &str = "the way back creates count_likes: --existing later: a CHECK keeps";
    const LATER: &str = "generate triggers --existing later";
    let database = tables(true);
    database.execute(
        "ALTER TABLE articles ADD COLUMN likes BIGINT NOT NULL DEFAULT 0 CHECK (likes >= 0)",
    );
    counted(&database, &IN_COLUMN);
    with_file(&database, LATER, IN_SLOTS).works();
    with_file(&database, &format!("{LATER} --down"), IN_SLOTS).fails(WHY);
    with_file(&database, &format!("{LATER} --json"), IN_SLOTS).fails(WHY);
    change_to(IN_SLOTS, &database);
    // Now it is made from what the database keeps.
    with_file(&database, &format!("{LATER} --down"), IN_SLOTS).fails(WHY);
    with_file(&database, "generate triggers --down", IN_SLOTS).works();
}
