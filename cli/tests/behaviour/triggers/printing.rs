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

/// A file says them for each of its definitions.
#[test]
fn options_of_one_definition_are_refused_beside_a_file() {
    let database = tables(true);
    let (_folder, words) = file_of(LIKES);
    for option in [
        "--when approved",
        "--by stars",
        "--day created_at",
        "--only approved",
        "--period week",
        "--slots 8",
        "--rows article_likes",
        "--count article_id:article_counters.likes",
    ] {
        let ran = database.command(&format!("generate trigger {words} {option}"));
        assert_eq!(ran.code, 2, "{option}: {}", ran.stderr);
    }
    let later = database.command(&format!("generate trigger {words} --existing later"));
    later.prints("To count the existing rows, run");
}

#[test]
fn a_migration_that_has_run_can_print_its_down_again() {
    let database = tables(true);
    let (before, folder) = generate(&database, &LIKES_OF_ARTICLES);
    migrate(&database, &folder);
    let words = "generate trigger count_likes --rows article_likes --down";
    let count = LIKES_OF_ARTICLES.join(" ");
    let down = database.command(&format!("{words} {count}"));
    assert_eq!(down.stdout, before.json()["down"], "{down:?}");
    let up = generate(&database, &LIKES_OF_ARTICLES).0;
    up.fails("there are triggers count_likes already");
}

/// The other definitions are those of the next migration.
#[test]
fn definitions_of_a_file_that_the_database_has_are_left_out() {
    let database = tables(true);
    let (_folder, words) = file_of(LIKES);
    let (_, folder) = generate_triggers(&database, &words, &[]);
    migrate(&database, &folder);
    generate_triggers(&database, &words, &[])
        .0
        .fails("the database has all triggers of this file");
    let (_folder, words) = file_of(&format!("{LIKES}{STARS}"));
    let (ran, _) = generate_triggers(&database, &words, &[]);
    let up = ran.json()["up"].as_str().unwrap().to_owned();
    assert!(
        up.contains("count_stars") && !up.contains("count_likes"),
        "{up}"
    );
    assert!(
        ran.stderr
            .contains("count_likes is in the database already"),
        "{}",
        ran.stderr
    );
    let changed = LIKES.replace("likes\"]", "likes\"]\nwhen = \"approved\"");
    let (_folder, words) = file_of(&changed);
    let (ran, _) = generate_triggers(&database, &words, &[]);
    ran.fails("there are triggers count_likes already");
}
