//! What `generate triggers` prints of a file of definitions, before and after its migration.

use super::{notes, tables};

const LIKES: &str = r#"
    [[trigger]]
    name = "count_likes"
    rows = "article_likes"
    count = ["article_id:article_counters.likes"]
    "#;

const STARS: &str = r#"
    [[trigger]]
    name = "count_stars"
    rows = "article_likes"
    count = ["user_id:user_counters.stars=stars"]
    "#;

/// The file says what is counted.
#[test]
fn options_of_a_definition_are_refused() {
    let database = tables(true);
    database.define(LIKES);
    for option in [
        "--when approved",
        "--by stars",
        "--day created_at",
        "--only approved",
        "--period week",
        "--slots 8",
        "--count article_id:article_counters.likes",
    ] {
        let ran = database.command(&format!("generate triggers step {option}"));
        assert_eq!(ran.code, 2, "{option}: {}", ran.stderr);
    }
    let later = database.command("generate triggers --print --existing later");
    later.prints("To count the rows that are there already, run");
}

#[test]
fn a_file_that_has_not_changed_has_no_migration() {
    let database = tables(true);
    database.count(LIKES);
    for command in ["generate triggers step", "generate triggers --print"] {
        let again = database.command(command);
        again.works();
        assert_eq!(again.stdout, "");
        notes(&again, "has not changed since the last migration");
    }
    assert_eq!(database.migration_directories().len(), 1);
}

/// The other definitions are those of the next migration.
#[test]
fn definitions_of_a_file_that_have_a_migration_are_left_out() {
    let database = tables(true);
    database.count(LIKES);
    let ran = database.printed(&format!("{STARS}{LIKES}"));
    let up = ran.json()["up"].as_str().unwrap().to_owned();
    assert!(
        up.contains("count_stars") && !up.contains("count_likes"),
        "{up}"
    );
    notes(&ran, "this creates the triggers count_stars");
}

/// The program counts itself again after the way back.
#[test]
fn the_way_back_has_no_advice_for_the_way_up() {
    let database = tables(true);
    database.define(LIKES);
    let advice = "counted_by_database";
    let up = database.command("generate triggers --print");
    notes(&up, advice);
    let down = database.command("generate triggers --print --down");
    down.works();
    assert!(!down.stderr.contains(advice), "{down:?}");
}
