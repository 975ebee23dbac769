//! Errors of the server, and what the command says of them.

use diesel::connection::SimpleConnection;
use diesel_counters::is_overflow;

use super::accounts::Account;
use crate::TestDatabase;
use crate::behaviour::project::trigger;
use crate::behaviour::triggers::{OF_ARTICLES, count_likes, number, open, tables};
use crate::behaviour::{Execute, words};

/// 1690: a count that is lower than its rows would become negative.
#[test]
fn an_unsigned_count_below_0_is_an_overflow_that_a_recount_repairs() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT UNSIGNED NOT NULL DEFAULT 0);
         CREATE TABLE likes (id BIGINT PRIMARY KEY, post_id BIGINT);
         INSERT INTO posts (id) VALUES (1)",
    );
    let count = "count = ['post_id:posts.likes']";
    database.count(&trigger("count_likes", "likes", count));
    let conn = &mut open(&database);
    conn.run("INSERT INTO likes VALUES (1, 1), (2, 1); UPDATE posts SET likes = 0");
    let delete = "DELETE FROM likes WHERE id = 1";
    let error = diesel::RunQueryDsl::execute(diesel::sql_query(delete), conn).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("BIGINT UNSIGNED value is out of range"),
        "{error}"
    );
    assert!(is_overflow(&error));
    database.command("recount").prints("1 count corrected");
    conn.run(delete);
    assert_eq!(number("SELECT CAST(likes AS SIGNED) FROM posts", conn), 1);
}

/// 1419, before the migration is run.
#[test]
fn an_account_that_cannot_create_triggers_is_told() {
    let database = tables(true);
    let account = Account::create(&database, "ALL");
    let own = database.printed(&count_likes(OF_ARTICLES));
    own.works();
    assert!(!own.stderr.contains("1419"), "{own:?}");
    let ran = database.run_as(&account.url(), &words("generate triggers --json"));
    ran.works();
    let needs =
        "SELECT CAST(@@GLOBAL.log_bin AND NOT @@GLOBAL.log_bin_trust_function_creators AS SIGNED)";
    let is_told = ran.stderr.contains("1419");
    assert_eq!(
        i64::from(is_told),
        number(needs, &mut open(&database)),
        "{ran:?}"
    );
}

/// 1442: the rows' trigger updates `articles`, which the statement reads. MySQL 9.7 died with
/// signal 11 when the connection then ran a trigger with `SET @x = (SELECT … FOR UPDATE)`.
#[test]
fn a_server_survives_what_follows_a_statement_that_reads_the_counted_table() {
    for next in [
        "INSERT INTO article_likes (id, article_id) VALUES (7, 1)",
        "UPDATE article_likes SET article_id = 2 WHERE id = 1",
        "DELETE FROM article_likes WHERE id = 1",
        "REPLACE INTO article_likes (id, article_id) VALUES (1, 2)",
    ] {
        let database = tables(true);
        database.execute("ALTER TABLE articles ADD COLUMN like_count BIGINT NOT NULL DEFAULT 0");
        // A count in slots, too: then a trigger before the event locks the article.
        let counts =
            "count = ['article_id:article_counters.likes', 'article_id:articles.like_count']";
        database.count(&count_likes(counts));
        database.execute("INSERT INTO article_likes (id, article_id) VALUES (1, 1), (2, 1)");
        for reads in [
            "INSERT INTO article_likes (id, article_id) SELECT 10 + id, id FROM articles",
            "UPDATE article_likes JOIN articles ON articles.id = article_id SET article_id = 2",
            "DELETE article_likes FROM article_likes JOIN articles ON articles.id = article_id",
        ] {
            // Its first statement is the one that fails.
            let conn = &mut open(&database);
            let refused = conn.batch_execute(reads).unwrap_err().to_string();
            assert!(
                refused.contains("Can't update table 'articles'"),
                "{refused}"
            );
            conn.run(&format!("START TRANSACTION; {next}; ROLLBACK"));
        }
        database.execute(next);
        database.assert_agrees();
    }
}
