//! The `sql_mode` in which triggers were created, which they keep, and literals that the server
//! writes in another way.

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::project::{key, trigger};
use crate::behaviour::triggers::{OF_ARTICLES, count_likes, likes_of, number, open, tables};

/// Counts the likes with a condition, by a migration that runs in a session of this mode.
fn count_in(mode: &str, database: &TestDatabase, when: &str) {
    database.generate(&likes_when(when)).works();
    let conn = &mut open(database);
    conn.run(&format!("SET SESSION sql_mode = '{mode}'"));
    database.migrate_in(conn);
}

fn likes_when(condition: &str) -> String {
    let when = key("when", condition);
    count_likes(&format!("{OF_ARTICLES}{when}"))
}

/// `||` is OR, or joins texts. A migration sets the mode itself.
#[test]
fn a_migration_means_the_same_in_sessions_of_other_modes() {
    for mode in ["STRICT_TRANS_TABLES,PIPES_AS_CONCAT,ANSI_QUOTES", ""] {
        let database = tables(true);
        count_in(mode, &database, "stars || 0 > 15");
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes (id, article_id, stars) VALUES (1, 1, 1), (2, 1, 2)");
        assert_eq!(likes_of(1, conn), 2, "{mode}");
        database.command("recount").prints("all counts agree");
        database.command("check article_counters").works();
        conn.run("UPDATE article_counters SET likes = 7");
        let recounted = database.command("recount --lower");
        recounted.prints("1 count corrected");
        assert_eq!(likes_of(1, conn), 2, "{mode}");
    }
}

#[test]
fn a_trigger_of_another_mode_is_a_fault() {
    let database = tables(true);
    count_in("", &database, "stars || 0");
    let conn = &mut open(&database);
    let create: String = {
        use diesel::prelude::*;
        use diesel::sql_types::Text;
        let body = "(SELECT CAST(action_statement AS CHAR) FROM information_schema.triggers
            WHERE trigger_schema = DATABASE() AND trigger_name = 'count_likes_insert')";
        diesel::select(diesel::dsl::sql::<Text>(body))
            .get_result(conn)
            .unwrap()
    };
    conn.run("SET SESSION sql_mode = 'PIPES_AS_CONCAT'; DROP TRIGGER count_likes_insert");
    conn.run(&format!(
        "CREATE TRIGGER count_likes_insert AFTER INSERT ON article_likes FOR EACH ROW {create}"
    ));
    let faults = database.trigger_faults("article_counters");
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0]["fault"], "trigger_changed");
    database.mend(&faults[0]);
    database.command("check article_counters").works();
}

/// The catalogue has another text than the server runs.
#[test]
fn literals_are_what_they_were() {
    let conditions = [
        r"note = 'a\\b'",
        r"note <> 'it\'s'",
        "note <> 'it''s'",
        "note = _utf8mb4'x'",
        "note = N'x'",
        r"note LIKE 'a\%\_%'",
        "note <> ''",
        r#"note <> "it's a \"b\"""#,
        r"note = 'a\tb'",
        "note = x'61'",
        "note = 'é🦀'",
        "note <> _latin1 X'e9'",
        "note <> _utf8mb4 x'c3a9'",
    ];
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE notes (id BIGINT PRIMARY KEY, note VARCHAR(20) CHARACTER SET utf8mb4 NOT NULL);
         CREATE TABLE note_counters (day DATE NOT NULL, slot SMALLINT NOT NULL, PRIMARY KEY (day, slot))",
    );
    let mut toml = String::new();
    for (index, when) in conditions.iter().enumerate() {
        let add = "ALTER TABLE note_counters ADD COLUMN";
        database.execute(&format!("{add} notes{index} BIGINT NOT NULL DEFAULT 0"));
        let when = key("when", when);
        let keys = format!("count = ['note_counters.notes{index}']\n{when}");
        toml += &trigger(&format!("count_{index}"), "notes", &keys);
    }
    database.count(&toml);
    let conn = &mut open(&database);
    conn.run(r"INSERT INTO notes VALUES (1, 'x'), (2, 'a\\b'), (3, ''), (4, 'é🦀'), (5, 'é????')");
    let of_crabs = "SELECT CAST(SUM(notes10) AS SIGNED) FROM note_counters";
    assert_eq!(number(of_crabs, conn), 1);
    database.command("check note_counters").works();
    database.assert_agrees();
    // A changed text is still found.
    conn.run(
        "DROP TRIGGER count_0_delete;
         CREATE TRIGGER count_0_delete AFTER DELETE ON notes FOR EACH ROW BEGIN
             IF OLD.note = 'other' THEN SET @x = 1; END IF;
         END",
    );
    assert_eq!(database.trigger_faults("note_counters").len(), 1);
}

#[test]
fn a_migration_has_escapes_in_a_session_without() {
    for (when, likes) in [
        (r#"note = "x""#, 1),
        (r#"note <> '"'"#, 2),
        (r"note = 'a\\b'", 1),
    ] {
        let database = tables(true);
        database
            .execute("ALTER TABLE article_likes ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'x'");
        count_in("NO_BACKSLASH_ESCAPES", &database, when);
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1)");
        conn.run(r"INSERT INTO article_likes (id, article_id, note) VALUES (2, 1, 'a\\b')");
        assert_eq!(likes_of(1, conn), likes, "{when}");
        let checked = database.command("check article_counters");
        assert_eq!(checked.code, 0, "{when}: {checked:?}");
        conn.run("UPDATE article_counters SET likes = 7");
        let recounted = database.command("recount --lower");
        recounted.prints("1 count corrected");
        assert_eq!(likes_of(1, conn), likes, "{when}");
        database.command("check article_counters").works();
    }
}

/// The command reads it as MySQL does by default.
#[test]
fn a_definition_that_needs_a_mode_without_escapes_is_refused() {
    let database = tables(true);
    let refused = database.generate(&likes_when(r"user_id <> '\'"));
    refused.fails("Unterminated string literal");
}
