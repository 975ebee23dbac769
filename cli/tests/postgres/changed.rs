//! Triggers, functions and names that were changed.

use diesel::connection::SimpleConnection;

use crate::Conn;
use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::{counted_likes, likes_of, open, tables};

/// Each of them, and `session_replication_role`, which leaves no trace but wrong counts.
#[test]
fn a_disabled_trigger_is_found() {
    let insert = "count_likes_insert";
    for (how, trigger, why) in [
        ("DISABLE", insert, "it is disabled"),
        ("DISABLE", "ALL", "it is disabled"),
        ("ENABLE REPLICA", insert, "it runs on replicas only"),
        ("ENABLE ALWAYS", insert, "it also runs on replicas"),
    ] {
        let database = counted_likes();
        let conn = &mut open(&database);
        conn.run(&format!(
            "ALTER TABLE article_likes {how} TRIGGER {trigger}"
        ));
        conn.run("SET session_replication_role = replica");
        conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)");
        conn.run("SET session_replication_role = origin");
        let checked = database.command("check article_counters --json");
        checked.finds(why);
        for fault in database.trigger_faults("article_counters") {
            assert_eq!(fault["fault"], "trigger_disabled");
            database.mend(&fault);
        }
        database.run(&["check", "article_counters"]).works();
        database.run(&["recount"]);
        assert_eq!(likes_of(1, conn), 2, "{how}");
    }
}

#[test]
fn a_changed_function_is_found() {
    let database = counted_likes();
    for change in ["RETURN OLD;", "PERFORM 1; RETURN NULL;"] {
        database.execute(&format!(
            "DO $do$ BEGIN
                 EXECUTE replace(pg_get_functiondef('count_likes_insert()'::regprocedure),
                     'RETURN NULL;', '{change}');
             END $do$"
        ));
        let faults = database.trigger_faults("article_counters");
        assert_eq!(faults[0]["fault"], "trigger_changed", "{change}");
        database.mend(&faults[0]);
        database.command("check article_counters").works();
    }
}

/// A function finds its tables by their names, when it runs.
#[test]
fn what_counts_in_a_renamed_table_fails() {
    let database = counted_likes();
    let conn = &mut open(&database);
    conn.run("ALTER TABLE article_counters RENAME TO counters_of_articles");
    assert_not_there("article_counters", INSERT, conn);
    let faults = database.trigger_faults("");
    assert_eq!(faults[0]["fault"], "definition");
    conn.run("ALTER TABLE counters_of_articles RENAME TO article_counters");
    conn.run(INSERT);
    assert_eq!(likes_of(1, conn), 1);
}

/// Its triggers go with it. Only that of TRUNCATE reads it.
#[test]
fn rows_of_a_renamed_table_are_counted_and_check_finds_it() {
    let database = counted_likes();
    let conn = &mut open(&database);
    conn.run("ALTER TABLE article_likes RENAME TO likes");
    conn.run("INSERT INTO likes (id, article_id) VALUES (1, 1), (2, 1), (3, 1)");
    conn.run("DELETE FROM likes WHERE id = 1");
    assert_eq!(likes_of(1, conn), 2);
    assert_not_there("article_likes", "TRUNCATE likes", conn);
    let faults = database.trigger_faults("article_counters");
    assert_eq!(faults[0]["fault"], "definition");
    conn.run("ALTER TABLE likes RENAME TO article_likes; TRUNCATE article_likes");
    assert_eq!(likes_of(1, conn), 0);
    assert!(database.trigger_faults("article_counters").is_empty());
}

const INSERT: &str = "INSERT INTO article_likes (id, article_id) VALUES (1, 1)";

#[track_caller]
fn assert_not_there(table: &str, statement: &str, conn: &mut Conn) {
    let failed = conn.batch_execute(statement).unwrap_err().to_string();
    let says = format!("relation \"{table}\" does not exist");
    assert!(failed.contains(&says), "{statement}: {failed}");
}

/// The names of schemas are in the path of a function.
#[test]
fn triggers_of_a_renamed_schema_fail_until_they_are_created_again() {
    let database = counted_likes();
    let conn = &mut open(&database);
    conn.run(INSERT);
    let name = &database.name;
    conn.run(&format!(
        "ALTER SCHEMA public RENAME TO blog; SET search_path = blog;
         ALTER DATABASE {name} SET search_path = blog"
    ));
    let again = INSERT.replace("(1, 1)", "(2, 1)");
    assert_not_there("article_counters", &again, conn);
    let faults = database.trigger_faults("article_counters");
    assert_eq!(faults[0]["fault"], "trigger_changed");
    database.command("generate triggers again --repair").works();
    database.migrate();
    assert!(database.trigger_faults("article_counters").is_empty());
    conn.run(&again);
    assert_eq!(likes_of(1, conn), 2);
}

#[test]
fn disabled_triggers_of_any_schema_are_found() {
    let database = tables(true);
    database.execute(
        "CREATE SCHEMA blog; ALTER TABLE article_counters SET SCHEMA blog; ALTER TABLE articles SET SCHEMA blog;
         ALTER TABLE users SET SCHEMA blog; ALTER TABLE article_likes SET SCHEMA blog",
    );
    let count = "count = ['article_id:blog.article_counters.likes']";
    database.count(&trigger("count_likes", "blog.article_likes", count));
    for table in ["blog.article_counters", "--json"] {
        assert_eq!(database.run(&["check", table]).code, 0);
    }
    database.execute("ALTER TABLE blog.article_likes DISABLE TRIGGER ALL");
    for table in ["blog.article_counters", "--json"] {
        database.run(&["check", table]).finds("is disabled");
    }
}
