//! PostgreSQL.

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};
use diesel_counters::prelude::*;

use crate::interleave::operation::Database;
use crate::tables::{article_counters, article_likes, comments, today};

pub type Conn = PgConnection;

pub const IS_MYSQL: bool = false;
pub const IS_SQLITE: bool = false;
/// Drops the database of a run, and ends its sessions: the last connections of threads can still be
/// open.
pub const DROP_DATABASE: &str = "DROP DATABASE {name} WITH (FORCE)";
/// Run on each new connection.
pub const SETTINGS: &str = "";
/// The reference migration, which creates `article_counters`.
pub const REFERENCE: &str =
    include_str!("../../../migrations/postgres/00000000000001_create_article_counters/up.sql");
/// Creates triggers that count likes in slots, and in the column `articles.like_count`.
/// A query for the number of sessions that use this database, without the own one.
pub const OTHER_SESSIONS: &str = "SELECT COUNT(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
    AND pid <> pg_backend_pid()";
/// Run when the checker has emptied the tables. A server that is killed often does not do it by
/// itself.
pub const TIDY: &str = "VACUUM (ANALYZE)";
/// The end of an `INSERT` into `article_counters` that adds to the row if it exists.
pub const ADD_ON_CONFLICT: &str = "ON CONFLICT (article_id, day, slot) DO UPDATE SET \
    views = article_counters.views + excluded.views, \
    likes = article_counters.likes + excluded.likes, \
    comments = article_counters.comments + excluded.comments";

/// Runs a transaction that writes.
pub fn write<T, E: From<diesel::result::Error>>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> Result<T, E>,
) -> Result<T, E> {
    conn.transaction(work)
}

/// Inserts a like, unless it exists. Returns the number of rows that were inserted.
pub fn like(article: i64, user: i64, conn: &mut Conn) -> QueryResult<usize> {
    let like = (
        article_likes::article_id.eq(article),
        article_likes::user_id.eq(user),
    );
    diesel::insert_into(article_likes::table)
        .values(like)
        .on_conflict_do_nothing()
        .execute(conn)
}

/// What locked the table while the command recounted, before it took the library's lock. The
/// statements run before the transaction, at its beginning, and after it.
pub const TABLE_LOCK: [&str; 3] = [
    "",
    "LOCK TABLE article_counters IN SHARE UPDATE EXCLUSIVE MODE",
    "",
];
/// The type of a BIGINT in `CAST`.
pub const INTEGER: &str = "BIGINT";
/// The literal of 1970-01-01.
pub const UNDATED: &str = "DATE '1970-01-01'";
/// How long a statement may take until the server is asked whether it waits. The question takes
/// longer than most statements. Only the time of a run depends on this.
pub const ASK_AFTER: Duration = Duration::from_micros(500);
/// Run when the enumerator has emptied the tables many times.
pub const VACUUM: &str = "VACUUM articles, article_counters, comments, article_likes";

pub fn database() -> Database {
    Database::Postgres
}

/// Inserts a comment of article 1, and counts it in the same statement.
pub fn counting(id: i64, conn: &mut Conn) -> QueryResult<usize> {
    let comment = (
        comments::id.eq(id),
        comments::article_id.eq(1_i64),
        comments::day.eq(today()),
    );
    diesel::insert_into(comments::table)
        .values(comment)
        .counting(increment(article_counters::comments).of(1_i64))
        .execute(conn)
}

/// Makes the session count in the slot of this number.
pub fn slot_number(number: i64, conn: &mut Conn) -> QueryResult<()> {
    conn.batch_execute(&format!("SET diesel_counters.number = '{number}'"))
}

/// The session, as [`waiting`] takes it.
pub fn session_id(conn: &mut Conn) -> QueryResult<i64> {
    diesel::select(sql::<BigInt>("CAST(pg_backend_pid() AS BIGINT)")).get_result(conn)
}

/// The isolation level of a transaction that does not set one.
pub fn session_level(conn: &mut Conn) -> QueryResult<String> {
    let level = sql::<Text>("current_setting('default_transaction_isolation')");
    diesel::select(level).get_result(conn)
}

/// The isolation levels, and what sets them on a session.
pub fn levels(_: &mut Conn) -> QueryResult<Vec<(String, String)>> {
    let levels = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"].into_iter();
    let set = |level: &str| {
        let set = format!(
            "SET deadlock_timeout = '1ms'; SET synchronous_commit = off; \
             SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL {level}"
        );
        (level.to_owned(), set)
    };
    Ok(levels.map(set).collect())
}

/// Which of these sessions wait for one of the others.
pub fn waiting(sessions: &[i64], conn: &mut Conn) -> QueryResult<Vec<bool>> {
    let list: Vec<_> = sessions.iter().map(i64::to_string).collect();
    let query = format!(
        "unnest(ARRAY(SELECT cardinality(pg_blocking_pids(pid)) > 0 \
         FROM unnest(ARRAY[{}]) WITH ORDINALITY AS all_pids (pid, n) ORDER BY n))",
        list.join(",")
    );
    diesel::select(sql::<Bool>(&query)).load(conn)
}

// Compiled for this type of connection: see `on.rs`.
#[path = "on.rs"]
pub mod on;
