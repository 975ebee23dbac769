//! SQLite.

use diesel::prelude::*;

use crate::tables::article_likes;

pub type Conn = SqliteConnection;

pub const IS_MYSQL: bool = false;
pub const IS_SQLITE: bool = true;
pub const SETTINGS: &str = "PRAGMA busy_timeout = 60000; PRAGMA journal_mode = WAL; \
    PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON;";
pub const REFERENCE: &str =
    include_str!("../../migrations/sqlite/00000000000001_create_article_counters/up.sql");
pub const TRIGGERS: &str =
    include_str!("../../migrations/triggers/sqlite/00000000000002_count_article_likes/up.sql");
pub const DROP_FOREIGN_KEYS: &str = "";
pub const OTHER_SESSIONS: &str = "SELECT 0";
/// Run on emptied tables.
pub const TIDY: &str = "PRAGMA optimize";
pub const ADD_ON_CONFLICT: &str = "ON CONFLICT (article_id, day, slot) DO UPDATE SET \
    views = article_counters.views + excluded.views, \
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

#[path = "attempt.rs"]
mod attempt;
#[path = "audit.rs"]
mod audit;
#[path = "planted.rs"]
mod planted;
#[path = "reads.rs"]
mod reads;
#[path = "soak.rs"]
pub mod soak;
#[path = "thread.rs"]
mod thread;
