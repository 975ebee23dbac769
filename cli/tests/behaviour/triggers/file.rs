//! `counters.toml` changes, and the database follows.

mod beside;
mod half_way;
mod own;

use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

use super::{LIKES, OTHER_COUNTERS, PARENTS, file_of, open, patient};
use crate::behaviour::{self, Ran, check_of};
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

    /// Corrects the counts, if there are triggers. Another condition can leave a count of an entity
    /// without rows.
    #[track_caller]
    fn recount(&self) {
        let ran = patient(|| self.command("recount --zero"));
        let has_none = ran.stderr.contains("this database has no triggers");
        assert!(ran.code == 0 || has_none, "{ran:?}");
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
        command.args(behaviour::words(words)).current_dir(directory);
        behaviour::ran(command.env("DATABASE_URL", database.url()))
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
