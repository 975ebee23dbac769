//! Row level security. Counts are right, or a statement fails.

use crate::behaviour::Execute;
use diesel::connection::SimpleConnection;

use super::roles::{COUNT_LIKES, Roles, WRITES};

const TABLES: [(&str, &str); 4] = [
    ("likes", "post = 'a'"),
    ("post_counters", "post = 'c'"),
    ("posts", "code = 'c'"),
    ("site_counters", "false"),
];

/// Hides all rows of a table but some, also from its owner.
fn hide(roles: &Roles, table: &str, but: &str) {
    roles
        .owner()
        .run(&format!(
            "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
             CREATE POLICY few ON {table} USING ({but}) WITH CHECK (true)"
        ));
}

#[test]
fn a_migration_counts_rows_that_are_hidden_from_the_owner_or_fails() {
    for (table, but) in TABLES {
        let roles = Roles::create(false);
        roles.generate(COUNT_LIKES).works();
        hide(&roles, table, but);
        match roles.migrate_in(&mut roles.owner()) {
            Ok(()) => assert_eq!(roles.wrong(), 0, "{table}"),
            Err(error) => {
                assert!(error.contains("row-level security"), "{table}: {error}");
                let left = "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal";
                assert_eq!(roles.number(left), 0, "{table}");
            }
        }
    }
}

/// Statements of the owner, which may have hidden rows, and of a role that writes the rows only.
#[test]
fn writes_of_rows_are_counted_or_fail_if_rows_are_hidden_from_the_owner() {
    let mut wrong = Vec::new();
    for (table, but) in TABLES {
        for of_owner in [true, false] {
            let roles = Roles::create(false);
            roles.counted();
            hide(&roles, table, but);
            let conn = &mut if of_owner {
                roles.owner()
            } else {
                roles.writer()
            };
            for statement in WRITES {
                let written = conn.batch_execute(statement);
                if roles.wrong() != 0 {
                    wrong.push(format!(
                        "{table} hidden, owner {of_owner}: {written:?}, wrong after {statement}"
                    ));
                    break;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_recount_of_hidden_rows_is_right_or_fails() {
    let mut wrong = Vec::new();
    for (table, but) in TABLES {
        let roles = Roles::create(false);
        roles.counted();
        hide(&roles, table, but);
        let dry = roles.run(&["recount", "--dry-run"]);
        if dry.code == 0 && !dry.stdout.contains("all counts agree") {
            wrong.push(format!("{table} hidden: {}", dry.stdout));
        }
        for _ in 0..2 {
            let ran = roles.run(&["recount", "--lower"]);
            if roles.wrong() != 0 {
                wrong.push(format!("{table} hidden: {}", ran.stdout));
                break;
            }
        }
        // A wrong count is corrected, or the command fails.
        let roles = Roles::create(false);
        roles.counted();
        roles
            .owner()
            .run("UPDATE posts SET likes = 9; UPDATE post_counters SET stars = 9; UPDATE site_counters SET likes = 9");
        hide(&roles, table, but);
        let ran = roles.run(&["recount", "--lower"]);
        if ran.code == 0 && roles.wrong() != 0 {
            wrong.push(format!(
                "{table} hidden, and counts are wrong: {}",
                ran.stdout
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a repair refuses is nothing that `check` calls good.
/// Each way in which the owner sees rows that a policy hides from a writer: whether it is a
/// superuser, whether it may bypass policies, and whether they apply to owners.
const OWNERS: [(bool, &str, &str); 3] = [
    (false, "NOBYPASSRLS", "NO FORCE"),
    (false, "BYPASSRLS", "FORCE"),
    (true, "NOBYPASSRLS", "FORCE"),
];

/// Counted likes, of which a policy hides some from the writer only, and some counters too.
fn hidden_from_the_writer((superuser, may, force): (bool, &str, &str)) -> Roles {
    let roles = Roles::create(superuser);
    let bypass = format!("ALTER ROLE {} {may}", roles.owner);
    roles.database.execute(&bypass);
    roles.counted();
    for (table, but) in TABLES {
        // The writer may write all likes.
        let but = if table == "likes" { "true" } else { but };
        roles.owner().run(&format!(
            "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
             ALTER TABLE {table} {force} ROW LEVEL SECURITY;
             CREATE POLICY few ON {table} USING ({but}) WITH CHECK (true)"
        ));
    }
    roles
}

#[test]
fn a_write_fails_if_a_policy_applies_to_the_writer() {
    for owner in OWNERS {
        let roles = hidden_from_the_writer(owner);
        let insert = "INSERT INTO likes (id, post) VALUES (20, 'a')";
        let refused = roles.writer().batch_execute(insert).unwrap_err();
        let says = "query would be affected by row-level security policy for table";
        assert!(refused.to_string().contains(says), "{refused}");
        // No policy applies to the owner.
        roles.owner().run(insert);
        roles.assert_right();
        roles.run(&["check"]).works();
    }
}

/// With the path that is stored in them.
#[test]
fn functions_that_run_as_their_owner_count_for_every_writer() {
    for owner in OWNERS {
        let roles = hidden_from_the_writer(owner);
        roles.owner().run(
            "ALTER FUNCTION count_likes_insert() SECURITY DEFINER;
             ALTER FUNCTION count_likes_update() SECURITY DEFINER;
             ALTER FUNCTION count_likes_delete() SECURITY DEFINER;
             ALTER FUNCTION count_likes_truncate() SECURITY DEFINER",
        );
        roles.write(&mut roles.writer());
        roles.run(&["recount"]).prints("all counts agree");
        roles.run(&["check"]).works();
    }
}

/// The rights that the writer needs are then those of the owner.
#[test]
fn functions_that_run_as_their_owner_need_no_rights_of_the_writer() {
    let roles = Roles::create(false);
    roles.counted();
    roles.owner().run(
        "REVOKE ALL ON post_counters, site_counters, posts FROM PUBLIC;
         ALTER FUNCTION count_likes_insert() SECURITY DEFINER",
    );
    let conn = &mut roles.writer();
    // Its own tables take no name in them.
    conn.run(
        "CREATE TEMPORARY TABLE post_counters (); CREATE TEMPORARY TABLE posts ();
         INSERT INTO likes (id, post) VALUES (20, 'a')",
    );
    roles.assert_right();
}
