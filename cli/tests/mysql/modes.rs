//! The `sql_mode` in which triggers were created, which they keep, and literals that the server writes in
//! another way.

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::triggers::{
    counted, create_triggers, generate, likes_of, number, open, tables,
};

/// Runs a migration in a session of this mode.
fn migrate_in(mode: &str, database: &TestDatabase, args: &[&str]) {
    let (ran, folder) = generate(database, args);
    ran.works();
    let [migration] = &*std::fs::read_dir(folder.path())
        .unwrap()
        .collect::<Vec<_>>()
    else {
        panic!("one migration");
    };
    let up = migration.as_ref().unwrap().path().join("up.sql");
    let conn = &mut open(database);
    conn.run(&format!("SET SESSION sql_mode = '{mode}'"));
    conn.run(&std::fs::read_to_string(up).unwrap());
}

const LIKES: [&str; 3] = ["--count", "article_id:article_counters.likes", "--when"];

fn with(when: &str) -> Vec<&str> {
    [&LIKES[..], &[when]].concat()
}

/// `||` is OR, or joins texts.
#[test]
fn a_recount_has_the_mode_of_the_triggers() {
    let database = tables(true);
    migrate_in(
        "STRICT_TRANS_TABLES,PIPES_AS_CONCAT",
        &database,
        &with("stars || 0 > 15"),
    );
    let conn = &mut open(&database);
    // 10 and 20 are compared with 15, and not 1 OR FALSE.
    conn.run("INSERT INTO article_likes (id, article_id, stars) VALUES (1, 1, 1), (2, 1, 2)");
    let right = likes_of(1, conn);
    assert_eq!(right, 1);
    database.command("recount").prints("all counts agree");
    assert_eq!(likes_of(1, conn), right);
    database.command("check article_counters").works();
    conn.run("UPDATE article_counters SET likes = 7");
    database.command("recount").prints("1 count corrected");
    assert_eq!(likes_of(1, conn), right);
}

#[test]
fn triggers_of_two_modes_are_a_fault() {
    let database = tables(true);
    migrate_in("STRICT_TRANS_TABLES", &database, &with("stars || 0"));
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
    assert_eq!(faults[0]["fault"], "trigger_modes");
    database
        .command("recount")
        .fails("created in several modes");
}

/// The catalogue has another text than the server runs.
#[test]
fn literals_are_what_they_were() {
    for when in [
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
    ] {
        let database = tables(true);
        database.execute("ALTER TABLE article_likes ADD COLUMN note VARCHAR(20) CHARACTER SET utf8mb4 NOT NULL DEFAULT 'x'");
        counted(&database, &with(when));
        let conn = &mut open(&database);
        conn.run(r"INSERT INTO article_likes (id, article_id, note) VALUES (1, 1, 'x'), (2, 1, 'a\\b'), (3, 1, '')");
        let checked = database.command("check article_counters");
        assert_eq!(checked.code, 0, "{when}: {checked:?}");
        database.assert_agrees();
        // A changed text is still found.
        let changed = "
            DROP TRIGGER count_likes_delete;
            CREATE TRIGGER count_likes_delete AFTER DELETE ON article_likes FOR EACH ROW BEGIN
                IF OLD.note = 'other' THEN SET @x = 1; END IF;
            END";
        conn.run(changed);
        assert_eq!(database.trigger_faults("article_counters").len(), 1);
    }
}

#[test]
fn a_definition_is_read_that_was_written_without_escapes() {
    for (when, likes) in [
        (r#"note = "x""#, 1),
        (r#"note <> '"'"#, 2),
        (r"note = 'a\b'", 1),
        (r"note <> '\'", 2),
    ] {
        let database = tables(true);
        database
            .execute("ALTER TABLE article_likes ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'x'");
        let (ran, _) = generate(&database, &with(when));
        if ran.code != 0 {
            continue; // Its text is none with escapes.
        }
        migrate_in("NO_BACKSLASH_ESCAPES", &database, &with(when));
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1)");
        conn.run(r"INSERT INTO article_likes (id, article_id, note) VALUES (2, 1, 'a\\b')");
        assert_eq!(likes_of(1, conn), likes, "{when}");
        let checked = database.command("check article_counters");
        assert_eq!(checked.code, 0, "{when}: {checked:?}");
        conn.run("UPDATE article_counters SET likes = 7");
        database.command("recount").prints("1 count corrected");
        assert_eq!(likes_of(1, conn), likes, "{when}");
        database.command("check article_counters").works();
    }
}

/// A kind of record, whose column has the collation of the database.
#[test]
fn a_text_of_another_collation_is_counted_by_an_exact_key() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE kind_counters (
             kind VARCHAR(50) CHARACTER SET utf8mb4 COLLATE /*!80017 utf8mb4_0900_bin */ /*M! utf8mb4_nopad_bin */ NOT NULL,
             id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL, votes BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (kind, id, day, slot)
         ) COMMENT '';
         CREATE TABLE votes (
             id BIGINT PRIMARY KEY, kind VARCHAR(50) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, of_id BIGINT
         );
         INSERT INTO votes VALUES (1, 'Post', 1)",
    );
    create_triggers(
        &database,
        "count_votes --rows votes --count kind,of_id:kind_counters.votes",
        &[],
    );
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO votes VALUES (2, 'post', 1), (3, 'Post', 1), (4, 'Post ', 1), (5, 'é', 1), (6, 'post', 1);
         UPDATE votes SET kind = 'POST' WHERE id = 3;
         UPDATE votes SET kind = 'post ' WHERE id = 2;
         DELETE FROM votes WHERE id = 6",
    );
    let of = |kind: &str, conn: &mut _| {
        number(
            &format!(
                "SELECT CAST(COALESCE(SUM(votes), 0) AS SIGNED) FROM kind_counters WHERE BINARY kind = BINARY '{kind}'"
            ),
            conn,
        )
    };
    let all = ["Post", "post", "POST", "Post ", "post ", "é"];
    assert_eq!(all.map(|kind| of(kind, conn)), [1, 0, 1, 1, 1, 1]);
    database.assert_agrees();
    let checked = database.command("check kind_counters");
    checked.works();
    conn.run("UPDATE kind_counters SET votes = votes + 5");
    database.command("recount").works();
    assert_eq!(all.map(|kind| of(kind, conn)), [1, 0, 1, 1, 1, 1]);
}
