//! Names that end quotes, or that another role took over.

use diesel::connection::SimpleConnection;

use super::roles::{Roles, generate};
use crate::behaviour::{Execute, words};

/// The counter table refers to a table of another role, whose names end the quotes of the
/// migration. `psql -f` would run what follows.
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
