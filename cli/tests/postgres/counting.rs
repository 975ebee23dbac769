//! Which rows a statement counts.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use crate::TestDatabase;
use crate::behaviour::Execute;
use crate::behaviour::triggers::{
    OF_ARTICLES, count_likes, counted_likes, likes, likes_of, number, open, tables,
};

diesel::table! {
    article_likes (id) {
        id -> BigInt,
        article_id -> BigInt,
    }
}

#[test]
fn copied_rows_are_counted() {
    let database = counted_likes();
    let conn = &mut open(&database);
    let copied = diesel::copy_from(article_likes::table)
        .from_raw_data((article_likes::id, article_likes::article_id), |copy| {
            for id in 0..100_000 {
                writeln!(copy, "{id}\t{}", id % 2 + 1).unwrap();
            }
            diesel::QueryResult::Ok(())
        })
        .execute(conn)
        .unwrap();
    assert_eq!(copied, 100_000);
    assert_eq!(likes([1, 2], conn), [50_000, 50_000]);
}

/// A claim is a lock of the server.
#[test]
fn to_count_in_one_slot_no_number_is_claimed() {
    let claims =
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()";
    for (slots, claimed) in [("1", 0), ("2", 1)] {
        let database = tables(true);
        database.count(&count_likes(&format!("{OF_ARTICLES}slots = {slots}")));
        let conn = &mut open(&database);
        conn.run("INSERT INTO article_likes (id, article_id) VALUES (1, 1)");
        assert_eq!(likes_of(1, conn), 1);
        assert_eq!(number(claims, conn), claimed, "{slots} slots");
    }
}

#[test]
fn truncated_rows_are_counted() {
    let database = counted_likes();
    let conn = &mut open(&database);
    let insert = "INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1), (3, 2)";
    conn.run(insert);
    conn.run("BEGIN; TRUNCATE article_likes; ROLLBACK");
    assert_eq!(likes([1, 2], conn), [2, 1]);
    // It could miss rows that were committed after its snapshot.
    conn.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    let refused = conn.batch_execute("TRUNCATE article_likes").unwrap_err();
    let refused = refused.to_string();
    let says = "TRUNCATE is counted at READ COMMITTED only: use DELETE";
    assert!(refused.contains(says), "{refused}");
    conn.run(
        "ROLLBACK; BEGIN ISOLATION LEVEL REPEATABLE READ; DELETE FROM article_likes; ROLLBACK",
    );
    conn.run("TRUNCATE article_likes");
    assert_eq!(likes([1, 2], conn), [0, 0]);
    conn.run(insert);
    conn.run("TRUNCATE articles CASCADE");
    assert_eq!(likes([1, 2], conn), [0, 0]);
}

/// The statistics of a real application, with triggers of its own, move to columns and slots.
#[test]
fn statistics_of_other_triggers_become_counters() {
    let database = TestDatabase::create();
    database.execute(include_str!("../statistics/before.sql"));
    database.set_period("tag_counters", "total");
    database.set_period("site_counters", "total");
    let generated = database.generate(include_str!("../statistics/counters.toml"));
    generated.works();
    database
        .execute("DROP TRIGGER count_comments ON comments; DROP TRIGGER count_tags ON post_tags");
    database.migrate();
    let conn = &mut open(&database);
    let mut then = |statement: &str| {
        conn.run(statement);
        let wrong = number(include_str!("../statistics/wrong.sql"), conn);
        assert_eq!(wrong, 0, "{statement}");
    };
    then("SELECT 1");
    then("INSERT INTO comments VALUES (100, NULL, 1), (101, 2, 1), (102, 2, 12)");
    then("UPDATE post_scores SET score = 1 WHERE post_id < 7");
    then(
        "INSERT INTO post_scores SELECT 3, 1, -1 ON CONFLICT (post_id, user_id) DO UPDATE SET score = -1",
    );
    then("DELETE FROM post_tags WHERE tag_id = 2");
    then("DELETE FROM users WHERE id = 2");
    then("DELETE FROM posts WHERE id IN (1, 5, 12)");
    then("UPDATE posts SET file_size = 7, user_id = 1");
    then("DELETE FROM tags WHERE id = 3");
    then(
        "DELETE FROM pools WHERE id = 1; INSERT INTO pool_posts VALUES (2, 4), (3, 4) ON CONFLICT DO NOTHING",
    );
    then("INSERT INTO post_favorites SELECT 4, id FROM users ON CONFLICT DO NOTHING");
    then("DELETE FROM posts");
}

/// Triggers of a statement belong to the table that the statement names.
#[test]
fn rows_of_a_partition_are_counted_by_the_name_of_its_table() {
    let database = tables(true);
    database.execute(
        "DROP TABLE article_likes;
         CREATE TABLE article_likes (id BIGINT, article_id BIGINT) PARTITION BY HASH (id);
         CREATE TABLE likes_0 PARTITION OF article_likes FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
    );
    database.count(&count_likes(OF_ARTICLES));
    let conn = &mut open(&database);
    conn.run("INSERT INTO article_likes VALUES (1, 1), (2, 1)");
    conn.run("INSERT INTO likes_0 VALUES (3, 1)");
    assert_eq!(likes_of(1, conn), 2);
    database.run(&["recount"]);
    assert_eq!(likes_of(1, conn), 3);
}

/// The server passes wrong rows to triggers of a partitioned table after a MERGE.
#[test]
fn a_merge_into_a_partitioned_table_is_refused() {
    let database = tables(true);
    database.execute(
        "DROP TABLE article_likes;
         CREATE TABLE article_likes (id BIGINT PRIMARY KEY, article_id BIGINT) PARTITION BY RANGE (id);
         CREATE TABLE likes_0 PARTITION OF article_likes FOR VALUES FROM (0) TO (10);
         CREATE TABLE likes_1 PARTITION OF article_likes FOR VALUES FROM (10) TO (20)",
    );
    database.count(&count_likes(OF_ARTICLES));
    let conn = &mut open(&database);
    let merge = "MERGE INTO article_likes USING (VALUES (2, 2), (1, 2), (11, 2)) AS s (id, article)
        ON article_likes.id = s.id
        WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.article)
        WHEN MATCHED THEN UPDATE SET article_id = s.article";
    conn.run(
        "INSERT INTO article_likes VALUES (1, 1), (3, 1) ON CONFLICT (id) DO UPDATE SET article_id = 2;
         INSERT INTO article_likes VALUES (3, 2) ON CONFLICT (id) DO UPDATE SET article_id = 2;
         UPDATE article_likes SET id = 13 WHERE id = 3;
         WITH deleted AS (DELETE FROM article_likes WHERE id = 13 RETURNING *)
             INSERT INTO article_likes SELECT 14, article_id FROM deleted",
    );
    let refused = conn.batch_execute(merge).unwrap_err().to_string();
    let in_troubleshooting = "cannot execute MERGE on relation \"article_likes\"";
    assert_eq!(refused, in_troubleshooting);
    assert_eq!(likes([1, 2], conn), [1, 1]);
    conn.run("DROP RULE count_likes_no_merge ON article_likes");
    let faults = database.trigger_faults("article_counters");
    let what = "article_likes has no rule count_likes_no_merge.";
    assert_eq!(faults[0]["what"], what);
    database.mend(&faults[0]);
    assert_eq!(database.run(&["check", "article_counters"]).code, 0);
    conn.batch_execute(merge).unwrap_err();
    // Without triggers, it is good.
    database.revert();
    conn.run(merge);
}
