//! Triggers of the application on tables that are counted in. What they change is its decision.

use serde_json::Value;

use super::project::trigger;
use super::triggers::{count_likes, likes_of, open, tables};
use crate::behaviour::Execute;
use crate::{BACKEND, TestDatabase};

/// A trigger that lets nothing be counted in a table.
pub fn veto(table: &str, event: &str) -> String {
    match BACKEND {
        "postgres" => format!(
            "CREATE OR REPLACE FUNCTION veto() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             CREATE TRIGGER veto BEFORE {event} ON {table} FOR EACH ROW EXECUTE FUNCTION veto()"
        ),
        "sqlite" => {
            format!("CREATE TRIGGER veto BEFORE {event} ON {table} BEGIN SELECT RAISE(IGNORE); END")
        }
        _ => {
            let value = if event == "INSERT" { "0" } else { "OLD.likes" };
            format!("CREATE TRIGGER veto BEFORE {event} ON {table} FOR EACH ROW SET NEW.likes = {value}")
        }
    }
}

/// Likes of articles, in slots and in a column.
fn counted_in_both() -> TestDatabase {
    let database = tables(true);
    database.execute("ALTER TABLE articles ADD COLUMN likes BIGINT NOT NULL DEFAULT 0");
    database.count(&count_likes(
        r#"count = ["article_id:article_counters.likes", "article_id:articles.likes"]"#,
    ));
    database
}

/// The faults of all tables. On SQLite, those of other tests have no checks of the type.
fn faults(database: &TestDatabase) -> Vec<Value> {
    let mut faults = database.faults();
    faults.retain(|fault| fault["fault"] != "unchecked");
    faults
}

/// Nothing is "corrected" that still is what it was.
#[test]
fn a_correction_that_a_trigger_vetoes_is_an_error() {
    for (table, event) in [("article_counters", "UPDATE"), ("articles", "UPDATE")] {
        let database = counted_in_both();
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)");
        assert_eq!(likes_of(1, conn), 2);
        conn.run(
            "UPDATE article_counters SET likes = 7; UPDATE articles SET likes = 7 WHERE id = 1",
        );
        // The row that a correction writes.
        conn.run(
            "INSERT INTO article_counters (article_id, day, slot) VALUES (1, '1970-01-01', 0)",
        );
        conn.run(&veto(table, event));
        for _ in 0..2 {
            let ran = database.command("recount --lower");
            ran.fails(&format!("{table}.likes of 1"));
        }
    }
}

const APPS: usize = 40;

/// An ordinary application's tables, with triggers of their own.
fn app(i: usize) -> String {
    let check = super::check_of("n");
    let time = if BACKEND == "mysql" {
        "DATETIME"
    } else {
        "TIMESTAMP"
    };
    let mut sql = format!(
        "CREATE TABLE p{i} (id BIGINT NOT NULL PRIMARY KEY, n BIGINT NOT NULL DEFAULT 0,
             title VARCHAR(50) NOT NULL DEFAULT '', updated_at {time});
         CREATE TABLE r{i} (id BIGINT NOT NULL PRIMARY KEY, p_id BIGINT, kind VARCHAR(9) NOT NULL DEFAULT 'like',
             weight INTEGER NOT NULL DEFAULT 1, ok BOOLEAN NOT NULL DEFAULT TRUE,
             created_at {time} NOT NULL DEFAULT '2026-01-01 00:00:00', updated_at {time},
             FOREIGN KEY (p_id) REFERENCES p{i} (id) ON DELETE CASCADE);
         CREATE TABLE p{i}_counters (p_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
             n BIGINT NOT NULL DEFAULT 0 {check}, PRIMARY KEY (p_id, day, slot),
             FOREIGN KEY (p_id) REFERENCES p{i} (id) ON DELETE CASCADE);"
    );
    for (table, kinds) in [
        ("p", [true, i % 2 == 0, i % 3 == 0]),
        ("r", [i % 2 == 0, true, true]),
    ] {
        let [updated_at, audit, title] = kinds;
        let table = &format!("{table}{i}");
        if updated_at {
            sql += &on_update(table);
        }
        if audit {
            sql += &audit_of(table);
        }
        if title {
            sql += &validates(table);
        }
    }
    sql
}

const SHARED: &str = "CREATE TABLE audit (what VARCHAR(50), n BIGINT);";

const FUNCTIONS_OF_POSTGRES: &str = "
    CREATE FUNCTION set_updated_at() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF NEW IS DISTINCT FROM OLD AND NEW.updated_at IS NOT DISTINCT FROM OLD.updated_at THEN
            NEW.updated_at := current_timestamp;
        END IF;
        RETURN NEW;
    END $$;
    CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql SET search_path = public AS $$
    BEGIN
        INSERT INTO audit SELECT TG_TABLE_NAME, 1;
        RETURN NULL; -- ignored, because it is an AFTER trigger
    END $$;
    CREATE FUNCTION validates() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            RETURN OLD;
        ELSIF NEW.id < 0 THEN
            RAISE 'a negative id';
        END IF;
        RETURN NEW;
    END $$;";

fn on_update(table: &str) -> String {
    match BACKEND {
        "postgres" => format!(
            "CREATE TRIGGER set_updated_at BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION set_updated_at();"
        ),
        "sqlite" => format!(
            "CREATE TRIGGER {table}_at AFTER UPDATE ON {table} FOR EACH ROW WHEN NEW.updated_at IS OLD.updated_at
             BEGIN UPDATE {table} SET updated_at = CURRENT_TIMESTAMP WHERE id = OLD.id; END;"
        ),
        _ => format!(
            "CREATE TRIGGER {table}_at BEFORE UPDATE ON {table} FOR EACH ROW SET NEW.updated_at = NOW();"
        ),
    }
}

fn audit_of(table: &str) -> String {
    match BACKEND {
        "postgres" => format!(
            "CREATE TRIGGER audit AFTER INSERT OR UPDATE OR DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION audit();"
        ),
        "sqlite" => format!(
            "CREATE TRIGGER {table}_audit AFTER UPDATE ON {table}
             BEGIN INSERT INTO audit VALUES ('{table}', NEW.id); END;"
        ),
        _ => format!(
            "CREATE TRIGGER {table}_audit AFTER UPDATE ON {table} FOR EACH ROW INSERT INTO audit VALUES ('{table}', NEW.id);"
        ),
    }
}

fn validates(table: &str) -> String {
    match BACKEND {
        "postgres" => format!(
            "CREATE TRIGGER validates BEFORE INSERT OR UPDATE OR DELETE ON {table}
             FOR EACH ROW EXECUTE FUNCTION validates();"
        ),
        "sqlite" => format!(
            "CREATE TRIGGER {table}_valid BEFORE INSERT ON {table} WHEN NEW.id < 0
             BEGIN SELECT RAISE(ABORT, 'a negative id'); END;"
        ),
        _ => format!(
            "CREATE TRIGGER {table}_valid BEFORE INSERT ON {table} FOR EACH ROW
             BEGIN IF NEW.id < 0 THEN SIGNAL SQLSTATE '45000'; END IF; END;"
        ),
    }
}

/// What is counted of it, in counters.toml.
fn definition(i: usize) -> String {
    let counts = match i % 3 {
        0 => format!("\"p_id:p{i}.n\""),
        1 => format!("\"p_id:p{i}_counters.n\""),
        _ => format!("\"p_id:p{i}_counters.n\", \"p_id:p{i}.n\""),
    };
    let mut keys = format!("count = [{counts}]\n");
    keys += [
        "",
        "when = \"ok\"\n",
        "when = \"kind <> 'draft' AND weight > 0\"\n",
        "by = \"weight\"\n",
    ][i % 4];
    keys += ["", "day = \"created_at\"\n", "slots = 4\n"][i % 5 % 3];
    trigger(&format!("count_r{i}"), &format!("r{i}"), &keys)
}

#[test]
fn forty_tables_with_triggers_of_their_own_are_good() {
    let database = TestDatabase::create();
    database.execute(SHARED);
    if BACKEND == "postgres" {
        database.execute(FUNCTIONS_OF_POSTGRES);
    }
    for i in 0..APPS {
        database.execute(&app(i));
        let period = ["day", "month"][i % 7 % 2];
        database.set_period(&format!("p{i}_counters"), period);
    }
    let definitions: Vec<_> = (0..APPS).map(definition).collect();
    database.count(&definitions.concat());
    for i in 0..APPS {
        database.execute(&format!(
            "INSERT INTO p{i} (id) VALUES (1), (2); INSERT INTO r{i} (id, p_id) VALUES (1, 1), (2, 1), (3, 2);
             UPDATE r{i} SET p_id = 2 WHERE id = 1; DELETE FROM r{i} WHERE id = 3"
        ));
    }
    assert_eq!(faults(&database), Vec::<Value>::new());
    database.run(&["check"]).works();
    database.assert_agrees();
}
