//! Triggers, functions and names that were changed.

use diesel::connection::SimpleConnection;

use crate::behaviour::Execute;
use crate::behaviour::triggers::{
    LIKES_OF_ARTICLES, counted, counted_likes, create_triggers, likes_of, open, tables,
};

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
    for change in [
        "SECURITY INVOKER",
        "RESET search_path",
        "SET search_path = public",
    ] {
        database.execute(&format!("ALTER FUNCTION count_likes_insert() {change}"));
        let faults = database.trigger_faults("article_counters");
        assert_eq!(faults[0]["fault"], "trigger_changed", "{change}");
        database.mend(&faults[0]);
        database.command("check article_counters").works();
    }
}

/// Its name is in the function, so that nobody can put another table in the place of the counters.
#[test]
fn a_schema_or_table_that_is_renamed_is_refused() {
    for (rename, rows) in [
        ("ALTER SCHEMA public RENAME TO blog", "blog.article_likes"),
        ("ALTER TABLE article_likes RENAME TO likes", "public.likes"),
    ] {
        let database = counted_likes();
        let conn = &mut open(&database);
        conn.run(rename);
        let insert = format!("INSERT INTO {rows} (id, article_id) VALUES (1, 1)");
        let refused = conn.batch_execute(&insert).unwrap_err().to_string();
        let says = format!(
            "counts the rows of public.article_likes, not those of {rows}: generate the triggers again"
        );
        assert!(refused.contains(&says), "{refused}");
    }
}

#[test]
fn disabled_triggers_of_any_schema_are_found() {
    let database = tables(true);
    database.execute(
        "CREATE SCHEMA blog; ALTER TABLE article_counters SET SCHEMA blog; ALTER TABLE articles SET SCHEMA blog;
         ALTER TABLE users SET SCHEMA blog; ALTER TABLE article_likes SET SCHEMA blog",
    );
    create_triggers(
        &database,
        "count_likes --rows blog.article_likes --count article_id:blog.article_counters.likes",
        &[],
    );
    for table in ["blog.article_counters", "--json"] {
        assert_eq!(database.run(&["check", table]).code, 0);
    }
    database.execute("ALTER TABLE blog.article_likes DISABLE TRIGGER ALL");
    for table in ["blog.article_counters", "--json"] {
        database.run(&["check", table]).finds("is disabled");
    }
}

/// The names of several schemas are in the function.
#[test]
fn a_schema_of_several_that_is_renamed_is_found() {
    let database = tables(true);
    database.execute("CREATE SCHEMA other; ALTER TABLE article_counters SET SCHEMA other");
    let path = "ALTER DATABASE {} SET search_path = public, {schema}";
    let name = &database.name;
    let path = |schema: &str| path.replace("{}", name).replace("{schema}", schema);
    database.execute(&path("other"));
    counted(&database, &LIKES_OF_ARTICLES);
    let conn = &mut open(&database);
    let insert = "INSERT INTO article_likes (id, article_id) VALUES (1, 1)";
    conn.run(insert);
    database.execute("ALTER SCHEMA other RENAME TO another");
    database.execute(&path("another"));
    let faults = database.trigger_faults("article_counters");
    assert_eq!(faults[0]["fault"], "trigger_definition");
    let again = insert.replace("(1, 1)", "(2, 1)");
    let refused = conn.batch_execute(&again).unwrap_err().to_string();
    // The words of PostgreSQL 15, and those of 18.
    let says = ["schema \"other\"", "relation \"other.article_counters\""];
    let says = says.map(|missing| format!("{missing} does not exist"));
    assert!(says.iter().any(|says| refused.contains(says)), "{refused}");
}
