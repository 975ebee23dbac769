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
            let count =
                words("generate triggers count_bait --rows bait --count bait_counters.hits");
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

/// A role that owns a counter table, and has given it all that runs a function: a superuser who runs the command on
/// it runs none of them.
#[test]
fn a_superuser_runs_no_function_of_the_owner_of_a_table() {
    const PLANTS: [&str; 8] = [
        "CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON public.bait_counters
             FOR EACH ROW EXECUTE FUNCTION public.evil_trigger()",
        "CREATE TRIGGER t AFTER DELETE ON public.bait_counters FOR EACH STATEMENT EXECUTE FUNCTION public.evil_trigger()",
        "CREATE INDEX ON public.bait_counters ((public.evil(1)))",
        "CREATE INDEX ON public.bait_counters (hits) WHERE public.evil(2) > 0",
        "CREATE STATISTICS public.planted ON (public.evil(3)), hits FROM public.bait_counters",
        "ALTER TABLE public.bait_counters ADD CHECK (public.evil(4) > 0) NOT VALID",
        "ALTER TABLE public.bait_counters ADD twice BIGINT GENERATED ALWAYS AS (hits + public.evil(5)) STORED",
        "CREATE RULE r AS ON DELETE TO public.bait_counters WHERE public.evil(6) > 0 DO ALSO NOTHING",
    ];
    for plant in PLANTS {
        let roles = Roles::create(true).planted(
            "CREATE FUNCTION public.evil(INTEGER) RETURNS INTEGER IMMUTABLE LANGUAGE plpgsql SET search_path = pg_catalog AS
                 'BEGIN PERFORM public.spy(''evil''); RETURN 1; END';
             CREATE FUNCTION public.evil_trigger() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS
                 'BEGIN PERFORM public.spy(''a trigger''); IF TG_OP = ''DELETE'' THEN RETURN OLD; END IF; RETURN NEW; END';
             CREATE TABLE public.bait (id BIGINT PRIMARY KEY, hits BIGINT);
             CREATE TABLE public.bait_counters (id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
                 hits BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id, day, slot));
             INSERT INTO public.bait_counters VALUES (1, '2025-01-01', 1, 1), (1, '2025-01-01', 2, 1);
             COMMENT ON COLUMN public.bait_counters.day IS 'diesel_counters: period = day'",
        );
        roles
            .attacker()
            .run(&format!("SET search_path = pg_catalog; {plant}"));
        let merged = roles.run(&["compact", "bait_counters"]);
        merged.fails("of attacker_");
        for line in [
            "compact bait_counters --dry-run",
            "fold bait_counters --before 2026-01-01",
            "fold bait_counters --before 2026-01-01 --into month --dry-run",
            "check",
            "check bait_counters",
            "doctor",
            "doctor bait_counters",
            "recount",
            "recount --dry-run",
            "generate triggers count_bait --rows bait --count id:bait_counters.hits",
        ] {
            let ran = roles.run(&words(line));
            roles.assert_not_caught(&format!("{line}, {plant}: {ran:?}"));
        }
        // The attacker's own run is not refused for its own functions.
        roles
            .run_as(&roles.attacker, &["compact", "bait_counters"])
            .works();
    }
}

/// What reads a table for a definition that somebody else wrote.
#[test]
fn a_check_of_a_planted_definition_reads_no_table() {
    let roles = Roles::create(true);
    roles.counted();
    let roles = roles.planted(
        "CREATE FUNCTION public.evil(INTEGER) RETURNS INTEGER IMMUTABLE LANGUAGE plpgsql SET search_path = pg_catalog AS
             'BEGIN PERFORM public.spy(''evil''); RETURN 1; END';
         CREATE TABLE public.rows_of_bait (id BIGINT PRIMARY KEY);
         CREATE TABLE public.bait (n BIGINT NOT NULL DEFAULT 0);
         CREATE INDEX ON public.bait ((public.evil(1)));
         CREATE FUNCTION public.count_bait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         COMMENT ON FUNCTION public.count_bait() IS
             'diesel_counters: {\"name\":\"count_bait\",\"rows\":\"rows_of_bait\",\"count\":[\":bait.n\"],\"by\":\"1\",\"period\":\"day\",\"slots\":32}'",
    );
    for line in [
        "check",
        "recount",
        "generate triggers more --rows rows_of_bait --count :bait.n",
    ] {
        let ran = roles.run(&words(line));
        roles.assert_not_caught(&format!("{line}: {ran:?}"));
    }
}

/// The rights that a maintainer is granted, and a superuser who maintains an application's tables.
#[test]
fn a_table_without_functions_of_others_is_merged_by_whoever_may() {
    let roles = Roles::create(false);
    roles.owner().run(&format!(
        "INSERT INTO site_counters VALUES ('2025-01-01', 1, 1), ('2025-01-01', 2, 1);
         GRANT SELECT, INSERT, UPDATE, DELETE ON site_counters TO {}",
        roles.attacker
    ));
    roles
        .run_as(&roles.attacker, &["compact", "site_counters"])
        .works();
    roles.database.run(&["compact", "site_counters"]).works();
    roles.counted();
    roles.database.run(&["compact", "post_counters"]).works();
    roles.database.run(&["doctor"]).works();
}

/// The counter table refers to a table of another role, whose names end the quotes of the migration. `psql -f`
/// would run what follows.
#[test]
fn names_of_others_do_not_end_the_quotes_of_a_migration() {
    let end = "$diesel_counters$; CREATE TABLE planted (); --";
    for [table, column] in [[end, "id"], ["words", end], ["words", "id$counting$"]] {
        let roles = Roles::create(false);
        roles.attacker().run(&format!(
            "CREATE TABLE public.\"{table}\" (\"{column}\" BIGINT PRIMARY KEY);
             INSERT INTO public.\"{table}\" VALUES (1);
             GRANT SELECT, REFERENCES ON public.\"{table}\" TO PUBLIC"
        ));
        // Otherwise the table is refused.
        roles
            .checker()
            .run(&format!("GRANT {} TO {}", roles.owner, roles.attacker));
        let owner = &mut roles.owner();
        owner.run(&format!(
            "CREATE TABLE word_counters (
                 word BIGINT NOT NULL REFERENCES \"{table}\" ON DELETE CASCADE, day DATE NOT NULL,
                 slot SMALLINT NOT NULL, uses BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (word, day, slot)
             );
             CREATE TABLE uses (id BIGINT PRIMARY KEY, word BIGINT)"
        ));
        let up = roles.run(&words(
            "generate triggers count_uses --rows uses --count word:word_counters.uses",
        ));
        up.works();
        let quote = up.stdout.find('$').unwrap();
        let quote = up.stdout[quote..]
            .split_inclusive('$')
            .take(2)
            .collect::<String>();
        assert_eq!(up.stdout.matches(&quote).count(), 2, "{}", up.stdout);
        owner.run(&up.stdout);
        owner.run("INSERT INTO uses VALUES (1, 1), (2, 1); DELETE FROM uses WHERE id = 1");
        assert_eq!(
            roles.number("SELECT sum(uses)::bigint FROM public.word_counters"),
            1
        );
        assert_eq!(
            roles.number("SELECT count(*) FROM pg_class WHERE relname = 'planted'"),
            0
        );
        let checked = roles.run(&words("check word_counters"));
        assert!(!checked.stdout.contains("count_uses"), "{checked:?}");
    }
}

/// A line of SQL is indented, also in a name.
#[test]
fn names_of_several_lines_are_refused() {
    let roles = Roles::create(false);
    roles
        .owner()
        .run("ALTER TABLE posts RENAME COLUMN code TO \"co\nde\"");
    let generated = roles.run(&generate());
    assert!(
        generated.code == 1 && generated.stderr.contains("control character"),
        "{generated:?}"
    );
}

/// A table is renamed, and whoever may create tables takes its name.
#[test]
fn the_name_of_a_renamed_table_is_not_written_or_read() {
    let counters = |table: &str, key: &str, definition: &str| {
        format!(
            "CREATE TABLE public.{table} ({definition} day DATE, slot SMALLINT, likes BIGINT, stars BIGINT,
                 PRIMARY KEY ({key} day, slot));
             CREATE FUNCTION public.act() RETURNS trigger LANGUAGE plpgsql AS
                 'BEGIN PERFORM public.spy(''{table}''); RETURN NEW; END';
             CREATE TRIGGER act BEFORE INSERT ON public.{table} EXECUTE FUNCTION public.act();
             GRANT ALL ON public.{table} TO PUBLIC"
        )
    };
    let view = "CREATE VIEW public.posts AS SELECT code, likes FROM (VALUES ('a'::varchar, 0::bigint)) AS v (code, likes)
             WHERE public.spy('posts') IS NOT NULL;
         GRANT ALL ON public.posts TO PUBLIC";
    for (table, plant) in [
        (
            "post_counters",
            counters("post_counters", "post,", "post VARCHAR(20),"),
        ),
        ("site_counters", counters("site_counters", "", "")),
        ("posts", view.to_owned()),
    ] {
        let roles = Roles::create(false);
        roles.counted();
        let mut writer = roles.owner();
        // The session knows the tables.
        writer.run("DELETE FROM likes WHERE id = 1; INSERT INTO likes (id, post) VALUES (1, 'a')");
        roles
            .owner()
            .run(&format!("ALTER TABLE {table} RENAME TO renamed"));
        let roles = roles.planted(&plant);
        for statement in [
            "INSERT INTO likes (id, post) VALUES (20, 'a')",
            "UPDATE likes SET post = 'b' WHERE id = 1",
            "DELETE FROM likes WHERE id = 2",
        ] {
            for writer in [&mut writer, &mut roles.owner()] {
                let refused = writer.batch_execute(statement).unwrap_err().to_string();
                let says = "names is not of its owner: generate the triggers again";
                roles.assert_not_caught(&format!("{table}: {statement}"));
                assert!(refused.contains(says), "{table}: {refused}");
            }
        }
        drop(writer);
    }
}

/// A transaction does not see in the catalogue what was created after its first statement.
#[test]
fn a_table_that_is_newer_than_the_snapshot_is_not_written() {
    let roles = Roles::create(false);
    roles.counted();
    let mut writer = roles.owner();
    writer.run("INSERT INTO likes (id, post) VALUES (20, 'a')");
    writer.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    roles
        .owner()
        .run("ALTER TABLE post_counters RENAME TO renamed");
    let roles = roles.planted(
        "CREATE TABLE public.post_counters (post VARCHAR(20), day DATE, slot SMALLINT, likes BIGINT, stars BIGINT,
             PRIMARY KEY (post, day, slot));
         CREATE FUNCTION public.act() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN PERFORM public.spy(''post_counters''); RETURN NEW; END';
         CREATE TRIGGER act BEFORE INSERT ON public.post_counters EXECUTE FUNCTION public.act();
         GRANT ALL ON public.post_counters TO PUBLIC",
    );
    let insert = "INSERT INTO likes (id, post) VALUES (21, 'a')";
    let refused = writer.batch_execute(insert).unwrap_err().to_string();
    roles.assert_not_caught(insert);
    assert!(refused.contains("is not of its owner"), "{refused}");
    drop(writer);
}

/// A function of an earlier version does not look whose tables it writes, and counts the same.
#[test]
fn a_function_of_an_earlier_version_is_good() {
    let roles = Roles::create(false);
    roles.owner().run(include_str!("earlier.sql"));
    let roles = roles.planted("");
    roles.write("SELECT 1");
    let checked = roles.run(&words("check"));
    assert!(!checked.stdout.contains("count_likes"), "{checked:?}");
}

/// To plan a statement runs functions of the indexes of a table that it reads: the owner of a table that the counters
/// refer to could have them run as the owner of the counters.
#[test]
fn the_owner_of_a_parent_runs_nothing_as_the_owner_of_the_counters() {
    let roles = Roles::create(false).planted(
        "CREATE FUNCTION public.evil(INTEGER) RETURNS INTEGER IMMUTABLE LANGUAGE plpgsql SET search_path = pg_catalog AS
             'BEGIN PERFORM public.spy(''evil''); RETURN 1; END'",
    );
    let (owner, attacker) = (&roles.owner, &roles.attacker);
    roles.owner().run(
        "CREATE TABLE words (id BIGINT PRIMARY KEY);
         CREATE TABLE word_counters (
             word BIGINT NOT NULL REFERENCES words ON DELETE CASCADE, day DATE NOT NULL,
             slot SMALLINT NOT NULL, uses BIGINT NOT NULL DEFAULT 0, more BIGINT NOT NULL DEFAULT 0,
             PRIMARY KEY (word, day, slot)
         );
         CREATE TABLE uses (id BIGINT PRIMARY KEY, word BIGINT NOT NULL REFERENCES words ON DELETE CASCADE);
         INSERT INTO words VALUES (1), (2);
         GRANT SELECT, REFERENCES ON words TO PUBLIC",
    );
    let give_to = |role: &str| {
        let give = format!("ALTER TABLE public.words OWNER TO {role}");
        roles.checker().run(&give);
    };
    let generate =
        words("generate triggers count_uses --rows uses --count word:word_counters.uses");
    let up = roles.run(&generate).stdout;
    roles.owner().run(&up);
    roles
        .owner()
        .run("INSERT INTO uses VALUES (1, 1), (2, 1), (3, 2)");
    roles.run(&words("check word_counters")).works();
    // Another role becomes the owner.
    give_to(attacker);
    let index = "CREATE INDEX planted ON public.words (id) WHERE public.evil(1) = 1";
    roles.attacker().run(index);
    let delete = "DELETE FROM public.words WHERE id = 1";
    let deleted = roles.attacker().batch_execute(delete);
    roles.assert_not_caught(delete);
    let refused = deleted.unwrap_err().to_string();
    assert!(refused.contains("is not of its owner"), "{refused}");
    roles
        .run(&words("check word_counters"))
        .finds(&format!("words belongs to {attacker}"));
    let more = words("generate triggers count_more --rows uses --count word:word_counters.more");
    roles
        .run(&more)
        .fails(&format!("words belongs to {attacker}"));
    // It could be written where one role owns all, and run where two do.
    let other = up.replace("count_uses", "count_more");
    let refused = roles.owner().batch_execute(&other).unwrap_err().to_string();
    roles.assert_not_caught("a migration");
    let says = format!("could use the rights of {owner}");
    assert!(refused.contains(&says), "{refused}");
    // Whoever has the rights of the owner may use them.
    roles.attacker().run("DROP INDEX public.planted");
    let grant = format!("GRANT {owner} TO {attacker}");
    roles.checker().run(&grant);
    roles.attacker().run(delete);
    let counted = "SELECT sum(uses)::bigint FROM public.word_counters";
    assert_eq!(roles.number(counted), 1);
    roles.run(&words("check word_counters")).works();
    roles.run(&more).works();
}

/// Default privileges let a role use each function that the owner creates.
#[test]
fn a_role_that_may_use_the_function_counts_no_rows_of_its_own() {
    let roles = Roles::create(false);
    let attacker = &roles.attacker;
    roles.owner().run(&format!(
        "ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO {attacker}"
    ));
    roles.counted();
    let counted = "SELECT sum(likes)::bigint FROM public.post_counters";
    let before = roles.number(counted);
    roles.owner().run("ALTER TABLE likes RENAME TO renamed");
    let inserted = roles.attacker().batch_execute(
        "CREATE TABLE public.likes (id BIGINT, post VARCHAR(20), stars INTEGER, kind VARCHAR(9), day DATE);
         CREATE TRIGGER attached AFTER INSERT ON public.likes REFERENCING NEW TABLE AS new_rows
             FOR EACH STATEMENT EXECUTE FUNCTION public.count_likes_insert();
         INSERT INTO public.likes SELECT place, 'a', 1, 'like', '2026-01-01' FROM generate_series(1, 1000) AS place",
    );
    assert_eq!(roles.number(counted), before);
    let refused = inserted.unwrap_err().to_string();
    assert!(refused.contains("is not of its owner"), "{refused}");
    roles
        .checker()
        .run("DROP TABLE IF EXISTS public.likes; ALTER TABLE public.renamed RENAME TO likes");
    let checked = roles.run(&words("check --json"));
    checked.finds(&format!("{attacker} can use the function"));
    let json = checked.json();
    let tables = json["tables"].as_array().unwrap().iter();
    let faults = tables.flat_map(|table| table["faults"].as_array().unwrap());
    for fault in faults.filter(|fault| fault["fault"] == "trigger_open") {
        roles.owner().run(fault["sql"][0].as_str().unwrap());
    }
    let checked = roles.run(&words("check"));
    assert!(!checked.stdout.contains("can use"), "{checked:?}");
}

/// A partition is read with its table.
#[test]
fn a_partition_of_another_role_is_refused_and_found() {
    let roles = Roles::create(false);
    let attacker = &roles.attacker;
    roles.owner().run(
        "CREATE TABLE words (id BIGINT PRIMARY KEY) PARTITION BY HASH (id);
         CREATE TABLE part PARTITION OF words FOR VALUES WITH (MODULUS 1, REMAINDER 0);
         CREATE TABLE word_counters (
             word BIGINT NOT NULL REFERENCES words ON DELETE CASCADE, day DATE NOT NULL,
             slot SMALLINT NOT NULL, uses BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (word, day, slot)
         );
         CREATE TABLE uses (id BIGINT PRIMARY KEY, word BIGINT NOT NULL)",
    );
    let generate =
        words("generate triggers count_uses --rows uses --count word:word_counters.uses");
    let up = roles.run(&generate);
    up.works();
    let give = format!("ALTER TABLE public.part OWNER TO {attacker}");
    roles.checker().run(&give);
    let says = format!("part belongs to {attacker}");
    roles.run(&generate).fails(&says);
    roles.owner().run(&up.stdout);
    roles.run(&words("check word_counters")).finds(&says);
}
