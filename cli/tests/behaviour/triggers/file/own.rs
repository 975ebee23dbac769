//! Triggers of the application, by names that a definition has or could have.

use super::{STEPS, blog};
use crate::behaviour::triggers::drop_trigger;
use crate::{BACKEND, TestDatabase};

/// Its name is taken by what a program has.
#[test]
fn a_trigger_of_the_application_is_not_replaced() {
    let database = blog();
    let body = match BACKEND {
        "postgres" => {
            database.execute(
                "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'",
            );
            "FOR EACH ROW EXECUTE FUNCTION nothing()"
        }
        "mysql" => "FOR EACH ROW DO 1",
        _ => "BEGIN SELECT 1; END",
    };
    let create = |name: &str| format!("CREATE TRIGGER {name} AFTER INSERT ON article_likes {body}");
    database.execute(&create("count_likes_insert"));
    let refused = database.generate(STEPS[0].1);
    refused.fails("article_likes already has a trigger count_likes_insert");
    database.execute(&drop_trigger("count_likes_insert", "article_likes"));
    database.execute(&create("count_likes_again"));
    for toml in [STEPS[0].1, ""] {
        database.count(toml);
    }
    assert_eq!(database.trigger_names(), ["count_likes_again"]);
}

/// A definition without a trigger of each event, so that the application can have names of the
/// others.
const KEPT: &str = r#"
    [[trigger]]
    name = "count_likes"
    rows = "article_likes"
    count = ["article_id:article_counters.likes"]
    deleted = "kept"
    "#;

/// Triggers of the application, which write another table, by names that the definition could have.
fn own_triggers(database: &TestDatabase) -> [&'static str; 2] {
    database.execute("CREATE TABLE audit (what VARCHAR(20))");
    let (names, create) = match BACKEND {
        "postgres" => {
            database.execute(
                "CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
                     'BEGIN INSERT INTO audit VALUES (TG_NAME); RETURN NULL; END';
                 CREATE FUNCTION count_likes_delete() RETURNS INTEGER LANGUAGE sql AS 'SELECT 1'",
            );
            let names = ["count_likes_delete", "count_likes_insert"];
            (names, "FOR EACH ROW EXECUTE FUNCTION audit()")
        }
        "mysql" => {
            let names = ["count_likes_delete", "count_likes_lock_delete"];
            (names, "FOR EACH ROW INSERT INTO audit VALUES ('a')")
        }
        _ => {
            let names = ["count_likes_delete", "count_likes_replace_by_insert"];
            (names, "BEGIN INSERT INTO audit VALUES ('a'); END")
        }
    };
    for name in names {
        database.execute(&format!(
            "CREATE TRIGGER {name} AFTER DELETE ON users {create}"
        ));
    }
    names
}

#[test]
fn own_triggers_with_a_name_that_a_definition_could_have_stay() {
    let database = blog();
    let own = own_triggers(&database);
    for toml in [KEPT, &format!("{KEPT}slots = 16\n"), ""] {
        database.count(toml);
        let names = database.trigger_names();
        assert!(
            own.iter().all(|own| names.iter().any(|name| name == own)),
            "{names:?}: {toml}"
        );
    }
    assert_eq!(database.trigger_names(), own);
    if BACKEND == "postgres" {
        database.execute("SELECT count_likes_delete()");
    }
}

/// Only PostgreSQL has names by table.
#[test]
fn a_definition_that_changes_does_not_replace_an_own_trigger() {
    let database = blog();
    own_triggers(&database);
    database.count(KEPT);
    let taken_off = KEPT.replace("deleted = \"kept\"", "");
    if BACKEND != "postgres" {
        let refused = database.generate(&taken_off);
        refused.fails("users already has a trigger count_likes_delete");
    }
}
