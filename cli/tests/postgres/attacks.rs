//! A role that may create objects in the schema `public` and write rows, which triggers count. None of its
//! functions runs as another role.

use crate::behaviour::{Execute, words};
use diesel::connection::SimpleConnection;

use super::roles::{Roles, generate};

/// Operators and functions that fit better than those of the system.
const PLANTED: &str = include_str!("planted.sql");

const WITH_SUPERUSER: [bool; 2] = [false, true];

/// The names that the triggers of earlier versions shared, and those of the system for what a trigger needs.
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
    for superuser in WITH_SUPERUSER {
        let roles = Roles::create(superuser);
        let up = roles.migration();
        let roles = roles.planted(
            "CREATE FUNCTION public.count_likes() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
                 'BEGIN PERFORM public.spy(''count_likes''); RETURN NULL; END'",
        );
        roles.owner().batch_execute(&up).unwrap_err();
        let triggers = "SELECT count(*) FROM pg_trigger WHERE NOT tgisinternal";
        assert_eq!(roles.number(triggers), 0);
        roles.assert_not_caught("the migration");
    }
}

/// Whatever the attacker names like the definition is not what it says.
#[test]
fn a_view_or_a_table_with_the_name_of_a_definition_is_not_read() {
    for object in [
        "VIEW public.count_likes AS SELECT public.spy('view') AS diesel_counters_trigger",
        "TABLE public.count_likes AS SELECT '{}'::text AS diesel_counters_trigger",
        "VIEW public.count_likes_drift AS SELECT public.spy('view') AS likes",
    ] {
        let roles = Roles::create(false);
        let up = roles.migration();
        let roles = roles.planted(&format!(
            "CREATE {object}; GRANT SELECT ON {} TO PUBLIC",
            object.split(' ').nth(1).unwrap()
        ));
        if roles.owner().batch_execute(&up).is_ok() {
            roles.assert_right();
            roles.write("SELECT 1");
        }
        roles.run(&["recount", "--dry-run"]);
        roles.run(&generate());
        roles.run(&["check"]);
        roles.assert_not_caught(object);
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
                 compact post_counters";
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

/// A view that has the column in which earlier versions kept definitions.
#[test]
fn a_planted_view_is_not_read() {
    for superuser in WITH_SUPERUSER {
        let roles = Roles::create(superuser);
        roles.counted();
        let definition = |name: &str, view: &str| {
            format!(
                "'{{\"definition\":{{\"name\":\"{name}\",\"rows\":\"likes\",\"count\":[\"site_counters.likes\"],\
                 \"by\":\"1\",\"period\":\"day\",\"slots\":32}},\"targets\":[{{\"view\":\"{view}\",\
                 \"table\":\"site_counters\",\"key\":[],\"slots\":[\"day\",\"slot\"],\"counters\":[\"likes\"]}}]}}'"
            )
        };
        let roles = roles.planted(&format!(
            "CREATE VIEW public.planted AS SELECT public.spy('planted') AS diesel_counters_trigger;
             CREATE VIEW public.planted_too AS SELECT {} AS diesel_counters_trigger;
             CREATE VIEW public.planted_drift AS SELECT public.spy('drift') AS x, 100 AS likes, 0 AS stored_likes;
             GRANT SELECT ON public.planted, public.planted_too, public.planted_drift TO PUBLIC",
            definition("planted_too", "planted_drift")
        ));
        for line in "recount --dry-run, recount, check, recount count_likes".split(", ") {
            let ran = roles.run(&words(line));
            roles.assert_not_caught(line);
            ran.works();
            roles.assert_right();
        }
    }
}

/// Definitions of the attacker, which the command wrote for tables of its own, and such that name the
/// owner's tables.
#[test]
fn a_definition_of_another_role_is_not_read() {
    for superuser in WITH_SUPERUSER {
        let roles = Roles::create(superuser).planted(
            "CREATE FUNCTION public.is_liked(BIGINT) RETURNS BOOLEAN IMMUTABLE LANGUAGE plpgsql AS
                 'BEGIN PERFORM public.spy(''is_liked''); RETURN true; END';
             CREATE FUNCTION public.stars_of(BIGINT) RETURNS BIGINT IMMUTABLE LANGUAGE plpgsql AS
                 'BEGIN PERFORM public.spy(''stars_of''); RETURN 1; END';
             CREATE TABLE public.bait (id BIGINT PRIMARY KEY, hits BIGINT);
             CREATE TABLE public.bait_counters (day DATE NOT NULL, slot SMALLINT NOT NULL,
                 hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (day, slot));
             GRANT ALL ON public.bait, public.bait_counters TO PUBLIC",
        );
        // Of the attacker, for tables of its own.
        let url = roles
            .database
            .url()
            .replace("postgres@", &format!("{}@", roles.attacker));
        let generate = |when: &str, by: &str| {
            let count = words("generate trigger count_bait --rows bait --count bait_counters.hits");
            let args = [&count[..], &["--when", when, "--by", by]].concat();
            crate::behaviour::run_with(&args, Some(&url))
        };
        let with_functions = generate("is_liked(hits)", "stars_of(hits)");
        let plain = generate("hits > 0", "1");
        plain.works();
        let ups = [
            with_functions.stdout.clone(),
            // As if the command had accepted them.
            plain.stdout.replace("hits > 0", "public.is_liked(hits)"),
            // The owner's table in place of the attacker's own.
            plain.stdout.replace("bait_counters", "site_counters"),
        ];
        roles.counted();
        let mut planted = 0;
        for (place, up) in ups.iter().enumerate() {
            let up = up.replace("count_bait", &format!("count_bait_{place}"));
            planted += usize::from(roles.attacker().batch_execute(&up).is_ok());
        }
        assert!(planted > 0, "{with_functions:?}");
        planted_copies(&roles);
        roles
            .attacker()
            .run("SET search_path = pg_catalog; INSERT INTO public.bait VALUES (1, 1), (2, 2)");
        roles.assert_not_caught("an insert");
        let lines = "recount --dry-run, recount, check, check bait_counters, recount count_likes";
        for line in lines.split(", ") {
            let ran = roles.run(&words(line));
            roles.assert_not_caught(line);
            roles.assert_right();
            // A name of the attacker does not write to the terminal.
            assert!(!(ran.stdout + &ran.stderr).contains('\u{1b}'), "{line}");
        }
    }
}

/// The comments on the owner's functions, on functions of the attacker, with other rows to count.
fn planted_copies(roles: &Roles) {
    roles
        .attacker()
        .batch_execute(
            "SET search_path = pg_catalog;
             DO $$ DECLARE one RECORD;
                 names TEXT[] := ARRAY['copied_1', 'copied_2', 'copied_3', 'copied_4', chr(27) || '[2J' || chr(10) || '5'];
             BEGIN
                 FOR one IN SELECT proname, description FROM pg_description JOIN pg_proc ON objoid = pg_proc.oid
                     WHERE classoid = 'pg_proc'::regclass AND proname = 'count_likes'
                 LOOP
                     FOR place IN 1..5 LOOP
                         EXECUTE format('CREATE FUNCTION public.%I() RETURNS trigger LANGUAGE plpgsql AS
                             ''BEGIN PERFORM public.spy(''''copied''''); RETURN NULL; END''', names[place]);
                         EXECUTE format('COMMENT ON FUNCTION public.%I() IS %L', names[place], replace(CASE place
                             WHEN 1 THEN one.description
                             WHEN 2 THEN replace(one.description, '\"likes\"', '\"bait\"')
                             WHEN 3 THEN replace(one.description, 'kind <> ', 'public.spy(kind) <> ')
                             WHEN 4 THEN '{not json' ELSE one.description END, 'count_likes', names[place]));
                     END LOOP;
                 END LOOP;
             END $$",
        )
        .unwrap();
}
