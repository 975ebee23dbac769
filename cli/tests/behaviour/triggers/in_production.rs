//! On a server that has the program, `counters.toml` and the database, and not the repository.

use std::fs;

use tempfile::tempdir;

use super::{counted_likes, likes, open};
use crate::behaviour::{Execute, command, ran, words};

#[test]
fn a_server_needs_counters_toml_and_no_migrations() {
    let database = counted_likes();
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1), (3, 2);
         UPDATE article_counters SET likes = 0",
    );
    let program = tempdir().unwrap();
    let shipped = program.path().join("counters.toml");
    fs::write(&shipped, database.defined()).unwrap();
    let folder = tempdir().unwrap();
    let run = |line: &str| {
        let url = database.url();
        ran(command(&words(line), Some(&url)).current_dir(folder.path()))
    };
    let with_file = |line: &str| run(&format!("{line} --file {}", shipped.display()));

    with_file("check article_counters").prints("article_likes: good");
    assert_eq!(with_file("recount --dry-run").code, 3);
    with_file("recount").works();
    assert_eq!(likes([1, 2], conn), [2, 1]);
    with_file("recount --dry-run").works();
    for line in [
        "compact article_counters",
        "fold article_counters --before 2026-01-01",
        "doctor article_counters",
    ] {
        run(line).works();
    }

    // Without the file, `check` doesn't look for triggers.
    let checked = run("check article_counters");
    checked.works();
    assert!(!checked.stdout.contains("article_likes"), "{checked:?}");
    run("recount").fails("there is no counters.toml");
    with_file("generate triggers more").fails("there is no directory of migrations");
}
