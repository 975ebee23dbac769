//! Row level security. Counts are right, or a statement fails.

use crate::behaviour::Execute;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;

use super::roles::{Roles, WRITES};

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
        let up = roles.migration();
        hide(&roles, table, but);
        match roles.owner().batch_execute(&up) {
            Ok(()) => assert_eq!(roles.wrong(), 0, "{table}"),
            Err(error) => {
                assert!(
                    error.to_string().contains("row-level security"),
                    "{table}: {error}"
                );
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
                roles.attacker()
            };
            for statement in WRITES {
                let statement = statement.replace("{}", "public");
                let written = conn.batch_execute(&statement);
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
            let ran = roles.run(&["recount"]);
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
        let ran = roles.run(&["recount"]);
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
#[test]
fn check_finds_rows_that_are_hidden_from_the_owner() {
    for (table, but) in TABLES {
        let roles = Roles::create(false);
        roles.counted();
        hide(&roles, table, but);
        let recounted = roles.run(&["recount"]);
        let checked = roles.run(&["check"]);
        if recounted.code != 0 {
            assert_ne!(checked.code, 0, "{table}: {}", checked.stdout);
            let words: Vec<_> = checked.stdout.split_whitespace().collect();
            let says = words.join(" ").to_lowercase().replace('-', " ");
            assert!(says.contains("row level security"), "{table}: {says}");
        }
    }
}

/// Without FORCE, or with a role that bypasses it, the owner sees all rows.
#[test]
fn rows_that_are_hidden_from_writers_only_are_counted() {
    for (superuser, may, rls) in [
        (false, "NOBYPASSRLS", "ENABLE"),
        (false, "BYPASSRLS", "FORCE"),
        (true, "NOBYPASSRLS", "FORCE"),
    ] {
        let roles = Roles::create(superuser);
        let bypass = format!("ALTER ROLE {} {may}", roles.owner);
        roles.checker().run(&bypass);
        let up = roles.migration();
        for (table, but) in TABLES {
            let and = match table {
                "likes" => "true",
                _ => but,
            };
            roles
                .owner()
                .run(&format!(
                    "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY; ALTER TABLE {table} {rls} ROW LEVEL SECURITY;
                     CREATE POLICY few ON {table} USING ({and}) WITH CHECK (true)"
                ));
        }
        roles.owner().run(&up);
        roles.assert_right();
        let roles = roles.planted("SELECT 1");
        roles.write("SELECT 1");
        let ran = roles.run(&["recount"]);
        assert!(
            ran.code == 0 && ran.stdout.contains("all counts agree"),
            "{ran:?}"
        );
        assert_eq!(roles.run(&["check"]).code, 0);
    }
}

/// Others may read what the owner creates, by default, but not the rows that a policy hides.
#[test]
fn no_view_of_the_migration_shows_hidden_rows() {
    let roles = Roles::create(false);
    let (owner, attacker) = (&roles.owner, &roles.attacker);
    roles
        .owner()
        .run(&format!(
            "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT SELECT ON TABLES TO {attacker};
             INSERT INTO posts VALUES ('secret'); INSERT INTO likes (id, post) VALUES (77, 'secret');
             ALTER TABLE likes ENABLE ROW LEVEL SECURITY;
             CREATE POLICY public_posts ON likes TO {attacker} USING (post <> 'secret')"
        ));
    roles.counted();
    // Written past the triggers: a difference.
    roles
        .checker()
        .run("SET session_replication_role = replica; INSERT INTO public.likes (id, post) VALUES (78, 'secret')");
    #[derive(QueryableByName)]
    struct View {
        #[diesel(sql_type = Text)]
        name: String,
    }
    let views: Vec<View> = diesel::sql_query(
        "SELECT oid::regclass::text AS name FROM pg_class WHERE relkind IN ('v', 'm')
             AND relnamespace <> ALL (ARRAY['pg_catalog', 'information_schema']::regnamespace[])",
    )
    .load(&mut roles.checker())
    .unwrap();
    let conn = &mut roles.attacker();
    conn.run("SET search_path = pg_catalog");
    for View { name } in views {
        let shown = diesel::dsl::sql::<diesel::sql_types::BigInt>(&format!(
            "(SELECT count(*) FROM {name} AS one WHERE to_jsonb(one)::text LIKE '%secret%')"
        ));
        match diesel::select(shown).get_result::<i64>(conn) {
            Ok(shown) => assert_eq!(shown, 0, "{name} shows hidden rows"),
            Err(error) => assert!(
                error.to_string().contains("permission denied"),
                "{name}: {error}"
            ),
        }
    }
}
