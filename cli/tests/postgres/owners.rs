//! Tables and functions of several owners.

use diesel::connection::SimpleConnection;

use super::roles::Roles;
use crate::behaviour::{Execute, words};

/// To plan a statement runs functions of the indexes of a table that it reads: the owner of a table
/// that the counters refer to could have them run as the owner of the counters.
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
    let mut faults = checked.all_faults();
    faults.retain(|fault| fault["fault"] == "trigger_open");
    for fault in faults {
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
