//! What `check` says of triggers that do not count all rows, and `recount` after it.

use super::{
    LIKES_OF_ARTICLES, counted, counted_likes, counted_too, generate_triggers, likes_of, open,
    tables,
};
use crate::behaviour::Execute;
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
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)");
    conn.run(breaking);
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (3, 1)");
    conn.run("DELETE FROM article_likes WHERE id IN (1, 3)");
    assert_ne!(likes_of(1, conn), 1, "{breaking}");

    let faults = database.trigger_faults("article_counters");
    assert_eq!(faults.len(), 1, "{faults:?}");
    database.mend(&faults[0]);
    database
        .command("recount count_likes")
        .prints("count_likes: 1 count corrected");
    assert_eq!(likes_of(1, conn), 1, "{breaking}");
    faults[0].clone()
}

fn of_likes() -> TestDatabase {
    let database = counted_likes();
    assert_eq!(database.run(&["check", "article_counters"]).code, 0);
    database
}

fn assert_mended(database: &TestDatabase) {
    let checked = database.run(&["check", "article_counters"]);
    checked.works();
    let conn = &mut open(database);
    conn.run("DELETE FROM article_likes");
    assert_eq!(likes_of(1, conn), 0);
}

#[test]
fn a_trigger_is_missing_or_changed_or_counts_too() {
    let update =
        |set: &str| format!("UPDATE article_counters SET {set} WHERE article_id = OLD.article_id");
    let changed = |set: &str| {
        format!(
            "{}; {}",
            drop_trigger(TRIGGER),
            by_hand(TRIGGER, &update(set))
        )
    };
    for (breaking, name, what) in [
        (
            drop_trigger(TRIGGER),
            "trigger_missing",
            "article_likes has no trigger count_likes_delete.",
        ),
        (
            changed("likes = likes - 2"),
            "trigger_changed",
            "The trigger count_likes_delete is not what its definition says.",
        ),
        (
            changed("views = views - 1"),
            "trigger_changed",
            "The trigger count_likes_delete does not count in article_counters.likes.",
        ),
        (
            by_hand("mine", &update("likes = likes - 1")),
            "trigger_other",
            "The trigger mine of article_likes counts in article_counters.likes too.",
        ),
    ] {
        let database = of_likes();
        let fault = broken(&database, &breaking);
        assert_eq!(
            (&fault["fault"], &fault["what"]),
            (&name.into(), &what.into())
        );
        if name == "trigger_other" {
            database.execute(&drop_trigger("mine"));
        }
        assert_mended(&database);
    }
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
    let already = "the triggers count_likes count in article_counters.likes already";
    for (name, rows, why) in [
        ("count_again", "article_likes", already),
        ("count_others", "other_likes", already),
        (
            "count_likes",
            "other_likes",
            "there are triggers count_likes already",
        ),
    ] {
        let words = format!("{name} --rows {rows}");
        generate_triggers(&database, &words, &LIKES_OF_ARTICLES)
            .0
            .fails(why);
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
    let mut faults = database.trigger_faults("article_counters");
    faults.retain(|fault| fault["fault"] == "trigger_twice");
    assert_eq!(faults.len(), 1, "{faults:?}");
}

#[test]
fn the_counter_table_has_another_name() {
    let database = of_likes();
    database.execute("ALTER TABLE article_counters RENAME TO counters_of_articles");
    let checked = database.run(&["check"]);
    assert_eq!(checked.code, 3, "{}", checked.stdout);
    checked.prints("The triggers count_likes count the rows");
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
    counted_too(&database, &["--by", "stars"]);
    let names =
        ["insert", "update", "delete"].map(|event| drop_trigger(&format!("count_likes_{event}")));
    database.execute(&format!(
        "{}; ALTER TABLE article_likes RENAME COLUMN stars TO points",
        names.join("; ")
    ));
    let fault = database.trigger_faults("").pop().unwrap();
    assert_eq!(fault["fault"], "trigger_definition");
    let what = fault["what"].as_str().unwrap();
    assert!(what.contains("article_likes has no such column"), "{what}");
}

/// Forty tables of an application, whose triggers write each other's columns, and read the counters.
#[test]
fn a_hundred_triggers_of_an_application_are_no_fault() {
    let database = of_likes();
    let conn = &mut open(&database);
    for i in 0..40 {
        conn.run(&format!(
            "CREATE TABLE topic_{i} (id BIGINT NOT NULL PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0,
                 comments BIGINT NOT NULL DEFAULT 0, last_like BIGINT)"
        ));
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
        conn.run(&trigger);
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
    assert_eq!(database.trigger_faults(""), [serde_json::Value::Null; 0]);
    assert_eq!(database.run(&["check", "article_counters"]).code, 0);
}
