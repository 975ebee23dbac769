//! The way back creates again what was dropped.

use std::fs;

use super::{OF_ARTICLES, count_likes, number, open, tables};
use crate::BACKEND;
use crate::behaviour::Execute;

/// Only PostgreSQL has names of triggers by table, so that the application can have one of the same
/// name.
#[test]
fn the_way_back_leaves_a_trigger_of_the_application() {
    if BACKEND != "postgres" {
        return;
    }
    let database = tables(true);
    database.count(&count_likes(OF_ARTICLES));
    let conn = &mut open(&database);
    conn.run(
        "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER count_likes_update AFTER DELETE ON users
             FOR EACH ROW EXECUTE FUNCTION nothing()",
    );
    let mut own_triggers = || {
        let query = "SELECT COUNT(*) FROM pg_trigger
                     WHERE NOT tgisinternal AND tgrelid = 'users'::regclass";
        number(query, conn)
    };
    let without_any = "";
    database.count(without_any);
    assert_eq!(own_triggers(), 1);
    database.revert();
    assert_eq!(own_triggers(), 1);
    // As it was before.
    let migration = database.migration_directories().pop().unwrap();
    fs::remove_dir_all(migration).unwrap();
    database.define(&count_likes(OF_ARTICLES));
    database.command("check article_counters").works();
}

/// A row that is not counted yet can be deleted, and the column refuses to count that.
#[test]
fn the_way_back_does_not_count_later_what_a_column_would_refuse() {
    const WHY: &str = "the way back creates count_likes: --existing later: a CHECK keeps";
    let database = tables(true);
    database.execute(
        "ALTER TABLE articles ADD COLUMN likes BIGINT NOT NULL DEFAULT 0 CHECK (likes >= 0)",
    );
    database.count(&count_likes("count = ['article_id:articles.likes']"));
    database.define(&count_likes(OF_ARTICLES));
    let later = "generate triggers in_slots --existing later";
    database.command(later).fails(WHY);
    database.command(&format!("{later} --json")).fails(WHY);
    database.command("generate triggers in_slots").works();
}
