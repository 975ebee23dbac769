//! A count that is out of the range of its column has PostgreSQL's own SQLSTATE, 22003.

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::open;

/// Runs a statement that has to fail with 22003.
fn overflows(statement: &str) -> String {
    format!(
        "DO $$ BEGIN
             {statement};
             RAISE 'it counted: %', $statement${statement}$statement$;
         EXCEPTION WHEN numeric_value_out_of_range THEN
         END $$"
    )
}

/// In columns of all sizes, in slots, by a row and by the sum of a statement, and in a migration.
#[test]
fn overflow_has_sqlstate_22003() {
    for (counter, greatest) in [
        ("posts.small", i64::from(i16::MAX)),
        ("posts.medium", i64::from(i32::MAX)),
        ("posts.large", i64::MAX),
        ("post_counters.views", i64::MAX),
    ] {
        let database = TestDatabase::create();
        database.create_counters("post_counters", "post_id BIGINT");
        database.execute(
            "CREATE TABLE posts (id BIGINT NOT NULL PRIMARY KEY, small SMALLINT NOT NULL DEFAULT 0,
                 medium INTEGER NOT NULL DEFAULT 0, large BIGINT NOT NULL DEFAULT 0);
             CREATE TABLE gifts (id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT NOT NULL, likes BIGINT NOT NULL);
             INSERT INTO posts (id) VALUES (1), (2)",
        );
        let count = format!("count = ['post_id:{counter}=likes']");
        database.count(&trigger("count_gifts", "gifts", &count));
        let conn = &mut open(&database);
        conn.run(&format!("INSERT INTO gifts VALUES (1, 1, {greatest})"));
        for statement in [
            "INSERT INTO gifts VALUES (2, 1, 1)",
            "UPDATE gifts SET post_id = 2; INSERT INTO gifts VALUES (2, 2, 1)",
            "UPDATE gifts SET likes = -likes; INSERT INTO gifts VALUES (2, 1, -2)",
            &format!("INSERT INTO gifts VALUES (2, 2, {greatest}), (3, 2, {greatest})"),
        ] {
            conn.run(&overflows(statement));
        }
        database.assert_agrees();
        // Without triggers, rows come that no column has room for.
        database.revert();
        conn.run(&format!(
            "INSERT INTO gifts VALUES (2, 2, {greatest}), (3, 2, {greatest})"
        ));
        let up = database.last_migration("up.sql");
        let existing = up
            .rsplit("-- Counts the rows that are there already")
            .next()
            .unwrap();
        let (_comments, statement) = existing.split_once("rows.\n").unwrap();
        conn.run(&overflows(statement.trim().trim_end_matches(';')));
    }
}
