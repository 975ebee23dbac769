//! Faults of tables and of rights that only PostgreSQL has, and what `check` says of them.

use diesel::connection::SimpleConnection;
use serde_json::Value;

use super::roles::Roles;
use crate::TestDatabase;
use crate::behaviour::triggers::{counted_likes, create_triggers};
use crate::behaviour::{Execute, words};

fn names(faults: &[Value]) -> Vec<&str> {
    let names = faults.iter().map(|fault| fault["fault"].as_str().unwrap());
    names.collect()
}

/// Asserts that there are these faults, and none after their SQL has run.
#[track_caller]
fn finds_and_mends(database: &TestDatabase, expected: &[&str]) {
    let found = database.faults();
    assert_eq!(names(&found), expected, "{found:?}");
    found.iter().for_each(|fault| database.mend(fault));
    assert_eq!(database.faults(), Vec::<Value>::new());
}

const COUNTERS: &str = "page_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
    hits BIGINT NOT NULL DEFAULT 0";

#[test]
fn a_deferrable_key_is_found() {
    let database = TestDatabase::create();
    database.execute(&format!(
        "CREATE TABLE page_counters ({COUNTERS}, PRIMARY KEY (page_id, day, slot) DEFERRABLE)"
    ));
    finds_and_mends(&database, &["deferrable_key"]);
    let insert = "INSERT INTO page_counters VALUES (1, '2026-01-01', 1, 1) ON CONFLICT (page_id, day, slot) DO NOTHING";
    database.execute(insert);
}

#[test]
fn days_without_a_partition_are_found() {
    let database = TestDatabase::create();
    let key = "PRIMARY KEY (page_id, day, slot)";
    database.execute(&format!(
        "CREATE TABLE page_counters ({COUNTERS}, {key}) PARTITION BY RANGE (day);
         CREATE TABLE old_pages PARTITION OF page_counters FOR VALUES FROM ('2025-01-01') TO ('2026-01-01')"
    ));
    finds_and_mends(&database, &["no_partition", "no_partition"]);
    let days = "('1970-01-01'), (CURRENT_DATE)";
    database.execute(&format!(
        "INSERT INTO page_counters (page_id, day, slot) SELECT 1, CAST(day AS DATE), 1 FROM (VALUES {days}) AS v (day)"
    ));
    for partitions in [
        "CREATE TABLE all_pages PARTITION OF page_counters DEFAULT",
        "CREATE TABLE all_pages PARTITION OF page_counters FOR VALUES FROM (MINVALUE) TO (MAXVALUE)",
        "CREATE TABLE all_pages PARTITION OF page_counters FOR VALUES FROM ('1970-01-01') TO ('2970-01-01')",
    ] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE TABLE page_counters ({COUNTERS}, {key}) PARTITION BY RANGE (day); {partitions}"
        ));
        assert_eq!(
            names(&database.faults()),
            Vec::<&str>::new(),
            "{partitions}"
        );
    }
    let by_id = TestDatabase::create();
    by_id.execute(&format!(
        "CREATE TABLE page_counters ({COUNTERS}, {key}) PARTITION BY HASH (page_id);
         CREATE TABLE pages_0 PARTITION OF page_counters FOR VALUES WITH (MODULUS 1, REMAINDER 0)"
    ));
    assert_eq!(names(&by_id.faults()), Vec::<&str>::new());
}

#[test]
fn rows_that_a_crash_empties_are_found_and_refused() {
    let database = counted_likes();
    database.execute("ALTER TABLE article_likes SET UNLOGGED");
    finds_and_mends(&database, &["unlogged"]);
    database.execute(
        "CREATE UNLOGGED TABLE visits (id BIGINT PRIMARY KEY, article_id BIGINT REFERENCES articles)",
    );
    let words =
        "generate triggers count_visits --rows visits --count article_id:article_counters.views";
    database.command(words).fails("UNLOGGED");
}

/// The function that it calls can be used by everybody, too.
#[test]
fn a_trigger_that_is_disabled_is_found_whoever_can_use_its_function() {
    let database = counted_likes();
    database.execute(
        "GRANT EXECUTE ON FUNCTION count_likes_update() TO PUBLIC;
         ALTER TABLE article_likes DISABLE TRIGGER count_likes_update",
    );
    finds_and_mends(&database, &["trigger_open", "trigger_disabled"]);
}

#[test]
fn an_owner_who_may_not_read_the_parent_is_found() {
    let roles = Roles::create(false);
    roles.counted();
    let owner = &roles.owner;
    // The rows and the counters stay the owner's.
    roles.checker().run(&format!(
        "ALTER TABLE public.post_counters DROP CONSTRAINT post_counters_post_fkey;
         CREATE TABLE public.others (code VARCHAR(20) PRIMARY KEY REFERENCES public.posts (code));
         INSERT INTO public.others VALUES ('a'), ('b'), ('c');
         ALTER TABLE public.post_counters ADD FOREIGN KEY (post) REFERENCES public.others ON DELETE CASCADE;
         REVOKE ALL ON public.others FROM PUBLIC, {owner}"
    ));
    let checked = roles.run(&["check", "--json"]);
    checked.finds("trigger_denied");
    checked.prints(&format!(
        "GRANT SELECT ON \\\"public\\\".\\\"others\\\" TO \\\"{owner}\\\""
    ));
}

#[test]
fn an_owner_who_may_read_another_column_of_the_parent_is_found() {
    let roles = Roles::create(false);
    let owner = &roles.owner;
    roles.checker().run(&format!(
        "CREATE TABLE public.pages (code VARCHAR(20) PRIMARY KEY, title TEXT);
         INSERT INTO public.pages VALUES ('a');
         GRANT SELECT, REFERENCES ON public.pages TO {owner}"
    ));
    roles.owner().run(
        "CREATE TABLE views (
             id BIGINT PRIMARY KEY, page VARCHAR(20) REFERENCES pages ON DELETE CASCADE
         );
         CREATE TABLE page_counters (
             page VARCHAR(20) REFERENCES pages ON DELETE CASCADE, day DATE, slot SMALLINT,
             views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (page, day, slot)
         )",
    );
    let generate = "generate triggers count_views --rows views --count page:page_counters.views";
    let generated = roles.run(&words(generate));
    generated.works();
    roles.owner().run(&generated.stdout);
    let write = "INSERT INTO views VALUES (1, 'a'); DELETE FROM views";
    roles.owner().run(write);
    let grant = |column: &str| {
        roles.checker().run(&format!(
            "REVOKE SELECT ON public.pages FROM {owner};
             GRANT SELECT ({column}) ON public.pages TO {owner}"
        ));
    };
    grant("title");
    let denied = roles.owner().batch_execute(write).unwrap_err();
    assert!(denied.to_string().contains("pages"), "{denied}");
    roles.run(&["check"]).finds("lacks a right on pages");
    grant("code");
    roles.owner().run(write);
    roles.run(&["check"]).works();
}

#[test]
fn a_rule_and_a_policy_on_the_counters_are_told() {
    let database = TestDatabase::with_article_counters();
    database.execute("CREATE RULE nothing AS ON DELETE TO article_counters DO INSTEAD NOTHING");
    assert_eq!(names(&database.faults()), ["veto"]);
    database.execute(
        "DROP RULE nothing ON article_counters;
         ALTER TABLE article_counters ENABLE ROW LEVEL SECURITY;
         CREATE POLICY visible ON article_counters USING (slot < 5)",
    );
    let checked = database.command("check article_counters --json");
    checked.works();
    checked.prints("\"policy\"");
}

/// PostgreSQL does not look whether a rule of UPDATE is enabled.
#[test]
fn a_disabled_rule_that_refuses_increments_is_found() {
    for (event, is_refused) in [("UPDATE", true), ("INSERT", false), ("DELETE", false)] {
        let database = TestDatabase::with_article_counters();
        database.execute(&format!(
            "CREATE TABLE log (n BIGINT);
             CREATE RULE also AS ON {event} TO article_counters DO ALSO INSERT INTO log VALUES (1);
             ALTER TABLE article_counters DISABLE RULE also"
        ));
        let insert =
            "INSERT INTO article_counters (article_id, day, slot) VALUES (1, '2026-01-01', 1)
            ON CONFLICT (article_id, day, slot) DO UPDATE SET views = 1";
        let fails = database.connect().batch_execute(insert).is_err();
        assert_eq!(fails, is_refused, "{event}");
        let expected: &[&str] = if is_refused { &["veto"] } else { &[] };
        assert_eq!(names(&database.faults()), expected, "{event}");
    }
}

/// An index with a counter in its expression or in its condition.
#[test]
fn an_index_that_depends_on_a_counter_is_slow() {
    for index in [
        "((likes + 0))",
        "(day) WHERE likes > 100",
        "(day) INCLUDE (likes)",
        "(likes)",
    ] {
        let database = TestDatabase::with_article_counters();
        database.execute(&format!(
            "CREATE INDEX by_likes ON article_counters {index}"
        ));
        let found = database.faults();
        assert_eq!(names(&found), ["counter_index"], "{index}");
        assert_eq!(found[0]["what"], "The index by_likes holds likes.");
    }
    let database = TestDatabase::with_article_counters();
    database.execute("CREATE INDEX by_day ON article_counters ((day + 1)) WHERE slot > 0");
    assert_eq!(names(&database.faults()), Vec::<&str>::new());
}

/// A domain has its own default, and can refuse a NULL that the column allows.
#[test]
fn what_a_domain_gives_and_refuses_is_known() {
    let insert = "INSERT INTO page_counters (page_id, day, slot) VALUES (1, '2026-01-01', 1)";
    for (domain, column, is_good) in [
        ("TEXT DEFAULT 'x'", "NOT NULL", true),
        ("TEXT", "", true),
        ("TEXT NOT NULL DEFAULT 'x'", "", true),
        ("TEXT NOT NULL", "", false),
        ("TEXT NOT NULL", "DEFAULT 'x'", true),
        ("TEXT", "NOT NULL", false),
    ] {
        let database = TestDatabase::create();
        database.execute(&format!(
            "CREATE DOMAIN own AS {domain};
             CREATE TABLE page_counters ({COUNTERS}, note own {column}, PRIMARY KEY (page_id, day, slot))"
        ));
        let inserts = database.connect().batch_execute(insert).is_ok();
        assert_eq!(inserts, is_good, "{domain} {column}");
        let expected: &[&str] = if is_good { &[] } else { &["no_default"] };
        assert_eq!(names(&database.faults()), expected, "{domain} {column}");
    }
}

/// Who may create triggers on a table runs its functions as the owner of the function that counts.
#[test]
fn the_right_to_create_triggers_is_told() {
    let roles = Roles::create(false);
    roles.counted();
    let told = |ran: &crate::behaviour::Ran| {
        let mut faults = ran.all_faults();
        faults.retain(|fault| fault["fault"] == "trigger_grant");
        faults
    };
    let checked = roles.run(&["check", "--json"]);
    assert_eq!(told(&checked), Vec::<Value>::new());
    let attacker = &roles.attacker;
    roles.owner().run(&format!(
        "GRANT ALL ON post_counters TO {attacker}; GRANT TRIGGER ON likes TO PUBLIC"
    ));
    let checked = roles.run(&["check", "--json"]);
    checked.works();
    let faults = told(&checked);
    assert_eq!(faults.len(), 2, "{checked:?}");
    for fault in &faults {
        for sql in fault["sql"].as_array().unwrap() {
            roles.owner().run(sql.as_str().unwrap());
        }
    }
    assert_eq!(told(&roles.run(&["check", "--json"])), Vec::<Value>::new());
    let create =
        "CREATE TRIGGER t BEFORE INSERT ON public.post_counters FOR EACH ROW EXECUTE FUNCTION
        suppress_redundant_updates_trigger()";
    roles.attacker().batch_execute(create).unwrap_err();
}

/// A function's comment that looks like a definition, of a role that owns no table of it.
#[test]
fn the_sql_of_a_definition_of_another_role_is_not_printed() {
    for superuser in [false, true] {
        let roles = Roles::create(superuser);
        roles.counted();
        let definition = "diesel_counters: {\"name\":\"bait\",\"rows\":\"likes\",\"count\":[\"site_counters.likes\"],\"by\":\"1\",
            \"when\":\"public.evil(kind)\",\"period\":\"day\",\"slots\":32}"
            .replace("\n            ", "");
        roles.attacker().run(&format!(
            "CREATE FUNCTION public.evil(VARCHAR) RETURNS BOOLEAN LANGUAGE sql AS 'SELECT true';
             CREATE FUNCTION public.bait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
             COMMENT ON FUNCTION public.bait() IS '{definition}'"
        ));
        for args in [
            &["check"][..],
            &["check", "--json"],
            &["check", "site_counters"],
        ] {
            let ran = roles.run(args);
            for planted in ["evil", "OWNER TO", "SECURITY DEFINER"] {
                assert!(!ran.stdout.contains(planted), "{planted}: {ran:?}");
            }
            ran.prints("bait");
            ran.prints(&roles.attacker);
            // It counts nothing.
            ran.works();
        }
        // It runs for these rows.
        roles.owner().run(
            "CREATE TRIGGER bait AFTER INSERT ON likes FOR EACH STATEMENT EXECUTE FUNCTION public.bait()",
        );
        let ran = roles.run(&["check"]);
        ran.finds("trigger");
        assert!(!ran.stdout.contains("evil"), "{ran:?}");
    }
}

/// A superuser who checks an application's database does not run as the application.
#[test]
fn the_sql_of_triggers_is_printed_for_their_owner_only() {
    let roles = Roles::create(false);
    roles.counted();
    roles
        .owner()
        .run("DROP TRIGGER count_likes_insert ON likes");
    roles.run(&["check"]).finds("CREATE TRIGGER");
    let checked = roles.database.run(&["check"]);
    checked.finds("has no trigger count_likes_insert");
    checked.prints(&roles.owner);
    assert!(!checked.stdout.contains("CREATE"), "{checked:?}");
}

#[test]
fn a_table_that_is_counted_in_may_have_other_rules() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT NOT NULL DEFAULT 0);
         CREATE TABLE likes (id BIGINT PRIMARY KEY, post_id BIGINT REFERENCES posts);
         CREATE TABLE log (id BIGINT);
         CREATE RULE logged AS ON DELETE TO posts DO ALSO INSERT INTO log VALUES (OLD.id);
         CREATE RULE kept AS ON DELETE TO posts DO INSTEAD NOTHING;
         CREATE RULE refused AS ON INSERT TO posts WHERE NEW.id < 0 DO INSTEAD NOTHING",
    );
    create_triggers(
        &database,
        "count_likes --rows likes --count post_id:posts.likes",
        &[],
    );
    assert_eq!(names(&database.faults()), Vec::<&str>::new());
    database.execute("CREATE RULE none AS ON UPDATE TO posts DO INSTEAD NOTHING");
    assert_eq!(names(&database.faults()), ["veto"]);
}
