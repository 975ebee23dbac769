//! Migrations from the files: of several steps before any has run, of branches, and of triggers that a
//! database has lost.

use std::fs;
use std::path::PathBuf;

use super::{STEPS, blog};
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::{drop_trigger, open};
use crate::{BACKEND, TestDatabase};
use diesel_migrations::MigrationHarness;

const LIKES: &str = STEPS[0].1;

const STARS: &str = r#"
    [[trigger]]
    name = "count_stars"
    rows = "article_likes"
    count = ["user_id:user_counters.stars=stars"]
    "#;

impl TestDatabase {
    #[track_caller]
    fn generate_as(&self, name: &str, toml: &str) {
        self.define(toml);
        self.command(&format!("generate triggers {name}")).works();
    }

    /// The directory of the migration with this name.
    fn directory(&self, name: &str) -> PathBuf {
        let end = format!("_{name}");
        let mut paths = self.migration_directories().into_iter();
        paths
            .find(|path| path.to_str().unwrap().ends_with(&end))
            .unwrap()
    }

    #[track_caller]
    fn assert_good(&self) {
        self.assert_agrees();
        let checked = self.command("check");
        assert_eq!(checked.code, 0, "{checked:?}");
    }
}

fn changed(toml: &str) -> String {
    toml.replace("[[trigger]]", "[[trigger]]\nwhen = \"approved\"")
}

#[test]
fn a_migration_begins_from_the_files_and_not_from_the_database() {
    let database = blog();
    database.generate_as("count_likes", LIKES);
    let both = format!("{LIKES}{STARS}");
    database.generate_as("count_stars", &both);
    let up = database.last_migration("up.sql");
    assert!(!up.contains("count_likes"), "{up}");
    database.migrate();
    database.assert_good();
    database.generate_as("approved", &changed(&both));
    database
        .command("check")
        .finds("is not what its definition says");
    database.migrate();
    database.assert_good();
    database.revert();
    database.define(&both);
    database.assert_good();
    // A database that has run none of them.
    let fresh = blog();
    let ran = open(&fresh)
        .run_pending_migrations(database.migrations())
        .map(drop);
    ran.unwrap();
    fresh.define(&changed(&both));
    fresh.assert_good();
}

#[test]
fn branches_that_change_different_definitions_go_together() {
    let database = blog();
    let aside = database.project().join("aside");
    database.generate_as("root", LIKES);
    let both = format!("{LIKES}{STARS}");
    database.generate_as("stars", &both);
    // The other branch does not have that migration.
    let stars = database.directory("stars");
    fs::rename(&stars, &aside).unwrap();
    database.generate_as("approved", &changed(LIKES));
    let approved = database.directory("approved");
    // Two people can generate in one second.
    let later = approved.with_file_name("2099-01-01-000000_approved");
    fs::rename(&approved, &later).unwrap();
    fs::rename(&aside, &stars).unwrap();
    let merged = format!("{}{STARS}", changed(LIKES));
    let none = database.generate(&merged);
    assert!(none.stderr.contains("has not changed since"), "{none:?}");
    database.migrate();
    database.assert_good();
    database.generate_as(
        "slots",
        &merged.replace("[[trigger]]", "[[trigger]]\nslots = 8"),
    );
    let after = database.last_migration("counters.toml");
    assert!(
        after.contains("_stars\", \"2099-01-01-000000_approved\"]"),
        "{after}"
    );
    database.migrate();
    database.assert_good();
}

#[test]
fn branches_that_change_one_definition_are_told_apart() {
    let database = blog();
    let aside = database.project().join("aside");
    database.generate_as("root", LIKES);
    database.generate_as("approved", &changed(LIKES));
    let approved = database.directory("approved");
    fs::rename(&approved, &aside).unwrap();
    let slots = LIKES.replace("[[trigger]]", "[[trigger]]\nslots = 8");
    database.generate_as("slots", &slots);
    fs::rename(
        database.directory("slots"),
        approved.with_file_name("2099-01-01-000000_slots"),
    )
    .unwrap();
    fs::rename(&aside, &approved).unwrap();
    let refused = database.generate(&slots);
    refused.fails("come from two branches, and both change the triggers count_likes");
}

#[test]
fn triggers_that_were_lost_are_created_again() {
    let database = blog();
    let both = format!("{LIKES}{STARS}");
    database.count(&both);
    database.execute(&drop_trigger("count_likes_delete", "article_likes"));
    database.execute("DELETE FROM article_likes WHERE id = 3");
    let fault = "has no trigger count_likes_delete";
    database.command("check").finds(fault);
    let unchanged = database.command("generate triggers again");
    assert!(
        unchanged.stderr.contains("has not changed since"),
        "{unchanged:?}"
    );
    database
        .command("generate triggers again --repair likes")
        .fails("no migration has these triggers; there are count_likes, count_stars");
    database
        .command("generate triggers again --repair count_likes")
        .works();
    let up = database.last_migration("up.sql");
    assert!(!up.contains("count_stars"), "{up}");
    database.migrate();
    database.command("check").works();
    database.command("recount --lower").works();
    database.assert_good();
    database.revert();
    database.assert_good();
    database.migrate();
    database.command("generate triggers all --repair").works();
    database.migrate();
    database.assert_good();
}

/// The tables have changed, and so would the triggers.
#[test]
fn a_definition_whose_tables_have_changed_is_named() {
    let database = blog();
    database.count(STARS);
    database.set_period("user_counters", "week");
    let generated = database.command("generate triggers again");
    let text = "the triggers count_stars are out of date";
    assert!(generated.stderr.contains(text), "{generated:?}");
    assert!(
        generated.stderr.contains("--repair count_stars"),
        "{generated:?}"
    );
    database
        .command("generate triggers again --repair count_stars")
        .works();
    database.migrate();
    database.assert_good();
}

/// It has other names and texts.
#[test]
fn migrations_for_another_database_are_refused() {
    let database = blog();
    database.generate_as("root", LIKES);
    let path = database.directory("root").join("counters.toml");
    let text = fs::read_to_string(&path).unwrap();
    let other = if BACKEND == "sqlite" {
        "mysql"
    } else {
        "sqlite"
    };
    fs::write(&path, text.replace(BACKEND, other)).unwrap();
    let refused = database.generate(LIKES);
    refused.fails(&format!("are for {other}, and this database is {BACKEND}"));
}

/// What triggers this database has doesn't matter: it has not run the migration that drops them.
#[test]
fn a_definition_can_come_back_before_it_was_dropped() {
    let database = blog();
    database.count(LIKES);
    database.generate_as("none", "");
    database.generate_as("again", LIKES);
    database.migrate();
    database.assert_good();
}

/// A table of the definition has got something that triggers cannot count beside.
#[test]
fn a_definition_that_could_not_be_created_any_more_can_be_dropped() {
    let database = blog();
    database.count(STARS);
    database.execute("ALTER TABLE article_likes RENAME COLUMN stars TO points");
    let dropped = database.count("");
    let says = "down.sql can't create these triggers again: count_stars: ";
    assert!(dropped.stderr.contains(says), "{dropped:?}");
    assert_eq!(database.trigger_names(), Vec::<String>::new());
}

/// Names of triggers are made of those of definitions.
#[test]
fn a_new_definition_takes_no_name_of_one_that_stays() {
    if BACKEND == "postgres" {
        return;
    }
    let database = blog();
    let count = "count = [\"user_id:user_counters.stars\"]";
    let ends = if BACKEND == "mysql" {
        "lock"
    } else {
        "replace_by"
    };
    let stays = trigger(&format!("count_likes_{ends}"), "article_likes", count);
    database.count(&stays);
    let refused = database.generate(&format!("{stays}{LIKES}"));
    refused.fails("would both have a trigger count_likes_");
}
