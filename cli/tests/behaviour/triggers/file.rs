//! `counters.toml` changes, and the database follows.

pub mod beside;
mod branches;
mod differences;
mod half_way;
mod own;

use std::path::Path;

use diesel::prelude::*;
use diesel::sql_types::Text;

use super::{LIKES, OTHER_COUNTERS, PARENTS, open, patient};
use crate::behaviour::{self, check_of};
use crate::{BACKEND, REFERENCE, TestDatabase};

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
        "slots instead of a column",
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
    /// Asserts that the database counts what the file says.
    #[track_caller]
    fn assert_has(&self, toml: &str, when: &str) {
        self.define(toml);
        if !toml.is_empty() {
            self.assert_agrees();
        }
        let checked = self.run(&["check"]);
        assert_eq!(checked.code, 0, "{when}: {checked:?}");
    }

    /// Corrects the counts, if there are triggers: a counter that was not counted meanwhile keeps what
    /// it had.
    #[track_caller]
    fn recount(&self) {
        let ran = patient(|| self.command("recount --lower"));
        let has_none = ran.stderr.contains("counters.toml has no [[trigger]]");
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

#[test]
fn the_database_follows_the_file_and_goes_back() {
    let database = blog();
    let mut before = "";
    for (index, (step, toml)) in STEPS.into_iter().enumerate() {
        if index > 0 {
            database.define(toml);
            database.command("check").finds("wrong");
        }
        database.generate(toml).works();
        database.migrate();
        // A counter in which nothing counted for a while has what it had.
        if step == "all back" {
            database.recount();
        }
        database.assert_has(toml, step);
        database.revert();
        database.define(before);
        database.recount();
        database.assert_has(before, &format!("{step}, and back"));
        database.migrate();
        database.define(toml);
        database.recount();
        database.assert_has(toml, &format!("{step}, and again"));
        let again = database.generate(toml);
        assert!(again.stderr.contains("has not changed since"), "{again:?}");
        before = toml;
    }
}

/// What `--existing later` does not count, a recount does.
#[test]
fn a_change_can_count_existing_rows_later() {
    let database = blog();
    let slots = STEPS[4].1;
    database.define(slots);
    database
        .command("generate triggers slots --existing later")
        .works();
    database.migrate();
    database
        .command("recount --dry-run")
        .prints("would be corrected");
    database.command("recount").works();
    database.assert_has(slots, "recounted");
}

#[test]
fn what_is_wrong_in_the_file_is_named_with_its_line() {
    let database = blog();
    let (_, first) = STEPS[0];
    for (line, why) in [
        ("wen = 'approved'", "unknown field `wen`"),
        ("slots = 'many'", "invalid type: string \"many\""),
        ("when = 1", "invalid type: integer `1`"),
        ("period = 'week'", "unknown field `period`"),
        ("deleted = 'never'", "unknown variant `never`"),
    ] {
        database.define(&format!("{first}{line}\n"));
        for command in ["generate triggers wrong", "check", "recount"] {
            let ran = database.command(command);
            assert_eq!(ran.code, 2, "{ran:?}");
            let is_named = ran
                .stderr
                .contains("counters.toml: TOML parse error at line 6");
            assert!(is_named, "{ran:?}");
            assert!(
                ran.stderr.contains(why) && ran.stderr.contains(line),
                "{ran:?}"
            );
        }
    }
    let ran = database.generate(&first.replace("article_id:articles.likes", "article_id"));
    let says =
        ran.stderr.contains("at line 5") && ran.stderr.contains("write COLUMN:TABLE.COUNTER");
    assert!(says, "{ran:?}");
}

/// As `diesel` finds diesel.toml.
#[test]
fn the_file_is_that_of_the_nearest_directory() {
    let database = blog();
    database.define(STEPS[0].1);
    let below = database.project().join("migrations/one");
    std::fs::create_dir_all(&below).unwrap();
    let run_in = |directory: &Path, words: &str| {
        let url = database.url();
        let mut command = behaviour::command(&behaviour::words(words), Some(&url));
        behaviour::ran(command.current_dir(directory))
    };
    run_in(&below, "generate triggers --print").prints("Counts the rows of article_likes");
    run_in(&below, "check").finds("has no trigger count_likes_insert");
    let elsewhere = tempfile::tempdir().unwrap();
    for command in ["generate triggers one", "recount"] {
        run_in(elsewhere.path(), command).fails("there is no counters.toml here");
    }
    run_in(elsewhere.path(), "check").works();
}

/// `diesel.toml` names the directory of the migrations, or the option or the variable of diesel_cli does.
#[test]
fn the_migrations_are_where_diesel_has_them() {
    let database = blog();
    database.define(STEPS[0].1);
    let project = database.project();
    std::fs::remove_dir(project.join("migrations")).unwrap();
    let none = database.command("generate triggers one");
    none.fails("there is no directory of migrations beside");
    for folder in ["db", "other"] {
        std::fs::create_dir(project.join(folder)).unwrap();
    }
    std::fs::write(
        project.join("diesel.toml"),
        "[print_schema]\nfile = 'src/schema.rs'\n[migrations_directory]\ndir = 'db'\n",
    )
    .unwrap();
    let wrote = database.command("generate triggers one");
    assert!(wrote.stderr.contains("wrote db/2"), "{wrote:?}");
    let wrote = database.command("generate triggers one --migrations other");
    assert!(wrote.stderr.contains("wrote other/2"), "{wrote:?}");
    let wrong = database.command("generate triggers ../one");
    wrong.fails("a migration cannot be named ../one");
    let nameless = database.command("generate triggers");
    assert_eq!(nameless.code, 2, "{nameless:?}");
    assert!(
        nameless.stderr.contains("the migration needs a name"),
        "{nameless:?}"
    );
}

/// What the file has and the database has not, or the other way round.
#[test]
fn check_compares_the_database_with_the_file() {
    let database = blog();
    database.count(STEPS[1].1);
    for (index, expected) in [
        (1, &[][..]),
        (2, &["trigger_changed"]),
        (3, &["trigger_changed", "trigger_left", "trigger_missing"]),
        (0, &["trigger_left"]),
    ] {
        database.define(STEPS[index].1);
        let mut faults: Vec<_> = database
            .faults()
            .into_iter()
            .map(|fault| fault["fault"].to_string())
            .collect();
        faults.sort();
        faults.dedup();
        let expected: Vec<_> = expected
            .iter()
            .map(|fault| format!("\"{fault}\""))
            .collect();
        assert_eq!(faults, expected);
    }
    database.define(STEPS[3].1);
    let all = database.command("check --json").all_faults();
    let noted = all.iter().filter(|fault| fault["fault"] == "not_generated");
    assert_eq!(noted.count(), 2, "{all:?}");
    let of_site = database.command("check site_counters");
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
        database.count(STEPS[1].1);
        database.execute(change);
        database.count("");
        assert_eq!(database.trigger_names(), Vec::<String>::new(), "{change}");
        assert_eq!(
            database
                .last_migration("counters.toml")
                .matches("[[trigger]]")
                .count(),
            0
        );
    }
}
