//! PostgreSQL.

use diesel::prelude::*;

use crate::tables::article_likes;

pub type Conn = PgConnection;

pub const IS_MYSQL: bool = false;
pub const IS_SQLITE: bool = false;
pub const SETTINGS: &str = "";
pub const REFERENCE: &str =
    include_str!("../../migrations/postgres/00000000000001_create_article_counters/up.sql");
pub const TRIGGERS: &str =
    include_str!("../../migrations/triggers/postgres/00000000000002_count_article_likes/up.sql");
pub const DROP_FOREIGN_KEYS: &str = "
    ALTER TABLE article_counters DROP CONSTRAINT article_counters_article_id_fkey;
    ALTER TABLE comments DROP CONSTRAINT comments_article_id_fkey;
    ALTER TABLE article_likes DROP CONSTRAINT article_likes_article_id_fkey";
pub const OTHER_SESSIONS: &str = "SELECT COUNT(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend'
    AND pid <> pg_backend_pid()";
/// Run on emptied tables. A server that is killed often never does it by itself.
pub const TIDY: &str = "VACUUM (ANALYZE)";
pub const ADD_ON_CONFLICT: &str = "ON CONFLICT (article_id, day, slot) DO UPDATE SET \
    views = article_counters.views + excluded.views, \
    comments = article_counters.comments + excluded.comments";

pub fn write<T, E: From<diesel::result::Error>>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> Result<T, E>,
) -> Result<T, E> {
    conn.transaction(work)
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
