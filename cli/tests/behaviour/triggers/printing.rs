//! What is printed of a file of definitions, and again after the migration has run.

use super::{LIKES_OF_ARTICLES, file_of, generate, generate_triggers, migrate, tables};

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
    let (_folder, words) = file_of(LIKES);
    for option in [
        "--when approved",
        "--by stars",
        "--day created_at",
        "--only approved",
        "--period week",
        "--slots 8",
        "--count article_id:article_counters.likes",
        "count_likes",
    ] {
        let args = format!("generate triggers {words} {option}");
        let ran = database.run(&crate::behaviour::words(&args));
        assert_eq!(ran.code, 2, "{option}: {}", ran.stderr);
    }
    let later = database.command(&format!("generate triggers {words} --existing later"));
    later.prints("To count the rows that are there already, run");
}

#[test]
fn a_migration_that_has_run_can_print_its_down_again() {
    let database = tables(true);
    let (before, folder) = generate(&database, &LIKES_OF_ARTICLES);
    migrate(&database, &folder);
    let (_folder, words) = file_of(LIKES);
    let down = database.command(&format!("generate triggers {words} --down"));
    assert_eq!(down.stdout, before.json()["down"], "{down:?}");
    let up = database.command(&format!("generate triggers {words}"));
    up.works();
    assert_eq!(up.stdout, "");
    assert!(up.stderr.contains("the database has what "), "{up:?}");
}

/// The other definitions are those of the next migration.
#[test]
fn definitions_of_a_file_that_the_database_has_are_left_out() {
    let database = tables(true);
    let (_folder, words) = file_of(LIKES);
    let (_, folder) = generate_triggers(&database, &words, &[]);
    migrate(&database, &folder);
    let (_folder, words) = file_of(&format!("{STARS}{LIKES}"));
    let (ran, _) = generate_triggers(&database, &words, &[]);
    let up = ran.json()["up"].as_str().unwrap().to_owned();
    assert!(
        up.contains("count_stars") && !up.contains("count_likes"),
        "{up}"
    );
    let does = "this creates the triggers count_stars";
    assert!(ran.stderr.contains(does), "{ran:?}");
}

/// The program counts itself again after the way back.
#[test]
fn the_way_back_has_no_advice_for_the_way_up() {
    let database = tables(true);
    let (_folder, words) = file_of(LIKES);
    let advice = "counted_by_database";
    let up = database.command(&format!("generate triggers {words}"));
    assert!(up.stderr.contains(advice), "{up:?}");
    let down = database.command(&format!("generate triggers {words} --down"));
    down.works();
    assert!(!down.stderr.contains(advice), "{down:?}");
}
