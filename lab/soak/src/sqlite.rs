//! SQLite.

use std::time::Duration;

use diesel::prelude::*;

use crate::interleave::operation::Database;
use crate::tables::article_likes;

pub type Conn = SqliteConnection;

pub const IS_MYSQL: bool = false;
pub const IS_SQLITE: bool = true;
/// Is not used: the database of a run is a file, which stays.
pub const DROP_DATABASE: &str = "";
/// Run on each new connection.
pub const SETTINGS: &str = "PRAGMA busy_timeout = 60000; PRAGMA journal_mode = WAL; \
    PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON;";
/// The reference migration, which creates `article_counters`.
pub const REFERENCE: &str =
    include_str!("../../../migrations/sqlite/00000000000001_create_article_counters/up.sql");
/// Creates triggers that count likes in slots, and in the column `articles.like_count`.
/// A query for the number of sessions that use this database, without the own one.
pub const OTHER_SESSIONS: &str = "SELECT 0";
/// Run when the checker has emptied the tables.
pub const TIDY: &str = "PRAGMA optimize";
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
    conn.immediate_transaction(work)
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
pub const TABLE_LOCK: [&str; 3] = ["", "DELETE FROM article_counters WHERE 0", ""];
/// The type of a BIGINT in `CAST`.
pub const INTEGER: &str = "BIGINT";
/// The literal of 1970-01-01.
pub const UNDATED: &str = "'1970-01-01'";
/// How long a statement may take until [`waiting`] is called, which asks nobody here. Only the time
/// of a run depends on this.
pub const ASK_AFTER: Duration = Duration::from_micros(500);
/// Run when the enumerator has emptied the tables many times: nothing.
pub const VACUUM: &str = "";

pub fn database() -> Database {
    Database::Sqlite
}

/// Only PostgreSQL inserts and counts in one statement: see `Operation::runs_on`.
pub fn counting(_: i64, _: &mut Conn) -> QueryResult<usize> {
    unreachable!("it is for PostgreSQL")
}

/// Makes the session count in the slot of this number: there is only one.
pub fn slot_number(_: i64, _: &mut Conn) -> QueryResult<()> {
    Ok(())
}

/// The session, as `waiting` takes it.
pub fn session_id(_: &mut Conn) -> QueryResult<i64> {
    Ok(0)
}

/// The isolation level of a transaction that does not set one.
pub fn session_level(_: &mut Conn) -> QueryResult<String> {
    Ok("SERIALIZABLE".to_owned())
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

// Compiled for this type of connection: see `on.rs`.
#[path = "on.rs"]
pub mod on;
