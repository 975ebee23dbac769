//! Definitions and functions that another role planted.

use diesel::connection::SimpleConnection;

use super::roles::{Roles, WITH_SUPERUSER, generate};
use crate::behaviour::{Execute, words};

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

/// Definitions of the attacker, which the command wrote for tables of its own, and such that name
/// the owner's tables.
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
        // The attacker runs the command for tables of its own.
        let generate = |when: &str, by: &str| {
            let count =
                words("generate triggers count_bait --rows bait --count bait_counters.hits");
            let args = [&count[..], &["--when", when, "--by", by]].concat();
            roles.run_as(&roles.attacker, &args)
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
                     WHERE classoid = 'pg_proc'::regclass AND proname = 'count_likes_insert'
                 LOOP
                     FOR place IN 1..5 LOOP
                         EXECUTE format('CREATE FUNCTION public.%I() RETURNS trigger LANGUAGE plpgsql AS
                             ''BEGIN PERFORM public.spy(''''copied''''); RETURN NULL; END''', names[place]);
                         EXECUTE format('COMMENT ON FUNCTION public.%I() IS %L', names[place], CASE place
                             WHEN 1 THEN one.description
                             WHEN 2 THEN replace(one.description, '\"likes\"', '\"bait\"')
                             WHEN 3 THEN replace(one.description, 'kind <> ', 'public.spy(kind) <> ')
                             WHEN 4 THEN '{not json' ELSE one.description END);
                     END LOOP;
                 END LOOP;
             END $$",
        )
        .unwrap();
    let copies = "SELECT COUNT(*) FROM pg_proc
                  WHERE prosrc LIKE '%copied%' AND prorettype = 'trigger'::regtype";
    assert_eq!(roles.number(copies), 5);
}

/// A role that owns a counter table, and has given it all that runs a function: a superuser who
/// runs the command on it runs none of them.
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
