//! An error of a recount says of which counter it is.

use super::{integer, number, open};
use crate::behaviour::Execute;
use crate::behaviour::project::trigger;
use crate::{BACKEND, TestDatabase};

/// Posts whose gifts haven't been counted yet, in a column and in slots.
fn uncounted(gifts: &str) -> TestDatabase {
    let database = TestDatabase::create();
    database.create_counters("post_counters", "post_id BIGINT");
    database.execute(&format!(
        "CREATE TABLE posts (
             id BIGINT NOT NULL PRIMARY KEY, likes INTEGER NOT NULL DEFAULT 0, gifts INTEGER NOT NULL DEFAULT 0
         );
         CREATE TABLE gifts (id BIGINT NOT NULL PRIMARY KEY, post_id BIGINT NOT NULL, likes BIGINT NOT NULL);
         INSERT INTO posts (id) VALUES (1), (2);
         INSERT INTO gifts VALUES {gifts}"
    ));
    let count =
        |name: &str, count: &str| trigger(name, "gifts", &format!("count = [\"post_id:{count}\"]"));
    database.define(
        &[
            count("count_likes", "posts.likes=likes"),
            count("count_slots", "post_counters.views=likes"),
            count("count_gifts", "posts.gifts"),
        ]
        .concat(),
    );
    let later = database.command("generate triggers step --existing later");
    later.works();
    database.migrate();
    database
}

#[test]
fn the_counter_of_an_overflow_is_named_and_the_others_are_recounted() {
    let database = uncounted("(1, 2, 5), (2, 1, 3000000000)");
    let recounted = database.command("recount");
    let says = match BACKEND {
        "postgres" => "integer out of range",
        "mysql" => "Out of range value for column 'likes'",
        _ => "integer overflow",
    };
    recounted.fails(&format!("count_likes: posts.likes: {says}"));
    recounted.prints("count_slots: 2 counts corrected\n  post_counters.views of 1: stored 0, rows 3,000,000,000\n");
    recounted.prints("count_gifts: 2 counts corrected\n");
    let gifts = number(
        &format!("SELECT CAST(SUM(gifts) AS {}) FROM posts", integer()),
        &mut open(&database),
    );
    assert_eq!(gifts, 2);
}

/// No counter can have it, and no database refuses to add it up.
#[test]
fn the_entity_of_a_sum_beyond_a_counter_is_named() {
    let greatest = i64::MAX;
    let database = uncounted(&format!("(1, 2, {greatest})"));
    // The triggers have counted nothing yet, so that they add this one.
    open(&database).run("INSERT INTO gifts VALUES (2, 2, 7)");
    let says = match BACKEND {
        // Its own SUM fails.
        "sqlite" => "integer overflow",
        _ => "the count 9223372036854775814 of 2 is out of the range of a counter",
    };
    for recount in ["recount count_slots", "recount count_slots --dry-run"] {
        let ran = database.command(recount);
        ran.fails(&format!("count_slots: post_counters.views: {says}"));
    }
}

#[test]
fn a_counter_that_has_become_nullable_is_named() {
    let nullable = match BACKEND {
        "postgres" => "ALTER TABLE posts ALTER COLUMN likes DROP NOT NULL",
        "mysql" => "ALTER TABLE posts MODIFY likes INTEGER DEFAULT 0",
        // It has no statement for that.
        _ => return,
    };
    let database = uncounted("(1, 2, 5)");
    database.execute(nullable);
    database.execute("UPDATE posts SET likes = NULL");
    let recounted = database.command("recount");
    recounted.fails("count_likes: posts.likes may be NULL");
    recounted.prints("count_gifts: 1 count corrected");
}
