//! Counts that stay: `deleted = "kept"`.

use super::{Execute, OF_ARTICLES, count_likes, integer, likes, number, open, tables};
use crate::{BACKEND, Conn, TestDatabase};

/// Likes of articles and stars of users, which stay, with these keys besides.
fn kept(keys: &str) -> TestDatabase {
    let database = tables(true);
    let counts = r#"
        count = ["article_id:article_counters.likes", "user_id:user_counters.stars=stars"]
        deleted = "kept"
        "#;
    database.count(&count_likes(&format!("{counts}{keys}")));
    database
}

fn stars_of(user: i64, conn: &mut Conn) -> i64 {
    let query = format!("SELECT COALESCE(SUM(stars), 0) FROM user_counters WHERE user_id = {user}");
    number(&format!("SELECT CAST(({query}) AS {})", integer()), conn)
}

/// Rows that are deleted, in whatever way, stay in the counts.
#[test]
fn rows_that_are_pruned_stay_in_the_counts() {
    let database = kept("");
    let conn = &mut open(&database);
    let rows = "INSERT INTO article_likes (id, article_id, user_id, stars) VALUES
        (1, 1, 1, 5), (2, 1, 2, 1), (3, 2, 1, 1), (4, 3, 3, 2)";
    conn.run(rows);
    conn.run("DELETE FROM article_likes WHERE id = 1");
    assert_eq!(likes([1, 2, 3], conn), [2, 1, 1]);
    assert_eq!(stars_of(1, conn), 6);
    // A cascade deletes rows, and sets a column of others to NULL.
    conn.run("DELETE FROM articles WHERE id = 3");
    conn.run("DELETE FROM users WHERE id = 2");
    assert_eq!(likes([1, 2, 3], conn), [2, 1, 0]);
    conn.run(match BACKEND {
        "postgres" => "TRUNCATE article_likes",
        _ => "DELETE FROM article_likes",
    });
    assert_eq!(likes([1, 2], conn), [2, 1]);
    assert_eq!(stars_of(1, conn), 6);
    conn.run("INSERT INTO article_likes (id, article_id, user_id) VALUES (1, 1, 1)");
    assert_eq!(likes([1, 2], conn), [3, 1]);
    database.command("check article_counters").works();
    database.assert_agrees();
}

/// A row counts once more where it comes, and is not taken off where it was.
#[test]
fn a_row_that_moves_counts_where_it_comes() {
    let database = kept("when = 'approved'");
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO article_likes (id, article_id, user_id, stars) VALUES
         (1, 1, 1, 5), (2, 1, 2, 1), (3, 1, 3, 1)",
    );
    // Two at once, of which one comes from where the other goes.
    conn.run("UPDATE article_likes SET article_id = CASE id WHEN 1 THEN 2 ELSE 3 END WHERE id < 3");
    assert_eq!(likes([1, 2, 3], conn), [3, 1, 1]);
    // It stays, and its weight changes.
    conn.run("UPDATE article_likes SET stars = stars + 2");
    assert_eq!([1, 2, 3].map(|user| stars_of(user, conn)), [7, 3, 3]);
    assert_eq!(likes([1, 2, 3], conn), [3, 1, 1]);
    // It goes, and comes again.
    conn.run("UPDATE article_likes SET approved = FALSE WHERE id = 1");
    assert_eq!(likes([1, 2, 3], conn), [3, 1, 1]);
    conn.run("UPDATE article_likes SET approved = TRUE WHERE id = 1");
    assert_eq!(likes([1, 2, 3], conn), [3, 2, 1]);
    assert_eq!(stars_of(1, conn), 14);
    conn.run("UPDATE article_likes SET article_id = NULL WHERE id = 2");
    assert_eq!(likes([1, 2, 3], conn), [3, 2, 1]);
    database.assert_agrees();
    database.command("check article_counters").works();
}

/// The key of a row decides nothing that counts.
#[test]
fn a_row_that_gets_another_key_stays() {
    let database = kept("");
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO article_likes (id, article_id, user_id, stars) VALUES
         (1, 1, 1, 5), (2, 1, 2, 1), (3, 2, 3, 1)",
    );
    conn.run("UPDATE article_likes SET id = id + 100");
    assert_eq!(likes([1, 2, 3], conn), [2, 1, 0]);
    assert_eq!([1, 2, 3].map(|user| stars_of(user, conn)), [5, 1, 1]);
    conn.run("UPDATE article_likes SET id = id + 100, stars = stars + 2 WHERE article_id = 1");
    assert_eq!(likes([1, 2, 3], conn), [2, 1, 0]);
    assert_eq!([1, 2, 3].map(|user| stars_of(user, conn)), [7, 3, 1]);
    // It moves, too.
    conn.run("UPDATE article_likes SET id = id + 100, article_id = 3 WHERE id = 201");
    assert_eq!(likes([1, 2, 3], conn), [2, 1, 1]);
    assert_eq!([1, 2, 3].map(|user| stars_of(user, conn)), [7, 3, 1]);
    // Another row gets the key that it had.
    conn.run("UPDATE article_likes SET id = 201, article_id = 3 WHERE id = 103");
    assert_eq!(likes([1, 2, 3], conn), [2, 1, 2]);
}

/// A count that is too low is wrong. One that is too high has the rows that are gone.
#[test]
fn a_recount_adds_what_is_missing() {
    let database = kept("");
    let conn = &mut open(&database);
    conn.run(
        "INSERT INTO article_likes (id, article_id, user_id) VALUES (1, 1, 1), (2, 1, 2), (3, 2, 1)",
    );
    conn.run("DELETE FROM article_likes WHERE id = 1");
    conn.run("UPDATE article_counters SET likes = 0 WHERE article_id = 2");
    database
        .command("recount --dry-run")
        .prints("article_counters.likes of 2: stored 0, rows 1");
    database.command("recount").prints("1 count corrected");
    assert_eq!(likes([1, 2], conn), [2, 1]);
    database.assert_agrees();
}

/// The counts stay when the definition changes. A recount then takes off the rows that are gone.
#[test]
fn the_definition_can_change_and_a_recount_takes_off_what_was_kept() {
    let database = tables(true);
    let conn = &mut open(&database);
    conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)");
    database.count(&count_likes(&format!("{OF_ARTICLES}deleted = 'kept'")));
    conn.run("DELETE FROM article_likes WHERE id = 1");
    assert_eq!(likes([1], conn), [2]);
    database.count(&count_likes(OF_ARTICLES));
    assert_eq!(likes([1], conn), [2]);
    database
        .command("recount count_likes --lower")
        .prints("article_counters.likes of 1: stored 2, rows 1");
    assert_eq!(likes([1], conn), [1]);
    conn.run("DELETE FROM article_likes WHERE id = 2");
    assert_eq!(likes([1], conn), [0]);
}
