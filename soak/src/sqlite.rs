//! SQLite.

use std::time::Duration;

use diesel::prelude::*;

use crate::interleave::operation::Database;
use crate::tables::article_likes;

pub type Conn = SqliteConnection;

pub const IS_MYSQL: bool = false;
pub const IS_SQLITE: bool = true;
/// Drops the database of a run.
pub const DROP_DATABASE: &str = "";
pub const SETTINGS: &str = "PRAGMA busy_timeout = 60000; PRAGMA journal_mode = WAL; \
    PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON;";
pub const REFERENCE: &str =
    include_str!("../../migrations/sqlite/00000000000001_create_article_counters/up.sql");
pub const TRIGGERS: &str = include_str!("../triggers/sqlite/count_article_likes/up.sql");
pub const NODE_TRIGGERS: &str =
    include_str!("../../migrations/triggers/sqlite/00000000000002_count_article_likes/up.sql");
pub const DROP_FOREIGN_KEYS: &str = "";
pub const OTHER_SESSIONS: &str = "SELECT 0";
/// Run on emptied tables.
pub const TIDY: &str = "PRAGMA optimize";
pub const ADD_ON_CONFLICT: &str = "ON CONFLICT (article_id, day, slot) DO UPDATE SET \
    views = article_counters.views + excluded.views, \
    likes = article_counters.likes + excluded.likes, \
    comments = article_counters.comments + excluded.comments";

pub fn write<T, E: From<diesel::result::Error>>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> Result<T, E>,
) -> Result<T, E> {
    conn.immediate_transaction(work)
}

/// Inserts a like that does not exist. Returns the number of rows that were inserted.
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

/// The lock under which the command recounted: before its transaction, in it, and after it.
pub const TABLE_LOCK: [&str; 3] = ["", "DELETE FROM article_counters WHERE 0", ""];
/// SQL types and literals.
pub const INTEGER: &str = "BIGINT";
pub const UNDATED: &str = "'1970-01-01'";
/// How long a statement may take until the server is asked whether it waits, which takes longer
/// than most statements. Nothing depends on it but the time of a run.
pub const ASK_AFTER: Duration = Duration::from_micros(500);
/// Removes what emptying the tables has left.
pub const VACUUM: &str = "";

pub fn database() -> Database {
    Database::Sqlite
}

pub fn counting(_: i64, _: &mut Conn) -> QueryResult<usize> {
    unreachable!("it is for PostgreSQL")
}

/// There is one slot.
pub fn slot_number(_: i64, _: &mut Conn) -> QueryResult<()> {
    Ok(())
}

/// The session, as `waiting` takes it.
pub fn session_id(_: &mut Conn) -> QueryResult<i64> {
    Ok(0)
}

/// The isolation levels, and what sets them on a session. A statement that would wait for another
/// writer fails at once.
pub fn levels(_: &mut Conn) -> QueryResult<Vec<(String, String)>> {
    let set = "PRAGMA busy_timeout = 0; PRAGMA synchronous = OFF; PRAGMA foreign_keys = ON; \
        PRAGMA recursive_triggers = ON";
    Ok(vec![("SERIALIZABLE".to_owned(), set.to_owned())])
}

/// Which of these sessions wait: none, see `levels`.
pub fn waiting(sessions: &[i64], _: &mut Conn) -> QueryResult<Vec<bool>> {
    Ok(vec![false; sessions.len()])
}

#[path = "on.rs"]
pub mod on;
