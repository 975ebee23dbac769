//! Faults of storage and of partitions.

use serde_json::Value;

use crate::TestDatabase;
use crate::behaviour::triggers::counted_likes;

fn faults(database: &TestDatabase) -> Vec<Value> {
    let checked = database.run(&["check", "--json"]).json();
    let tables = checked["tables"].as_array().unwrap().iter();
    let faults = tables.flat_map(|table| table["faults"].as_array().unwrap().clone());
    faults.filter(|fault| fault["severity"] != "note").collect()
}

/// Asserts that there is this fault, and none after its SQL has run.
#[track_caller]
fn finds_and_mends(database: &TestDatabase, expected: &str) {
    let found = faults(database);
    let names: Vec<_> = found.iter().map(|fault| fault["fault"].clone()).collect();
    assert_eq!(names, [expected], "{found:?}");
    found.iter().for_each(|fault| database.mend(fault));
    assert_eq!(faults(database), Vec::<Value>::new());
}

#[test]
fn a_day_without_a_partition_is_found() {
    for (by, until) in [
        ("RANGE COLUMNS (day)", "('2026-01-01')"),
        ("RANGE (TO_DAYS(day))", "(TO_DAYS('2026-01-01'))"),
        ("RANGE (YEAR(day))", "(2026)"),
    ] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE hit_counters (
                 day DATE NOT NULL, slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (day, slot)
             ) PARTITION BY {by} (PARTITION old VALUES LESS THAN {until})"
        ));
        finds_and_mends(&database, "no_partition");
        database.execute(
            "INSERT INTO hit_counters (day, slot) VALUES ('1970-01-01', 1), (CURRENT_DATE, 1)",
        );
    }
}

#[test]
fn a_table_that_is_partitioned_otherwise_is_good() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE hit_counters (
             day DATE NOT NULL, slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (day, slot)
         ) PARTITION BY HASH (slot) PARTITIONS 4",
    );
    database.command("check").works();
}

#[test]
fn rows_that_do_not_roll_back_are_found_and_refused() {
    let database = counted_likes();
    database
        .execute("CREATE TABLE visits (id BIGINT PRIMARY KEY, article_id BIGINT) ENGINE = MyISAM");
    let words =
        "generate triggers count_visits --rows visits --count article_id:article_counters.views";
    database.command(words).fails("MyISAM");
    database.execute(
        "ALTER TABLE article_likes DROP FOREIGN KEY article_likes_ibfk_1, DROP FOREIGN KEY article_likes_ibfk_2;
         ALTER TABLE article_likes ENGINE = MyISAM",
    );
    let names = faults(&database);
    assert!(
        names
            .iter()
            .any(|fault| fault["fault"] == "no_transactions"),
        "{names:?}"
    );
}
