//! What a role needs to write rows that triggers count: they run with its rights.

use diesel::connection::SimpleConnection;

use super::roles::Roles;
use crate::Conn;
use crate::behaviour::Execute;
use crate::behaviour::project::trigger;

/// Likes of posts, which have a foreign key or not, counted in slots or in a column. The writer has
/// no rights but those on likes.
fn counted(has_foreign_key: bool, count: &str) -> Roles {
    let roles = Roles::create(false);
    let owner = &mut roles.owner();
    owner.run("REVOKE ALL ON posts, post_counters, site_counters FROM PUBLIC");
    if !has_foreign_key {
        owner.run("ALTER TABLE likes DROP CONSTRAINT likes_post_fkey");
    }
    let count = format!("count = ['{count}']");
    roles.count(&trigger("count_likes", "likes", &count));
    roles
}

fn grant(rights: &str, roles: &Roles) {
    let grant = format!("GRANT {rights} TO {}", roles.writer);
    roles.owner().run(&grant);
}

#[track_caller]
fn assert_denied(statement: &str, object: &str, writer: &mut Conn) {
    let denied = writer.batch_execute(statement).unwrap_err().to_string();
    let says = format!("permission denied for {object}");
    assert!(denied.contains(&says), "{statement}: {denied}");
}

const INSERT: &str = "INSERT INTO likes (id, post) VALUES (20, 'a'), (21, 'b')";

/// Statements after [`INSERT`]. An UPDATE and a DELETE look whether the post is there.
const MORE: [&str; 3] = [
    "UPDATE likes SET post = 'c' WHERE id = 20",
    "DELETE FROM likes WHERE id = 21",
    "TRUNCATE likes",
];

const SLOTS: &str = "post:post_counters.likes";

const LIKES_IN_SLOTS: &str = "SELECT CAST(SUM(likes) AS BIGINT) FROM post_counters";

#[test]
fn to_count_in_slots_a_writer_needs_the_counter_table_and_to_see_the_entities() {
    let roles = counted(true, SLOTS);
    assert_denied(INSERT, "table post_counters", &mut roles.writer());
    grant("INSERT, UPDATE, SELECT ON post_counters", &roles);
    grant("SELECT ON posts", &roles);
    let writer = &mut roles.writer();
    writer.run(INSERT);
    assert_eq!(roles.number(LIKES_IN_SLOTS), 5);
    for (statement, likes) in MORE.into_iter().zip([5, 4, 0]) {
        writer.run(statement);
        assert_eq!(roles.number(LIKES_IN_SLOTS), likes, "{statement}");
    }
    let counted = roles.run(&["recount"]);
    counted.prints("all counts agree");
}

/// A foreign key makes sure that there is one for a row that is inserted, but not for one that is
/// deleted with it.
#[test]
fn a_writer_who_does_not_see_the_entities_may_insert() {
    let roles = counted(true, SLOTS);
    grant("INSERT, UPDATE, SELECT ON post_counters", &roles);
    let writer = &mut roles.writer();
    writer.run(INSERT);
    for statement in &MORE[..2] {
        assert_denied(statement, "table posts", writer);
    }
    assert_eq!(roles.number(LIKES_IN_SLOTS), 5);
}

#[test]
fn without_a_foreign_key_a_writer_who_inserts_needs_to_see_the_entities() {
    let roles = counted(false, SLOTS);
    grant("INSERT, UPDATE, SELECT ON post_counters", &roles);
    let writer = &mut roles.writer();
    assert_denied(INSERT, "table posts", writer);
    grant("SELECT ON posts", &roles);
    writer.run(INSERT);
    assert_eq!(roles.number(LIKES_IN_SLOTS), 5);
}

#[test]
fn to_count_in_a_column_a_writer_needs_that_column() {
    let roles = counted(true, "post:posts.likes");
    let likes = "SELECT CAST(SUM(likes) AS BIGINT) FROM posts";
    grant("SELECT ON posts", &roles);
    let writer = &mut roles.writer();
    assert_denied(INSERT, "table posts", writer);
    grant("UPDATE (likes) ON posts", &roles);
    writer.run(INSERT);
    assert_eq!(roles.number(likes), 5);
    for (statement, expected) in MORE.into_iter().zip([5, 4, 0]) {
        writer.run(statement);
        assert_eq!(roles.number(likes), expected, "{statement}");
    }
}

/// Without rights on the rows: the server deletes them as their owner. It runs the triggers as the
/// writer, and since PostgreSQL 18 as the owner too.
#[test]
fn whoever_deletes_an_entity_needs_the_rights_to_count_its_rows() {
    let roles = counted(true, "site_counters.likes");
    roles.owner().run("REVOKE ALL ON likes FROM PUBLIC");
    grant("SELECT, DELETE ON posts", &roles);
    grant("INSERT, UPDATE, SELECT ON site_counters", &roles);
    roles.writer().run("DELETE FROM posts WHERE code = 'a'");
    let likes = "SELECT CAST(SUM(likes) AS BIGINT) FROM site_counters";
    assert_eq!(roles.number(likes), 1);
}
