//! `counters.toml` changes, and the database follows.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

use super::{LIKES, OTHER_COUNTERS, PARENTS, file_of, number, open};
use crate::behaviour::{Execute, Ran, check_of};
use crate::{BACKEND, Conn, REFERENCE, TestDatabase};

/// A counter moves from one definition to another, and from a column to slots.
const STEPS: [(&str, &str); 7] = [
    (
        "the first one",
        r#"
        [[trigger]]
        name = "count_likes"
        rows = "article_likes"
        count = ["article_id:articles.likes", "site_counters.likes"]
        "#,
    ),
    (
        "one more, and the other one below it",
        r#"
        [[trigger]]
        name = "count_stars"
        rows = "article_likes"
        count = ["user_id:user_counters.stars=stars"]
        day = "created_at"

        [[trigger]]
        name = "count_likes"
        rows = "article_likes"
        count = ["article_id:articles.likes", "site_counters.likes"]
        "#,
    ),
    (
        "another condition",
        r#"
        [[trigger]]
        name = "count_likes"
        rows = "article_likes"
        count = ["article_id:articles.likes", "site_counters.likes"]
        when = "approved"

        [[trigger]]
        name = "count_stars"
        rows = "article_likes"
        count = ["user_id:user_counters.stars=stars"]
        day = "created_at"
        "#,
    ),
    (
        "another name, and a counter of the other one",
        r#"
        [[trigger]]
        name = "count_likes"
        rows = "article_likes"
        count = ["article_id:articles.likes"]
        when = "approved"
        only = "id < 1000"

        [[trigger]]
        name = "count_user_stars"
        rows = "article_likes"
        count = ["user_id:user_counters.stars=stars", "site_counters.likes"]
        "#,
    ),
    (
        "slots in place of a column",
        r#"
        [[trigger]]
        name = "count_likes"
        rows = "article_likes"
        count = ["article_id:article_counters.likes"]
        when = "approved"

        [[trigger]]
        name = "count_user_stars"
        rows = "article_likes"
        count = ["user_id:user_counters.stars=stars", "site_counters.likes"]
        "#,
    ),
    (
        "one less",
        r#"
        [[trigger]]
        name = "count_likes"
        rows = "article_likes"
        count = ["article_id:article_counters.likes"]
        when = "approved"
        "#,
    ),
    (
        "all back",
        r#"
        [[trigger]]
        name = "count_likes"
        rows = "article_likes"
        count = ["article_id:articles.likes", "site_counters.likes"]
        "#,
    ),
];

/// The step that only drops triggers.
const REMOVES: usize = 5;

fn blog() -> TestDatabase {
    let database = TestDatabase::create();
    let mut counters = OTHER_COUNTERS.to_owned();
    for counter in ["stars", "likes"] {
        let default = format!("{counter} BIGINT NOT NULL DEFAULT 0");
        counters = counters.replace(&default, &format!("{default} {}", check_of(counter)));
    }
    for tables in [PARENTS, REFERENCE, &counters, LIKES] {
        database.execute(tables);
    }
    database.execute("ALTER TABLE articles ADD COLUMN likes INTEGER NOT NULL DEFAULT 0");
    database.execute(
        "INSERT INTO article_likes (id, article_id, user_id, stars) VALUES (1, 1, 1, 3), (2, 1, 2, 2), (3, 2, 1, 1)",
    );
    database
}

impl TestDatabase {
    /// Runs a command with this file.
    fn with_file(&self, command: &str, toml: &str) -> Ran {
        let (_folder, file) = file_of(toml);
        self.command(&format!("{command} {file}"))
    }

    #[track_caller]
    fn generated(&self, toml: &str) -> Ran {
        let generated = self.with_file("generate triggers --json", toml);
        generated.works();
        generated
    }

    /// Asserts that the database counts what the file says.
    #[track_caller]
    fn assert_has(&self, toml: &str, when: &str) {
        let generated = self.generated(toml);
        let says = generated.stderr.contains("the database has what ");
        let is_empty = generated.json()["up"] == "" && generated.json()["down"] == "";
        assert!(says && is_empty, "{when}: {generated:?}");
        if !toml.is_empty() {
            self.assert_agrees();
        }
        let checked = self.with_file("check", toml);
        assert_eq!(checked.code, 0, "{when}: {checked:?}");
    }

    fn trigger_names(&self) -> Vec<String> {
        let names = match BACKEND {
            "postgres" => {
                "SELECT tgname::text AS name FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1"
            }
            "mysql" => {
                "SELECT CAST(trigger_name AS CHAR) AS name FROM information_schema.triggers
                 WHERE trigger_schema = DATABASE() ORDER BY 1"
            }
            _ => "SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY 1",
        };
        let names = diesel::sql_query(names).load::<Name>(&mut open(self));
        names.unwrap().into_iter().map(|row| row.name).collect()
    }
}

#[derive(diesel::QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

fn part(generated: &Ran, part: &str) -> String {
    generated.json()[part].as_str().unwrap().to_owned()
}

/// Runs a migration as `diesel migration run` does.
fn run_in(conn: &mut Conn, migration: &str) -> QueryResult<()> {
    match BACKEND {
        // The client library of MariaDB cannot send an empty text.
        _ if migration.is_empty() => Ok(()),
        // Its statements commit.
        "mysql" => conn.batch_execute(migration),
        _ => conn.transaction(|conn| conn.batch_execute(migration)),
    }
}

#[track_caller]
fn run(database: &TestDatabase, migration: &str) {
    run_in(&mut open(database), migration).unwrap();
}

#[test]
fn the_database_follows_the_file_and_goes_back() {
    let database = blog();
    let mut before = "";
    for (place, (step, toml)) in STEPS.into_iter().enumerate() {
        if place > 0 {
            database
                .with_file("check", toml)
                .finds("Change the file, or run");
        }
        let generated = database.generated(toml);
        let [up, down] = ["up", "down"].map(|one| part(&generated, one));
        let printed = database.with_file("generate triggers --down", toml);
        assert_eq!(printed.stdout, down, "{step}");
        run(&database, &up);
        database.assert_has(toml, step);
        run(&database, &down);
        database.assert_has(before, &format!("{step}, and back"));
        run(&database, &up);
        database.assert_has(toml, &format!("{step}, and again"));
        let back = database.with_file("generate triggers --down", toml);
        back.works();
        if place != REMOVES {
            run(&database, &back.stdout);
            database.assert_has(before, &format!("{step}, and back after it has run"));
            run(&database, &up);
        }
        before = toml;
    }
    let shown = database.command("show").stdout;
    database.assert_has(&shown, "what is shown");
}

#[test]
fn the_last_migration_is_gone_back_once() {
    let database = blog();
    for (_, toml) in &STEPS[..3] {
        run(&database, &part(&database.generated(toml), "up"));
    }
    let [back, again] = [STEPS[2].1, STEPS[1].1].map(|toml| {
        let back = database.with_file("generate triggers --down", toml);
        back.works();
        run(&database, &back.stdout);
        back
    });
    assert!(
        back.stderr
            .contains("this replaces the triggers count_likes"),
        "{back:?}"
    );
    assert!(
        again.stderr.contains("this drops the triggers count_stars"),
        "{again:?}"
    );
    database.assert_has(STEPS[0].1, "back twice");
    run(&database, &part(&database.generated(""), "up"));
    let none = database.with_file("generate triggers --down", "");
    none.fails("git show HEAD~1:counters.toml");
}

/// What `--existing later` does not count, a recount does.
#[test]
fn a_change_can_count_existing_rows_later() {
    let database = blog();
    let (_, slots) = STEPS[REMOVES];
    run(&database, &part(&database.generated(slots), "up"));
    let condition = format!("{slots}by = 'stars'\n");
    let later = database.with_file("generate triggers --json --existing later", &condition);
    run(&database, &part(&later, "up"));
    let checked = database.with_file("check", &condition);
    checked.finds("do not count yet the rows that existed");
    database.command("recount").works();
    database.assert_has(&condition, "recounted");
}

/// A migration of MySQL commits each statement. The others roll back.
#[test]
fn a_migration_that_fails_half_way_is_generated_again() {
    let database = blog();
    let mut before = "";
    for (number, (step, toml)) in STEPS.into_iter().enumerate() {
        run(&database, &part(&database.generated(toml), "up"));
        let names = database.trigger_names();
        run(&database, &part(&database.generated(before), "up"));
        // MySQL is slow: each step has some of the places.
        let seldom = if BACKEND == "mysql" { 13 } else { 1 };
        for place in (number % seldom..).step_by(seldom) {
            let up = part(&database.generated(toml), "up");
            let Some(half) = half_way(&up, place) else {
                break;
            };
            half.run(&database);
            let rest = part(&database.generated(toml), "up");
            if BACKEND != "mysql" {
                assert_eq!(rest, up, "{step}");
            }
            let conn = &mut open(&database);
            conn.run("INSERT INTO article_likes (id, article_id) VALUES (9, 3)");
            run(&database, &rest);
            let when = format!("{step}, after statement {place}");
            database.assert_has(toml, &when);
            assert_eq!(database.trigger_names(), names, "{when}");
            conn.run("DELETE FROM article_likes WHERE id = 9");
            run(&database, &part(&database.generated(before), "up"));
            database.assert_has(before, &format!("{when}, and back"));
        }
        run(&database, &part(&database.generated(toml), "up"));
        before = toml;
    }
}

/// The first statements of a migration.
enum Half {
    /// Those that MySQL has committed when the connection is lost.
    Committed(Vec<String>),
    /// All of them, and one that fails.
    RolledBack(String),
}

impl Half {
    /// With the connection goes what it has locked.
    fn run(&self, database: &TestDatabase) {
        let conn = &mut open(database);
        match self {
            Half::Committed(statements) => statements.iter().for_each(|one| conn.run(one)),
            Half::RolledBack(statements) => {
                run_in(conn, statements).unwrap_err();
            }
        }
    }
}

/// A migration that fails after this statement, or `None` if it does not have so many.
fn half_way(up: &str, place: usize) -> Option<Half> {
    if BACKEND != "mysql" {
        let fails = format!("{up}SELECT no_such_function()");
        return (place == 0).then_some(Half::RolledBack(fails));
    }
    let lines: Vec<_> = up.split_inclusive('\n').collect();
    let mut statements = vec![String::new()];
    for (number, line) in lines.iter().enumerate() {
        let next = lines.get(number + 1).unwrap_or(&"");
        let statement = statements.last_mut()?;
        statement.push_str(line);
        // Statements of a trigger are indented.
        let is_end = line.ends_with(";\n") && !next.starts_with(' ') && !next.starts_with("END");
        if is_end {
            statements.push(String::new());
        }
    }
    statements.pop();
    (place < statements.len()).then(|| Half::Committed(statements[..=place].to_vec()))
}

/// Whoever writes while triggers are dropped and created waits, or tries again.
fn write(client: i64, is_done: &AtomicBool, written: &AtomicI64, conn: &mut Conn) {
    for number in 0.. {
        if is_done.load(Relaxed) {
            return;
        }
        let id = client * 1_000_000 + number;
        let article = id % 5 + 1;
        for statement in [
            format!(
                "INSERT INTO article_likes (id, article_id, stars) VALUES ({id}, {article}, 2)"
            ),
            format!("UPDATE article_likes SET stars = 3, approved = FALSE WHERE id = {id}"),
            format!("DELETE FROM article_likes WHERE id = {id} - 2"),
        ] {
            while let Err(error) = conn.batch_execute(&statement) {
                assert!(is_conflict(&error), "{error}: {statement}");
            }
            written.fetch_add(1, Relaxed);
        }
        if BACKEND == "sqlite" {
            // Its only write lock is not fair.
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// MariaDB says that a table of a new trigger does not exist if the statement has begun before the trigger.
fn is_conflict(error: &diesel::result::Error) -> bool {
    let text = error.to_string().to_lowercase();
    ["deadlock", "locked", "lock wait", "doesn't exist"]
        .iter()
        .any(|one| text.contains(one))
}

#[test]
fn the_database_follows_the_file_beside_eight_clients() {
    let database = &blog();
    let is_done = &AtomicBool::new(false);
    let written = &AtomicI64::new(0);
    thread::scope(|scope| {
        for client in 1..=8 {
            scope.spawn(move || write(client, is_done, written, &mut open(database)));
        }
        let followed = std::panic::catch_unwind(|| follow(database, written));
        is_done.store(true, Relaxed);
        followed.unwrap();
    });
    assert!(number("SELECT COUNT(*) FROM article_likes", &mut open(database)) > 3);
    database.assert_agrees();
}

fn follow(database: &TestDatabase, written: &AtomicI64) {
    // Beside writers of SQLite, it can wait too long for its locks.
    let patient = |command: &dyn Fn() -> Ran| loop {
        let ran = command();
        if ran.code == 0 || BACKEND != "sqlite" || !ran.stderr.contains("locked") {
            break ran;
        }
    };
    for (step, toml) in STEPS {
        let generated = patient(&|| database.with_file("generate triggers --json", toml));
        generated.works();
        for one in ["up", "down", "up"] {
            let migration = part(&generated, one);
            let conn = &mut open(database);
            while let Err(error) = run_in(conn, &migration) {
                assert!(is_conflict(&error), "{step}, {one}: {error}");
                // Otherwise MySQL keeps the locks of tables.
                *conn = open(database);
            }
            let before = written.load(Relaxed);
            while written.load(Relaxed) < before + 40 {
                thread::yield_now();
            }
            let agrees = patient(&|| database.run(&["recount", "--dry-run"]));
            let is_wrong = agrees.stdout.contains("would be corrected");
            let has_none = agrees
                .stderr
                .contains("this database has no triggers that count rows");
            let is_good = agrees.code == 0 || has_none;
            assert!(is_good && !is_wrong, "{step}, {one}: {agrees:?}");
        }
    }
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_its_line() {
    let database = blog();
    let (_, first) = STEPS[0];
    for (line, why) in [
        ("wen = 'approved'", "unknown field `wen`"),
        ("slots = 'many'", "invalid type: string \"many\""),
        ("when = 1", "invalid type: integer `1`"),
        (
            "period = 'week'",
            "the period stands in the comment of the day",
        ),
        ("deleted = 'never'", "unknown variant `never`"),
    ] {
        for command in ["generate triggers", "check"] {
            let ran = database.with_file(command, &format!("{first}{line}\n"));
            assert_eq!(ran.code, 2, "{ran:?}");
            assert!(
                ran.stderr
                    .contains("counters.toml: TOML parse error at line 6"),
                "{ran:?}"
            );
            assert!(
                ran.stderr.contains(why) && ran.stderr.contains(line),
                "{ran:?}"
            );
        }
    }
    let wrong = first.replace("article_id:articles.likes", "article_id");
    let ran = database.with_file("generate triggers", &wrong);
    let says =
        ran.stderr.contains("at line 5") && ran.stderr.contains("write COLUMN:TABLE.COUNTER");
    assert!(says, "{ran:?}");
}

/// As `diesel` finds diesel.toml.
#[test]
fn the_file_is_that_of_the_nearest_directory() {
    let database = blog();
    let (folder, _file) = file_of(STEPS[0].1);
    let below = folder.path().join("migrations/one");
    std::fs::create_dir_all(&below).unwrap();
    let run_in = |directory: &std::path::Path, words: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_diesel-counters"));
        command
            .args(crate::behaviour::words(words))
            .current_dir(directory);
        let output = command
            .env("DATABASE_URL", database.url())
            .output()
            .unwrap();
        Ran {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    };
    run_in(&below, "generate triggers").prints("Counts the rows of article_likes");
    run_in(&below, "check").finds("counters.toml has the triggers");
    let elsewhere = tempfile::tempdir().unwrap();
    let none = run_in(elsewhere.path(), "generate triggers");
    none.fails("`diesel-counters show > counters.toml`");
    run_in(elsewhere.path(), "check").works();
}

/// A definition that is not generated, one that is another one, and one that is not in the file.
#[test]
fn check_compares_the_database_with_the_file() {
    let database = blog();
    run(&database, &part(&database.generated(STEPS[1].1), "up"));
    for (place, expected) in [
        (1, &[][..]),
        (2, &["generated_otherwise"]),
        (3, &["generated_otherwise", "not_generated", "not_in_file"]),
        (0, &["not_in_file"]),
    ] {
        let checked = database.with_file("check --json", STEPS[place].1).json();
        let tables = checked["tables"].as_array().unwrap().iter();
        let faults = tables.flat_map(|table| {
            let faults = table["faults"].as_array().unwrap().iter();
            faults.map(|fault| [&fault["fault"], &table["table"]].map(|one| one.as_str().unwrap()))
        });
        let faults = faults.filter(|[fault, _]| *fault != "no_period");
        let mut faults: Vec<_> = faults.collect();
        faults.sort();
        let expected: Vec<_> = expected
            .iter()
            .map(|fault| [*fault, "article_likes"])
            .collect();
        assert_eq!(faults, expected);
    }
    let of_site = database.with_file("check site_counters", STEPS[3].1);
    assert!(!of_site.stdout.contains("count_stars"), "{of_site:?}");
}

/// Its name is taken by what a program has.
#[test]
fn a_trigger_of_the_application_is_not_replaced() {
    let database = blog();
    let body = match BACKEND {
        "postgres" => {
            database.execute(
                "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            );
            "FOR EACH ROW EXECUTE FUNCTION nothing()"
        }
        "mysql" => "FOR EACH ROW DO 1",
        _ => "BEGIN SELECT 1; END",
    };
    let create = |name: &str| format!("CREATE TRIGGER {name} AFTER INSERT ON article_likes {body}");
    database.execute(&create("count_likes_insert"));
    let refused = database.with_file("generate triggers", STEPS[0].1);
    refused.fails("article_likes has a trigger count_likes_insert already");
    let on = if BACKEND == "postgres" {
        " ON article_likes"
    } else {
        ""
    };
    database.execute(&format!("DROP TRIGGER count_likes_insert{on}"));
    database.execute(&create("count_likes_again"));
    for toml in [STEPS[0].1, ""] {
        run(&database, &part(&database.generated(toml), "up"));
    }
    assert_eq!(database.trigger_names(), ["count_likes_again"]);
}

/// A definition without a trigger of each event, so that the application can have names of the others.
const KEPT: &str = r#"
    [[trigger]]
    name = "count_likes"
    rows = "article_likes"
    count = ["article_id:article_counters.likes"]
    deleted = "kept"
    "#;

/// Triggers of the application, which write another table, by names that the definition could have.
fn own_triggers(database: &TestDatabase) -> [&'static str; 2] {
    database.execute("CREATE TABLE audit (what VARCHAR(20))");
    let (names, create) = match BACKEND {
        "postgres" => {
            database.execute(
                "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
                     'BEGIN INSERT INTO audit VALUES (TG_NAME); RETURN NULL; END';
                 CREATE FUNCTION count_likes_delete() RETURNS INTEGER LANGUAGE sql AS 'SELECT 1'",
            );
            let names = ["count_likes_delete", "count_likes_insert"];
            (names, "FOR EACH ROW EXECUTE FUNCTION audit()")
        }
        "mysql" => {
            let names = ["count_likes_delete", "count_likes_lock_delete"];
            (names, "FOR EACH ROW INSERT INTO audit VALUES ('a')")
        }
        _ => {
            let names = ["count_likes_delete", "count_likes_replace_by_insert"];
            (names, "BEGIN INSERT INTO audit VALUES ('a'); END")
        }
    };
    for name in names {
        database.execute(&format!(
            "CREATE TRIGGER {name} AFTER DELETE ON users {create}"
        ));
    }
    names
}

#[test]
fn own_triggers_with_a_name_that_a_definition_could_have_stay() {
    let database = blog();
    let own = own_triggers(&database);
    for toml in [KEPT, &format!("{KEPT}slots = 16\n"), ""] {
        run(&database, &part(&database.generated(toml), "up"));
        let names = database.trigger_names();
        assert!(
            own.iter().all(|own| names.iter().any(|name| name == own)),
            "{names:?}: {toml}"
        );
    }
    assert_eq!(database.trigger_names(), own);
    if BACKEND == "postgres" {
        database.execute("SELECT count_likes_delete()");
    }
}

/// Only PostgreSQL has names by table.
#[test]
fn a_definition_that_changes_does_not_replace_an_own_trigger() {
    let database = blog();
    let own = own_triggers(&database);
    run(&database, &part(&database.generated(KEPT), "up"));
    let taken_off = KEPT.replace("deleted = \"kept\"", "");
    if BACKEND != "postgres" {
        let refused = database.with_file("generate triggers", &taken_off);
        refused.fails("users has a trigger count_likes_delete already");
    }
    // The application has put its own trigger in the place of one of the definition's.
    let name = if BACKEND == "postgres" {
        "count_likes_update ON article_likes"
    } else {
        "count_likes_update"
    };
    database.execute(&format!("DROP TRIGGER {name}"));
    let create = match BACKEND {
        "postgres" => "FOR EACH ROW EXECUTE FUNCTION audit()",
        "mysql" => "FOR EACH ROW INSERT INTO audit VALUES ('a')",
        _ => "BEGIN INSERT INTO audit VALUES ('a'); END",
    };
    database.execute(&format!(
        "CREATE TRIGGER count_likes_update AFTER DELETE ON users {create}"
    ));
    run(&database, &part(&database.generated(""), "up"));
    let mut kept = [&own[..], &["count_likes_update"]].concat();
    kept.sort();
    assert_eq!(database.trigger_names(), kept);
}

/// The table of the rows has another name now, or is gone.
#[test]
fn triggers_of_tables_that_are_gone_are_dropped() {
    for change in [
        "ALTER TABLE article_likes RENAME TO likes",
        "ALTER TABLE user_counters RENAME TO counters_of_users",
        "DROP TABLE article_likes",
    ] {
        let database = blog();
        run(&database, &part(&database.generated(STEPS[1].1), "up"));
        database.execute(change);
        let generated = database.with_file("generate triggers --json", "");
        generated.works();
        run(&database, &part(&generated, "up"));
        assert_eq!(database.trigger_names(), Vec::<String>::new(), "{change}");
        assert_eq!(database.command("show").stdout, "", "{change}");
    }
}
