//! The number that a session claims.

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Integer, Text};
use diesel_counters::dsl::claim_slot;
use diesel_counters::prelude::*;
use diesel_counters_tests::schema::article_counters::{self, likes, slot, views};

use crate::{TestDatabase, has_claimed};

/// The server keeps 1,023 bytes of a statement. The names of the counters are the last ones.
#[test]
fn pg_stat_activity_shows_an_increment_as_a_whole() {
    let (conn, database, article) = &mut TestDatabase::with_connection();
    let pid = diesel::select(sql::<Integer>("pg_backend_pid()"));
    let pid: i32 = pid.get_result(conn).unwrap();
    article.incr_counter((views, likes), conn).unwrap();
    let query = format!("(SELECT query FROM pg_stat_activity WHERE pid = {pid})");
    let query = diesel::select(sql::<Text>(&query));
    let query: String = query.get_result(&mut database.connect()).unwrap();
    let end = r#""likes" = counters."likes" + excluded."likes""#;
    assert!(query.ends_with(end), "{query}");
}

#[test]
fn a_session_that_was_discarded_claims_a_number_again() {
    let (conn, _database, _article) = &mut TestDatabase::with_connection();
    claim_slot().execute(conn).unwrap();
    for (discard, keeps_locks) in [("DISCARD ALL", false), ("RESET ALL", true)] {
        conn.batch_execute(discard).unwrap();
        assert_eq!(has_claimed(conn), keeps_locks);
        claim_slot().execute(conn).unwrap();
        assert!(has_claimed(conn));
    }
}

/// Its setting is rolled back, and its lock is not.
#[test]
fn a_claim_that_is_rolled_back_is_no_other_sessions() {
    let (conn, database, _article) = &mut TestDatabase::with_connection();
    conn.batch_execute("BEGIN; SAVEPOINT one").unwrap();
    increment(views).of(1_i64).execute(conn).unwrap();
    conn.batch_execute("ROLLBACK TO one").unwrap();
    let other = &mut database.connect();
    increment(views).of(1_i64).execute(other).unwrap();
    increment(views).of(1_i64).execute(conn).unwrap();
    conn.batch_execute("COMMIT").unwrap();
    let used = article_counters::table.select(slot).order(slot);
    assert_eq!(used.load(conn), Ok(vec![1_i16, 2]));
    let own = article_counters::table.filter(slot.eq(1)).select(views);
    assert_eq!(own.get_result(other), Ok(1));
}

#[test]
fn the_statement_in_the_readme_is_the_one_that_is_sent() {
    let increment = increment(article_counters::comments).of(1_i64);
    let sent = diesel::debug_query::<diesel::pg::Pg, _>(&increment).to_string();
    let (sent, _) = sent.split_once(" -- binds").unwrap();
    let readme = include_str!("../../README.md").split("```sql\n");
    let mut statements = readme.filter_map(|block| block.split_once("\n```"));
    let without_spaces = |sql: &str| sql.split_whitespace().collect::<String>();
    let is_shown = statements.any(|(sql, _)| without_spaces(sql) == without_spaces(sent));
    assert!(is_shown, "{sent}");
}
