//! What `check` says of triggers that do not count all rows, and `recount` after it.

use diesel::connection::SimpleConnection;

use super::{LIKES_OF_ARTICLES, counted, likes_of, open, tables};
use crate::{BACKEND, TestDatabase};

const TRIGGER: &str = "count_likes_delete";

fn drop_trigger(name: &str) -> String {
    match BACKEND {
        "postgres" => format!("DROP TRIGGER {name} ON article_likes"),
        _ => format!("DROP TRIGGER {name}"),
    }
}

/// A trigger written by hand: what it does when a row of article_likes is deleted.
fn by_hand(name: &str, statement: &str) -> String {
    match BACKEND {
        "postgres" => format!(
            "CREATE FUNCTION {name}_by_hand() RETURNS trigger LANGUAGE plpgsql AS
                 'BEGIN {statement}; RETURN NULL; END';
             CREATE TRIGGER {name} AFTER DELETE ON article_likes FOR EACH ROW
                 EXECUTE FUNCTION {name}_by_hand()"
        ),
        "mysql" => {
            format!("CREATE TRIGGER {name} AFTER DELETE ON article_likes FOR EACH ROW {statement}")
        }
        _ => format!("CREATE TRIGGER {name} AFTER DELETE ON article_likes BEGIN {statement}; END"),
    }
}

/// Two rows of an article, of which one is deleted after `breaking`. Returns what `check` finds,
/// after its SQL and a recount have corrected the count.
fn broken(database: &TestDatabase, breaking: &str) -> serde_json::Value {
    let conn = &mut open(database);
    conn.batch_execute("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)")
        .unwrap();
    conn.batch_execute(breaking).unwrap();
    conn.batch_execute("INSERT INTO article_likes (id, article_id) VALUES (3, 1)")
        .unwrap();
    conn.batch_execute("DELETE FROM article_likes WHERE id IN (1, 3)")
        .unwrap();
    assert_ne!(likes_of(1, conn), 1, "{breaking}");

    let checked = database.run(&["check", "article_counters", "--json"]);
    assert_eq!(checked.code, 3, "{}", checked.stdout);
    let faults = checked.json()["tables"][0]["faults"].clone();
    let is_trigger =
        |fault: &&serde_json::Value| fault["fault"].as_str().unwrap().starts_with("trigger");
    let faults: Vec<_> = faults
        .as_array()
        .unwrap()
        .iter()
        .filter(is_trigger)
        .cloned()
        .collect();
    assert_eq!(faults.len(), 1, "{faults:?}");
    for statement in faults[0]["sql"].as_array().unwrap() {
        conn.batch_execute(statement.as_str().unwrap()).unwrap();
    }
    let recounted = database.run(&["recount", "count_likes"]);
    assert!(
        recounted
            .stdout
            .starts_with("count_likes: 1 count corrected"),
        "{recounted:?}"
    );
    assert_eq!(likes_of(1, conn), 1, "{breaking}");
    faults[0].clone()
}

fn of_likes() -> TestDatabase {
    let database = tables(true);
    counted(&database, &LIKES_OF_ARTICLES);
    assert_eq!(database.run(&["check", "article_counters"]).code, 0);
    database
}

fn assert_mended(database: &TestDatabase) {
    let checked = database.run(&["check", "article_counters"]);
    assert_eq!(checked.code, 0, "{}", checked.stdout);
    let conn = &mut open(database);
    conn.batch_execute("DELETE FROM article_likes").unwrap();
    assert_eq!(likes_of(1, conn), 0);
}

#[test]
fn a_trigger_is_missing() {
    let database = of_likes();
    let fault = broken(&database, &drop_trigger(TRIGGER));
    assert_eq!(fault["fault"], "trigger_missing");
    assert_eq!(
        fault["what"],
        "article_likes has no trigger count_likes_delete."
    );
    assert_mended(&database);
}

#[test]
fn a_trigger_has_been_changed_by_hand() {
    let database = of_likes();
    let twice = "UPDATE article_counters SET likes = likes - 2 WHERE article_id = OLD.article_id";
    let breaking = format!("{}; {}", drop_trigger(TRIGGER), by_hand(TRIGGER, twice));
    let fault = broken(&database, &breaking);
    assert_eq!(fault["fault"], "trigger_changed");
    assert_eq!(
        fault["what"],
        "The trigger count_likes_delete is not what its definition says."
    );
    assert_mended(&database);
}

#[test]
fn a_trigger_is_for_another_counter() {
    let database = of_likes();
    let views = "UPDATE article_counters SET views = views - 1 WHERE article_id = OLD.article_id";
    let breaking = format!("{}; {}", drop_trigger(TRIGGER), by_hand(TRIGGER, views));
    let fault = broken(&database, &breaking);
    assert_eq!(fault["fault"], "trigger_changed");
    assert_eq!(
        fault["what"],
        "The trigger count_likes_delete does not count in article_counters.likes."
    );
    assert_mended(&database);
}

#[test]
fn another_trigger_counts_too() {
    let database = of_likes();
    let likes = "UPDATE article_counters SET likes = likes - 1 WHERE article_id = OLD.article_id";
    let fault = broken(&database, &by_hand("mine", likes));
    assert_eq!(fault["fault"], "trigger_other");
    assert_eq!(
        fault["what"],
        "The trigger mine of article_likes counts in article_counters.likes too."
    );
    database.execute(&drop_trigger("mine"));
    assert_mended(&database);
}

/// One that an application had before.
#[test]
fn another_trigger_writes_elsewhere() {
    let database = of_likes();
    database.execute(&by_hand(
        "mine",
        "UPDATE users SET id = id WHERE id = OLD.user_id",
    ));
    let checked = database.run(&["check", "article_counters"]);
    assert!(
        checked.code == 0 && !checked.stdout.contains("trigger"),
        "{checked:?}"
    );
}

/// It has the name of a counter in a comment, in a text, and in a column that it reads.
#[test]
fn another_trigger_only_reads_the_counter() {
    let database = of_likes();
    let reads = "UPDATE users SET id = id /* UPDATE article_counters SET likes = 1 */ WHERE id = (\
        SELECT MAX(likes) FROM article_counters) AND \'UPDATE article_counters SET likes = 1\' <> \'\'";
    let reads = match BACKEND {
        "postgres" => reads.replace('\'', "\'\'"),
        _ => reads.to_owned(),
    };
    database.execute(&by_hand("mine", &reads));
    let checked = database.run(&["check", "article_counters"]);
    assert!(
        checked.code == 0 && !checked.stdout.contains("trigger"),
        "{checked:?}"
    );
}

#[test]
fn another_trigger_counts_in_a_counter_whose_name_is_no_word() {
    let database = tables(true);
    let quote = if BACKEND == "mysql" { '`' } else { '"' };
    let votes = format!("{quote}up-votes{quote}");
    database.execute(&format!(
        "ALTER TABLE article_counters RENAME COLUMN likes TO {votes}"
    ));
    counted(
        &database,
        &["--count", "article_id:article_counters.up-votes"],
    );
    let update = format!("UPDATE article_counters SET {votes} = {votes} - 1");
    database.execute(&by_hand("mine", &update));
    let checked = database.run(&["check", "article_counters"]);
    let says = "The trigger mine of article_likes counts in article_counters.up-votes too.";
    let text: Vec<_> = checked.stdout.split_whitespace().collect();
    assert!(text.join(" ").contains(says), "{checked:?}");
}

/// A table is created again to change it on SQLite, and its triggers are lost.
#[test]
fn all_triggers_are_missing() {
    let database = of_likes();
    let events = ["insert", "update", "delete"].map(|event| format!("count_likes_{event}"));
    let rebuilt = events.map(|name| drop_trigger(&name)).join("; ");
    database.execute(&rebuilt);
    let checked = database.run(&["check", "--json"]).json();
    let faults = checked["tables"][0]["faults"].as_array().unwrap();
    let missing = faults
        .iter()
        .filter(|fault| fault["fault"] == "trigger_missing");
    assert_eq!(missing.count(), 3, "{faults:?}");
}

/// Its trigger is there, too.
#[test]
fn a_trigger_is_there_twice() {
    let database = of_likes();
    let copy = match BACKEND {
        "postgres" => "CREATE TRIGGER again AFTER INSERT ON article_likes REFERENCING NEW TABLE AS new_rows
            FOR EACH STATEMENT EXECUTE FUNCTION count_likes()",
        "mysql" => "CREATE TRIGGER again AFTER INSERT ON article_likes FOR EACH ROW
            INSERT INTO article_counters (article_id, day, slot, likes) VALUES (NEW.article_id, UTC_DATE(), 1, 1)
            ON DUPLICATE KEY UPDATE likes = likes + 1",
        _ => "CREATE TRIGGER again AFTER INSERT ON article_likes BEGIN
            INSERT INTO article_counters (article_id, day, slot, likes) VALUES (NEW.article_id, date('now'), 0, 1)
            ON CONFLICT DO UPDATE SET likes = likes + 1; END",
    };
    let fault = broken(&database, copy);
    assert_eq!(fault["fault"], "trigger_other");
}

#[test]
fn a_counter_has_one_definition() {
    let database = of_likes();
    database.execute("CREATE TABLE other_likes (id BIGINT PRIMARY KEY, article_id BIGINT)");
    let folder = tempfile::tempdir().unwrap();
    for (name, rows, why) in [
        (
            "count_again",
            "article_likes",
            "the triggers count_likes count in article_counters.likes already",
        ),
        (
            "count_others",
            "other_likes",
            "the triggers count_likes count in article_counters.likes already",
        ),
        (
            "count_likes",
            "other_likes",
            "there are triggers count_likes already",
        ),
    ] {
        let ran = database.run(&[
            "generate",
            "trigger",
            name,
            "--rows",
            rows,
            "--count",
            "article_id:article_counters.likes",
            "--migration-dir",
            folder.path().to_str().unwrap(),
        ]);
        assert!(
            ran.code == 1 && ran.stderr.contains(why),
            "{name}: {}",
            ran.stderr
        );
    }
    let definition = "{\"name\":\"second\",\"rows\":\"other_likes\",\
        \"count\":[\"article_id:article_counters.likes\"],\"by\":\"1\",\"period\":\"day\",\"slots\":32}";
    database.execute(&match BACKEND {
        "postgres" => format!(
            "CREATE FUNCTION second() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             COMMENT ON FUNCTION second() IS 'diesel_counters: {definition}'"
        ),
        _ => format!("CREATE VIEW second AS SELECT '{definition}' AS diesel_counters_trigger"),
    });
    let checked = database
        .run(&["check", "article_counters", "--json"])
        .json();
    let faults = checked["tables"][0]["faults"].as_array().unwrap();
    let twice = faults
        .iter()
        .filter(|fault| fault["fault"] == "trigger_twice");
    assert_eq!(twice.count(), 1, "{faults:?}");
}

#[test]
fn the_counter_table_has_another_name() {
    let database = of_likes();
    database.execute("ALTER TABLE article_counters RENAME TO counters_of_articles");
    let checked = database.run(&["check"]);
    assert_eq!(checked.code, 3, "{}", checked.stdout);
    assert!(
        checked
            .stdout
            .contains("The triggers count_likes count the rows"),
        "{}",
        checked.stdout
    );
    database.execute(
        "INSERT INTO counters_of_articles (article_id, day, slot, likes) VALUES (1, '2026-03-01', 1, 5)",
    );
    let recounted = database.run(&["recount"]);
    assert_eq!(
        (recounted.code, &*recounted.stdout),
        (1, ""),
        "{recounted:?}"
    );
}

#[test]
fn the_rows_have_lost_a_column() {
    let database = tables(true);
    counted(
        &database,
        &[&LIKES_OF_ARTICLES[..], &["--by", "stars"]].concat(),
    );
    let names =
        ["insert", "update", "delete"].map(|event| drop_trigger(&format!("count_likes_{event}")));
    database.execute(&format!(
        "{}; ALTER TABLE article_likes RENAME COLUMN stars TO points",
        names.join("; ")
    ));
    let checked = database.run(&["check", "--json"]).json();
    let fault = &checked["tables"][0]["faults"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(fault["fault"], "trigger_definition");
    assert!(
        fault["what"]
            .as_str()
            .unwrap()
            .contains("article_likes has no such column"),
        "{fault}"
    );
}

/// Forty tables of an application, whose triggers write each other's columns, and read the counters.
#[test]
fn a_hundred_triggers_of_an_application_are_no_fault() {
    let database = of_likes();
    let conn = &mut open(&database);
    for i in 0..40 {
        conn.batch_execute(&format!(
            "CREATE TABLE topic_{i} (id BIGINT NOT NULL PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0,
                 comments BIGINT NOT NULL DEFAULT 0, last_like BIGINT)"
        ))
        .unwrap();
    }
    let mut created = 0;
    let mut create = |table: &str, on_likes: bool| {
        let name = format!("own_{created}");
        created += 1;
        let body = format!(
            "UPDATE {table} SET likes = likes + 1, last_like = (SELECT MAX(likes) FROM article_counters)
                 WHERE id = {} /* UPDATE article_counters SET likes = likes + 1 */",
            if on_likes { "OLD.article_id" } else { "OLD.id" }
        );
        let trigger = by_hand(&name, &body);
        let trigger = match on_likes {
            true => trigger,
            false => trigger.replace("ON article_likes", "ON topic_0"),
        };
        conn.batch_execute(&trigger).unwrap();
    };
    for i in 0..40 {
        create(&format!("topic_{i}"), true);
    }
    for i in 1..40 {
        create(&format!("topic_{i}"), false);
    }
    for i in 1..22 {
        create(&format!("topic_{i}"), true);
    }
    assert_eq!(created, 100);
    let checked = database.run(&["check", "--json"]);
    let json = checked.json();
    let tables = json["tables"].as_array().unwrap();
    let faults = tables
        .iter()
        .flat_map(|table| table["faults"].as_array().unwrap());
    let of_triggers =
        faults.filter(|fault| fault["fault"].as_str().unwrap().starts_with("trigger"));
    assert_eq!(of_triggers.count(), 0, "{}", checked.stdout);
    assert_eq!(database.run(&["check", "article_counters"]).code, 0);
}
