//! What `check` says of triggers that do not count all rows, and `recount` after it.

use super::{OF_ARTICLES, count_likes, counted_likes, drop_trigger, likes_of, open, tables};
use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use crate::{BACKEND, TestDatabase};

const TRIGGER: &str = "count_likes_delete";

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
    let recounted = database.command("recount count_likes --lower");
    recounted.prints("count_likes: 1 count corrected");
    assert_eq!(likes_of(1, conn), 1, "{breaking}");
    faults[0].clone()
}

#[test]
fn a_trigger_is_missing_or_changed() {
    let update =
        |set: &str| format!("UPDATE article_counters SET {set} WHERE article_id = OLD.article_id");
    let drop = drop_trigger(TRIGGER, "article_likes");
    let changed = |set| drop.clone() + "; " + &by_hand(TRIGGER, &update(set));
    let missing = "article_likes has no trigger count_likes_delete.";
    let is_not = "The trigger count_likes_delete is not what its definition says.";
    for (breaking, name, what) in [
        (drop.clone(), "trigger_missing", missing),
        (changed("likes = likes - 2"), "trigger_changed", is_not),
        (changed("views = views - 1"), "trigger_changed", is_not),
    ] {
        let database = counted_likes();
        let fault = broken(&database, &breaking);
        assert_eq!([&fault["fault"], &fault["what"]], [name, what]);
        database.command("check article_counters").works();
        let conn = &mut open(&database);
        conn.run("DELETE FROM article_likes");
        assert_eq!(likes_of(1, conn), 0);
    }
}

#[test]
fn a_counter_has_one_definition() {
    let database = counted_likes();
    database.execute("CREATE TABLE other_likes (id BIGINT PRIMARY KEY, article_id BIGINT)");
    let already = "the triggers count_likes already count in article_counters.likes";
    for (name, rows) in [
        ("count_again", "article_likes"),
        ("count_others", "other_likes"),
    ] {
        let first = count_likes(OF_ARTICLES);
        let second = trigger(name, rows, OF_ARTICLES);
        database.generate(&(first + &second)).fails(already);
        let mut faults = database.trigger_faults("article_counters");
        faults.retain(|fault| fault["fault"] == "definition");
        assert_eq!(faults.len(), 1, "{faults:?}");
    }
}

#[test]
fn the_counter_table_has_another_name() {
    let database = counted_likes();
    database.execute("ALTER TABLE article_counters RENAME TO counters_of_articles");
    let checked = database.run(&["check"]);
    checked.finds("The triggers count_likes count the rows");
    database.execute(
        "INSERT INTO counters_of_articles (article_id, day, slot, likes) VALUES (1, '2026-03-01', 1, 5)",
    );
    let recounted = database.run(&["recount"]);
    recounted.fails("there is no ordinary table article_counters");
    assert_eq!(recounted.stdout, "");
}

#[test]
fn the_rows_have_lost_a_column() {
    let database = tables(true);
    database.count(&count_likes(&format!("{OF_ARTICLES}by = 'stars'")));
    for event in ["insert", "update", "delete"] {
        let name = format!("count_likes_{event}");
        database.execute(&drop_trigger(&name, "article_likes"));
    }
    database.execute("ALTER TABLE article_likes RENAME COLUMN stars TO points");
    let fault = database.trigger_faults("").pop().unwrap();
    assert_eq!(fault["fault"], "definition");
    let what = fault["what"].as_str().unwrap();
    assert!(what.contains("article_likes has no such column"), "{what}");
}

#[test]
fn a_literal_of_a_trigger_has_other_spaces() {
    let database = TestDatabase::with_article_counters();
    database.execute(
        "CREATE TABLE notes (id BIGINT NOT NULL PRIMARY KEY, article_id BIGINT, text VARCHAR(20))",
    );
    let generated = database.generate(
        r#"
        [[trigger]]
        name = "count_notes"
        rows = "notes"
        count = ["article_id:article_counters.likes"]
        when = "text = 'a  b'"
        "#,
    );
    generated.works();
    let up = database.last_migration("up.sql");
    let changed = up.replace("'a  b'", "'a b'");
    assert_ne!(changed, up);
    let migration = database.migration_directories().pop().unwrap();
    std::fs::write(migration.join("up.sql"), changed).unwrap();
    database.migrate();
    let faults = database.trigger_faults("article_counters");
    assert!(!faults.is_empty());
    for fault in &faults {
        assert_eq!(fault["fault"], "trigger_changed", "{faults:?}");
        database.mend(fault);
    }
    assert_eq!(
        database.trigger_faults("article_counters"),
        Vec::<serde_json::Value>::new()
    );
    let conn = &mut open(&database);
    conn.run("INSERT INTO notes VALUES (1, 1, 'a  b'), (2, 1, 'a b')");
    assert_eq!(likes_of(1, conn), 1);
}
