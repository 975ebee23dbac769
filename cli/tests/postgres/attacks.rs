//! A role that may create objects in the schema `public` and write rows, which triggers count. None
//! of its functions runs as another role.

use crate::behaviour::{Execute, words};
use diesel::connection::SimpleConnection;

use super::roles::{Roles, WITH_SUPERUSER, generate};

/// Operators and functions that fit better than those of the system.
const PLANTED: &str = include_str!("planted.sql");

/// The names that the triggers of earlier versions shared, and those of the system for what a
/// trigger needs.
fn squatted(names: &[&str]) -> String {
    let functions = names.iter().map(|signature| {
        format!(
            "CREATE FUNCTION public.{signature} RETURNS INTEGER LANGUAGE plpgsql AS
                 'BEGIN PERFORM public.spy(''{signature}''); RETURN 1; END';"
        )
    });
    functions.collect()
}

#[test]
fn a_function_that_was_there_before_the_migration_does_not_run_as_the_owner() {
    let paths = [
        ("public", "\"$user\", public"),
        ("blog", "blog, public"),
        ("blog", "public, blog"),
    ];
    for (superuser, (schema, path)) in WITH_SUPERUSER
        .into_iter()
        .flat_map(|superuser| paths.map(|path| (superuser, path)))
    {
        let roles = Roles::with_tables(superuser, schema, path).planted(&squatted(&[
            "diesel_counters_slot(INTEGER)",
            "diesel_counters_slot(BIGINT)",
            "diesel_counters_slot()",
            "diesel_counters_number()",
        ]));
        roles.counted();
        roles.write("SELECT 1");
        let recounted = roles.run(&["recount"]);
        recounted.works();
        roles.assert_not_caught("recount");
    }
}

/// If the names of the migration are taken, it fails, and leaves nothing of it behind.
#[test]
fn a_migration_whose_names_are_taken_fails() {
    for (superuser, event) in
        itertools::iproduct!(WITH_SUPERUSER, ["insert", "update", "delete", "truncate"])
    {
        let roles = Roles::create(superuser);
        let up = roles.migration();
        let roles = roles.planted(&format!(
            "CREATE FUNCTION public.count_likes_{event}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                 'BEGIN PERFORM public.spy(''count_likes''); RETURN NULL; END'"
        ));
        roles.owner().batch_execute(&up).unwrap_err();
        let triggers = "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal";
        assert_eq!(roles.number(triggers), 0);
        roles.assert_not_caught("the migration");
    }
}

#[test]
fn triggers_use_no_operators_and_functions_of_others() {
    for superuser in WITH_SUPERUSER {
        let roles = Roles::create(superuser);
        roles.counted();
        let roles = roles.planted(PLANTED);
        roles.write("SELECT 1");
        roles
            .checker()
            .run("TRUNCATE public.likes; INSERT INTO public.posts VALUES ('b')");
        roles.write("SET search_path = public, pg_catalog; SET search_path = pg_catalog");
    }
}

/// The temporary schema of a session comes first, unless a path names it.
#[test]
fn triggers_use_no_temporary_objects() {
    let roles = Roles::create(true);
    roles.counted();
    let roles = roles.planted("SELECT 1");
    let is_spied = "CHECK (public.spy('a temporary domain') IS NOT NULL)";
    let domains = [
        "text", "date", "int8", "int4", "int2", "numeric", "name", "bool", "record",
    ];
    let domains =
        domains.map(|name| format!("CREATE DOMAIN pg_temp.{name} AS pg_catalog.text {is_spied};"));
    let tables = ["likes", "posts", "post_counters", "site_counters"];
    let tables = tables.map(|name| {
        format!(
            "CREATE TABLE pg_temp.{name} (id BIGINT, post VARCHAR, code VARCHAR, day DATE, slot SMALLINT,
                 stars BIGINT, likes BIGINT, kind VARCHAR);"
        )
    });
    roles.write(&(domains.concat() + &tables.concat()));
}

#[test]
fn a_migration_uses_no_operators_and_functions_of_others() {
    for superuser in WITH_SUPERUSER {
        let roles = Roles::create(superuser);
        let up = roles.migration();
        let roles = roles.planted(PLANTED);
        let migrated = roles.owner().batch_execute(&up);
        roles.assert_not_caught("the migration");
        migrated.unwrap();
        roles.assert_right();
    }
}

#[test]
fn a_recount_uses_no_operators_and_functions_of_others() {
    for superuser in WITH_SUPERUSER {
        let roles = Roles::create(superuser);
        roles.counted();
        roles
            .owner()
            .run("UPDATE posts SET likes = 7; UPDATE post_counters SET stars = 7, likes = 7");
        let roles = roles.planted(PLANTED);
        let recounted = roles.run(&["recount", "--zero"]);
        roles.assert_not_caught("recount");
        recounted.works();
        roles.assert_right();
    }
}

/// Of a role that reads the catalogue of a database in which others create objects.
#[test]
fn the_command_uses_no_operators_and_functions_of_others() {
    let roles = Roles::create(true);
    roles.counted();
    let roles = roles.planted(PLANTED);
    let mut caught = Vec::new();
    let lines = "check, check post_counters --json, doctor post_counters, recount --dry-run, \
                 compact post_counters, fold post_counters --before 2026-01-01, doctor";
    for args in lines.split(", ").map(words).chain([generate()]) {
        let ran = roles.run(&args);
        let now = roles.caught();
        if !now.is_empty() || ran.code == 1 && !args.contains(&"generate") {
            caught.push(format!("{args:?}: {now:?} {}", ran.stderr));
            roles
                .checker()
                .run("TRUNCATE public.loot; SELECT setval('public.caught', 1, false)");
        }
    }
    assert!(caught.is_empty(), "{}", caught.join("\n"));
}
