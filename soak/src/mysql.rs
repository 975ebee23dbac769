//! MySQL and MariaDB.

use diesel::prelude::*;

use crate::tables::article_likes;

pub type Conn = MysqlConnection;

pub const IS_MYSQL: bool = true;
pub const IS_SQLITE: bool = false;
pub const SETTINGS: &str = "";
pub const REFERENCE: &str =
    include_str!("../../migrations/mysql/00000000000001_create_article_counters/up.sql");
pub const TRIGGERS: &str =
    include_str!("../../migrations/triggers/mysql/00000000000002_count_article_likes/up.sql");
pub const DROP_FOREIGN_KEYS: &str = "
    ALTER TABLE article_counters DROP FOREIGN KEY article_counters_ibfk_1;
    ALTER TABLE comments DROP FOREIGN KEY comments_ibfk_1;
    ALTER TABLE article_likes DROP FOREIGN KEY article_likes_ibfk_1";
pub const OTHER_SESSIONS: &str = "SELECT COUNT(*) FROM information_schema.processlist
    WHERE db = DATABASE() AND id <> CONNECTION_ID()";
/// Run on emptied tables. A server that is killed often never does it by itself.
pub const TIDY: &str = "ANALYZE TABLE articles, article_counters, comments, article_likes, counted";
pub const ADD_ON_CONFLICT: &str = "ON DUPLICATE KEY UPDATE \
    views = views + VALUES(views), comments = comments + VALUES(comments)";

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
    diesel::insert_or_ignore_into(article_likes::table)
        .values(like)
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
