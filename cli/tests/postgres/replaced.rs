//! Tables that a copy replaced.

use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use diesel::connection::SimpleConnection;

use super::roles::{COUNT_LIKES, Roles};

/// Puts a copy with all rows in the place of a table.
fn copied(table: &str) -> String {
    format!(
        "CREATE TABLE {table}_copy (LIKE {table} INCLUDING ALL);
         INSERT INTO {table}_copy SELECT * FROM {table};
         ALTER TABLE {table} RENAME TO {table}_old; ALTER TABLE {table}_copy RENAME TO {table};"
    )
}

fn partitioned(table: &str, key: &str) -> String {
    format!(
        "CREATE TABLE {table}_copy (LIKE {table} INCLUDING DEFAULTS) PARTITION BY HASH ({key});
         CREATE TABLE {table}_0 PARTITION OF {table}_copy FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE {table}_1 PARTITION OF {table}_copy FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         INSERT INTO {table}_copy SELECT * FROM {table};
         ALTER TABLE {table} RENAME TO {table}_old; ALTER TABLE {table}_copy RENAME TO {table};"
    )
}

#[test]
fn a_recount_is_right_or_fails_if_a_copy_replaced_a_table() {
    let post_counters = partitioned("post_counters", "post")
        + "ALTER TABLE post_counters ADD PRIMARY KEY (post, day, slot);";
    let mut wrong = Vec::new();
    for (name, replace) in [
        ("likes", copied("likes")),
        ("likes, partitioned", partitioned("likes", "id")),
        ("post_counters", copied("post_counters")),
        ("post_counters, partitioned", post_counters),
        ("site_counters", copied("site_counters")),
        ("posts", copied("posts")),
        (
            "all",
            ["likes", "post_counters", "site_counters", "posts"]
                .map(copied)
                .concat(),
        ),
    ] {
        for and_drop in [false, true] {
            let roles = Roles::create(false);
            roles.counted();
            roles.owner().run(&replace);
            if and_drop {
                let old = "DROP TABLE IF EXISTS likes_old, post_counters_old, site_counters_old, posts_old CASCADE";
                roles.owner().run(old);
            }
            let checked = roles.run(&["check"]);
            if name.starts_with("likes") && checked.code == 0 {
                wrong.push(format!(
                    "{name}, dropped {and_drop}: check says {}",
                    checked.stdout
                ));
            }
            // Of the table that took the place, without triggers if it has the rows.
            let insert = "INSERT INTO likes (id, post, stars) VALUES (20, 'a', 2), (21, 'b', 1)";
            let written = roles.owner().batch_execute(insert);
            let mut outputs = Vec::new();
            for round in 1..=3 {
                let ran = roles.run(&["recount", "--lower"]);
                outputs.push(format!("{} {}{}", ran.code, ran.stdout, ran.stderr));
                if ran.code == 0 && roles.wrong() != 0 {
                    wrong.push(format!(
                        "{name}, dropped {and_drop}, written {written:?}: wrong after recount {round}: {}",
                        outputs.join("")
                    ));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A function counts in the tables that have the names now.
#[test]
fn a_copy_in_the_place_of_a_counted_table_is_counted_in() {
    for tables in [
        &["post_counters"][..],
        &["site_counters"],
        &["posts"],
        &["post_counters", "site_counters", "posts"],
    ] {
        let roles = Roles::create(false);
        roles.counted();
        let owner = &mut roles.owner();
        for table in tables {
            owner.run(&copied(table));
        }
        for statement in [
            "INSERT INTO likes (id, post, stars) VALUES (20, 'a', 2), (21, 'b', 1)",
            "UPDATE likes SET post = 'b' WHERE id = 1",
            "DELETE FROM likes WHERE id IN (2, 3)",
            "TRUNCATE likes",
        ] {
            owner.run(statement);
            assert_eq!(roles.wrong(), 0, "{tables:?}: {statement}");
        }
    }
}

/// The triggers stay with the table that had the name.
#[test]
fn a_copy_in_the_place_of_the_rows_has_no_triggers_until_they_are_created() {
    let roles = Roles::create(false);
    roles.counted();
    let owner = &mut roles.owner();
    owner.run(&copied("likes"));
    owner.run("DROP TABLE likes_old; INSERT INTO likes (id, post) VALUES (20, 'a')");
    let checked = roles.run(&["check", "--json"]);
    checked.finds("likes has no trigger count_likes_insert");
    let sql = checked.all_faults().into_iter().flat_map(|fault| {
        let sql: Vec<String> = serde_json::from_value(fault["sql"].clone()).unwrap();
        sql
    });
    owner.run(&sql.collect::<Vec<_>>().join("\n"));
    roles.run(&["recount"]).works();
    roles.write(owner);
    roles.run(&["check"]).works();
}

/// A column that PostgreSQL 18 computes when it is read is not among the rows of a trigger.
#[test]
fn a_virtual_column_is_refused() {
    let roles = Roles::create(false);
    if roles.number("SELECT current_setting('server_version_num')::bigint") < 180_000 {
        return; // It has no such columns.
    }
    roles.owner().run(
        "CREATE TABLE votes (
             id BIGINT PRIMARY KEY, code VARCHAR(20), voted_on DATE NOT NULL DEFAULT '2026-01-01',
             post VARCHAR(20) GENERATED ALWAYS AS (code) VIRTUAL,
             doubled BIGINT GENERATED ALWAYS AS (2 * id) VIRTUAL,
             on_day DATE GENERATED ALWAYS AS (voted_on) VIRTUAL
         ); INSERT INTO votes (id, code) VALUES (1, 'a')",
    );
    for (column, keys) in [
        ("post", "count = ['post:posts.likes']"),
        ("doubled", "count = ['code:posts.likes=doubled']"),
        (
            "doubled",
            "count = ['code:posts.likes']\nwhen = 'doubled > 0'",
        ),
        ("post", "count = ['post:post_counters.likes']"),
        (
            "on_day",
            "count = ['code:post_counters.likes']\nday = 'on_day'",
        ),
    ] {
        let refused = roles.generate(&trigger("count_votes", "votes", keys));
        refused.fails(&format!("votes.{column} is a virtual generated column"));
    }
}

/// Triggers get rows of other tables, or none, and a foreign key does not see the rows of a child.
#[test]
fn tables_that_share_rows_are_refused() {
    let partition = partitioned("likes", "id")
        + "ALTER TABLE likes RENAME TO all_likes; ALTER TABLE likes_0 RENAME TO likes;";
    for (table, share) in [
        ("likes", "CREATE TABLE old_likes () INHERITS (likes)"),
        (
            "likes",
            "CREATE TABLE all_likes (LIKE likes); ALTER TABLE likes INHERIT all_likes",
        ),
        ("likes", &partition),
        (
            "post_counters",
            "CREATE TABLE old_counters () INHERITS (post_counters)",
        ),
        ("posts", "CREATE TABLE old_posts () INHERITS (posts)"),
    ] {
        let roles = Roles::create(false);
        roles.owner().run(share);
        let generated = roles.generate(COUNT_LIKES);
        assert_eq!(generated.code, 1, "{share}");
        assert!(generated.stderr.contains(table), "{share}: {generated:?}");

        let roles = Roles::create(false);
        roles.counted();
        roles.owner().run(share);
        let checked = roles.run(&["check"]);
        checked.finds(table);
        assert_eq!(roles.run(&["recount"]).code, 1, "{share}");
    }
}
