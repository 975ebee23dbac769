//! Faults of tables and triggers that only MySQL and MariaDB have.

use diesel::connection::SimpleConnection;
use serde_json::Value;

use crate::TestDatabase;
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::{counted_likes, number, open};

/// Asserts that there is this fault, and none after its SQL has run.
#[track_caller]
fn finds_and_mends(database: &TestDatabase, expected: &str) {
    let found = database.faults();
    let names: Vec<_> = found.iter().map(|fault| fault["fault"].clone()).collect();
    assert_eq!(names, [expected], "{found:?}");
    found.iter().for_each(|fault| database.mend(fault));
    assert_eq!(database.faults(), Vec::<Value>::new());
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
        finds_and_mends(&database, "partition");
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
    let counted = database.defined();
    let count = "count = ['article_id:article_counters.views']";
    let generated = database.generate(&trigger("count_visits", "visits", count));
    generated.fails("MyISAM");
    database.define(&counted);
    database.execute(
        "ALTER TABLE article_likes DROP FOREIGN KEY article_likes_ibfk_1, DROP FOREIGN KEY article_likes_ibfk_2;
         ALTER TABLE article_likes ENGINE = MyISAM",
    );
    let names = database.faults();
    assert!(
        names.iter().any(|fault| fault["fault"] == "storage"),
        "{names:?}"
    );
}

/// Two entities that begin alike are one row.
#[test]
fn a_unique_index_of_the_beginning_of_a_key_is_found() {
    let columns = "tag VARCHAR(50) COLLATE utf8mb4_nopad_bin NOT NULL, day DATE NOT NULL,
        slot SMALLINT NOT NULL, hits BIGINT NOT NULL DEFAULT 0";
    for keys in [
        "PRIMARY KEY (tag, day, slot), UNIQUE KEY short (tag(2), day, slot)",
        "PRIMARY KEY (tag(2), day, slot)",
    ] {
        let database = TestDatabase::create();
        let table = format!("CREATE TABLE tag_counters ({columns}, {keys})");
        database.execute(&table.replace("nopad_bin", collation_of_server(&database)));
        for tag in ["foo", "fox"] {
            database.execute(&format!(
                "INSERT INTO tag_counters VALUES ('{tag}', '2026-01-01', 1, 1)
                 ON DUPLICATE KEY UPDATE hits = hits + 1"
            ));
        }
        assert_eq!(database.rows_and_sum("tag_counters", "hits"), (1, 2));
        let found = database.faults();
        let names: Vec<_> = found.iter().map(|fault| fault["fault"].clone()).collect();
        assert_eq!(names, ["unique_index"], "{keys}");
    }
}

/// The end of the name of an exact collation.
fn collation_of_server(database: &TestDatabase) -> &'static str {
    let mysql = "SELECT COUNT(*) FROM information_schema.collations
        WHERE collation_name = 'utf8mb4_0900_bin'";
    match number(mysql, &mut open(database)) {
        1 => "0900_bin",
        _ => "nopad_bin",
    }
}

#[test]
fn a_collation_that_ignores_accents_is_found() {
    let database = TestDatabase::create();
    let collation = "utf8mb4_uca1400_nopad_ai_cs";
    let has_it = "SELECT COUNT(*) FROM information_schema.collation_character_set_applicability
        WHERE full_collation_name = 'utf8mb4_uca1400_nopad_ai_cs'";
    // MySQL has none that ignores accents and not case.
    if database.connect().batch_execute(has_it).is_err()
        || number(has_it, &mut open(&database)) == 0
    {
        return;
    }
    for collation in [collation, "utf8mb4_uca1400_ai_cs"] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE page_counters (
                 path VARCHAR(50) COLLATE {collation} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (path, day, slot)
             );
             INSERT INTO page_counters VALUES ('résumé', '2026-01-01', 1, 1)
                 ON DUPLICATE KEY UPDATE hits = hits + 1;
             INSERT INTO page_counters VALUES ('resume', '2026-01-01', 1, 1)
                 ON DUPLICATE KEY UPDATE hits = hits + 1"
        ));
        assert_eq!(database.rows_and_sum("page_counters", "hits"), (1, 2));
        let found = database.faults();
        assert_eq!(found.len(), 1, "{collation}: {found:?}");
        assert_eq!(found[0]["fault"], "text_key");
        assert!(
            found[0]["cost"].as_str().unwrap().contains("resume"),
            "{found:?}"
        );
    }
}

/// A MODIFY says the whole column again.
#[test]
fn the_comment_of_a_period_keeps_the_default_of_the_day() {
    for (default, day) in [
        ("(CURRENT_DATE)", "CURRENT_DATE"),
        ("'2026-02-03'", "'2026-02-03'"),
        ("('2026-02-03')", "'2026-02-03'"),
    ] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE hit_counters (
                 day DATE NOT NULL DEFAULT {default}, slot SMALLINT NOT NULL,
                 hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (day, slot)
             )"
        ));
        let found = database.command("check --json").faults();
        assert_eq!(found[0]["fault"], "period");
        database.mend(&found[0]);
        assert_eq!(
            database.command("check --json").faults(),
            Vec::<Value>::new()
        );
        database.execute("INSERT INTO hit_counters (slot) VALUES (1)");
        let of_day = format!("hit_counters WHERE day = {day}");
        assert_eq!(database.rows_and_sum(&of_day, "hits"), (1, 0), "{default}");
    }
}
