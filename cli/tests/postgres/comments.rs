//! Definitions in a database that was restored by a dump without comments.

use diesel::connection::SimpleConnection;

use crate::TestDatabase;
use crate::behaviour::triggers::{
    LIKES_OF_ARTICLES, counted_likes, generate, likes_of, migrate, open, tables,
};

const NO_COMMENT: &str = "COMMENT ON FUNCTION count_likes_insert() IS NULL";

fn inserted(database: &TestDatabase) {
    database.execute("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)");
}

#[test]
fn a_function_has_its_definition_too() {
    let database = counted_likes();
    inserted(&database);
    database.execute(NO_COMMENT);
    database.command("check article_counters").works();
    database.execute("UPDATE article_counters SET likes = 7");
    database.command("recount").prints("1 count corrected");
    assert_eq!(likes_of(1, &mut open(&database)), 2);
    database.execute("DROP TRIGGER count_likes_delete ON article_likes");
    let faults = database.trigger_faults("article_counters");
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!(faults[0]["fault"], "trigger_missing");
    database.mend(&faults[0]);
    database.command("check article_counters").works();
    database.execute(NO_COMMENT);
    database.command("check article_counters").works();
}

/// A name can be anything that is in one line.
#[test]
fn a_definition_of_any_text_is_in_the_function() {
    let database = tables(true);
    let name = "it's \"$x$ -- */ \\ é🦀";
    let (ran, folder) = crate::behaviour::triggers::generate_triggers(
        &database,
        "--rows article_likes --count article_id:article_counters.likes",
        &[name],
    );
    ran.works();
    migrate(&database, &folder);
    inserted(&database);
    let function = format!("\"{}_insert\"", name.replace('"', "\"\""));
    database.execute(&format!("COMMENT ON FUNCTION {function}() IS NULL"));
    database.command("check article_counters").works();
    database.assert_agrees();
}

/// Only the comment is written when existing rows have been counted.
#[test]
fn rows_that_a_recount_has_counted_are_counted_again_without_the_comment() {
    let database = tables(true);
    inserted(&database);
    let (ran, folder) = generate(
        &database,
        &[&LIKES_OF_ARTICLES[..], &["--existing", "later"]].concat(),
    );
    ran.works();
    migrate(&database, &folder);
    database.command("check").finds("do not count yet");
    database.command("recount").works();
    database.command("check article_counters").works();
    database.execute(NO_COMMENT);
    database.command("check").finds("do not count yet");
    database.command("recount").prints("all counts agree");
    database.command("check article_counters").works();
}

/// As an earlier version wrote it.
#[test]
fn a_definition_in_one_line_stays_good() {
    let database = counted_likes();
    inserted(&database);
    database.execute(
        "DO $do$ DECLARE create_it TEXT; BEGIN
             create_it := pg_get_functiondef('count_likes_insert()'::regprocedure);
             IF position('\n--     ' IN create_it) = 0 THEN RAISE 'it is in one line'; END IF;
             EXECUTE replace(create_it, '\n--     ', '');
         END $do$",
    );
    database.command("check article_counters").works();
    database.execute(NO_COMMENT);
    database.command("check article_counters").works();
    database.command("recount").prints("all counts agree");
}

/// As an earlier version wrote it: the definition is only in the comment.
fn without_its_definition(database: &TestDatabase) {
    database.execute(
        "DO $do$ DECLARE create_it TEXT; BEGIN
             create_it := regexp_replace(pg_get_functiondef('count_likes_insert()'::regprocedure),
                 '-- diesel_counters: [^\n]*\n(--     [^\n]*\n)*', '');
             EXECUTE create_it;
         END $do$",
    );
}

#[test]
fn a_function_without_its_definition_is_good_until_it_loses_the_comment() {
    let database = counted_likes();
    inserted(&database);
    without_its_definition(&database);
    database.command("check article_counters").works();
    let conn = &mut open(&database);
    conn.batch_execute(NO_COMMENT).unwrap();
    let checked = database.command("check");
    checked.finds("public.count_likes_insert() counts rows, and has lost its");
    database
        .command("recount")
        .fails("COMMENT ON FUNCTION of its migration");
    database
        .command("recount count_likes")
        .fails("COMMENT ON FUNCTION of its migration");
}
