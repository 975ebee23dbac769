//! Errors of the server, and what the command says of them.

use diesel_counters::is_overflow;

use super::accounts::Account;
use crate::TestDatabase;
use crate::behaviour::triggers::{create_triggers, number, open, tables};
use crate::behaviour::{Execute, run_with, words};

/// 1690: a count that is lower than its rows would become negative.
#[test]
fn an_unsigned_count_below_0_is_an_overflow_that_a_recount_repairs() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE posts (id BIGINT PRIMARY KEY, likes BIGINT UNSIGNED NOT NULL DEFAULT 0);
         CREATE TABLE likes (id BIGINT PRIMARY KEY, post_id BIGINT);
         INSERT INTO posts (id) VALUES (1)",
    );
    let words = "count_likes --rows likes --count post_id:posts.likes";
    create_triggers(&database, words, &[]);
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
    let line =
        "generate triggers count_it --rows article_likes --count article_id:article_counters.likes";
    let ran = run_with(&words(line), Some(&account.url()));
    ran.works();
    let needs =
        "SELECT CAST(@@GLOBAL.log_bin AND NOT @@GLOBAL.log_bin_trust_function_creators AS SIGNED)";
    let is_told = ran.stderr.contains("1419");
    assert_eq!(
        i64::from(is_told),
        number(needs, &mut open(&database)),
        "{ran:?}"
    );
    let own = database.command(line);
    assert!(!own.stderr.contains("1419"), "{own:?}");
}
