//! MySQL and MariaDB.

use std::sync::OnceLock;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};

use crate::interleave::operation::Database;
use crate::tables::article_likes;

pub type Conn = MysqlConnection;

pub const IS_MYSQL: bool = true;
pub const IS_SQLITE: bool = false;
/// Drops the database of a run.
pub const DROP_DATABASE: &str = "DROP DATABASE {name}";
/// Run on each new connection.
pub const SETTINGS: &str = "";
/// The reference migration, which creates `article_counters`.
pub const REFERENCE: &str =
    include_str!("../../../migrations/mysql/00000000000001_create_article_counters/up.sql");
/// Creates triggers that count likes in slots, and in the column `articles.like_count`.
/// A query for the number of sessions that use this database, without the own one.
pub const OTHER_SESSIONS: &str = "SELECT COUNT(*) FROM information_schema.processlist
    WHERE db = DATABASE() AND id <> CONNECTION_ID()";
/// Run when the checker has emptied the tables. A server that is killed often does not do it by
/// itself.
pub const TIDY: &str =
    "ANALYZE TABLE articles, article_counters, comments, article_likes, counted, tickets";
/// The end of an `INSERT` into `article_counters` that adds to the row if it exists.
pub const ADD_ON_CONFLICT: &str = "ON DUPLICATE KEY UPDATE \
    views = views + VALUES(views), likes = likes + VALUES(likes), \
    comments = comments + VALUES(comments)";

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
    diesel::insert_or_ignore_into(article_likes::table)
        .values(like)
        .execute(conn)
}

/// What locked the table while the command recounted, before it took the library's lock. The
/// statements run before the transaction, at its beginning, and after it.
pub const TABLE_LOCK: [&str; 3] = [
    "DO GET_LOCK('soak.recount', 3600); SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "",
    "DO RELEASE_LOCK('soak.recount')",
];
/// The type of a BIGINT in `CAST`.
pub const INTEGER: &str = "SIGNED";
/// The literal of 1970-01-01.
pub const UNDATED: &str = "DATE '1970-01-01'";
/// How long a statement may take until the server is asked whether it waits. The question takes
/// longer than most statements. Only the time of a run depends on this.
pub const ASK_AFTER: Duration = Duration::from_micros(2_000);
/// Run when the enumerator has emptied the tables many times.
pub const VACUUM: &str = "";

pub fn database() -> Database {
    Database::Mysql
}

/// Only PostgreSQL inserts and counts in one statement: see `Operation::runs_on`.
pub fn counting(_: i64, _: &mut Conn) -> QueryResult<usize> {
    unreachable!("it is for PostgreSQL")
}

/// Makes the session count in the slot of this number.
pub fn slot_number(number: i64, conn: &mut Conn) -> QueryResult<()> {
    conn.batch_execute(&format!("SET @diesel_counters_number = {number}"))
}

/// The session, as the tables name it that `waiting` reads.
pub fn session_id(conn: &mut Conn) -> QueryResult<i64> {
    let id = if is_mariadb(conn)? {
        "CAST(CONNECTION_ID() AS SIGNED)"
    } else {
        "CAST(PS_CURRENT_THREAD_ID() AS SIGNED)"
    };
    diesel::select(sql::<BigInt>(id)).get_result(conn)
}

/// Whether the server is MariaDB. It is asked once, because a process uses one server.
fn is_mariadb(conn: &mut Conn) -> QueryResult<bool> {
    static IS_MARIADB: OnceLock<bool> = OnceLock::new();
    if let Some(is_mariadb) = IS_MARIADB.get() {
        return Ok(*is_mariadb);
    }
    let is_mariadb = diesel::select(sql::<Bool>("VERSION() LIKE '%MariaDB%'")).get_result(conn)?;
    Ok(*IS_MARIADB.get_or_init(|| is_mariadb))
}

/// The isolation level of a transaction that does not set one. MySQL runs the first comment, and
/// MariaDB the second one.
pub fn session_level(conn: &mut Conn) -> QueryResult<String> {
    let level = sql::<Text>("/*!80000 @@transaction_isolation */ /*M! @@tx_isolation */");
    diesel::select(level).get_result(conn)
}

/// The isolation levels, and what sets them on a session.
pub fn levels(conn: &mut Conn) -> QueryResult<Vec<(String, String)>> {
    let snapshot: &[&str] = if is_mariadb(conn)? {
        &["OFF", "ON"]
    } else {
        &[""]
    };
    let mut all = Vec::new();
    for snapshot in snapshot {
        for level in ["REPEATABLE READ", "READ COMMITTED", "SERIALIZABLE"] {
            let mut set = format!(
                "DO RELEASE_ALL_LOCKS(); SET SESSION innodb_lock_wait_timeout = 5; \
                 SET SESSION TRANSACTION ISOLATION LEVEL {level}"
            );
            let mut name = level.to_owned();
            if !snapshot.is_empty() {
                set += &format!("; SET SESSION innodb_snapshot_isolation = {snapshot}");
                name += &format!(", snapshot isolation {}", snapshot.to_lowercase());
            }
            all.push((name, set));
        }
    }
    Ok(all)
}

/// Which of these sessions wait for one of the others.
pub fn waiting(sessions: &[i64], conn: &mut Conn) -> QueryResult<Vec<bool>> {
    if is_mariadb(conn)? {
        return waiting_on_mariadb(sessions, conn);
    }
    let waiting = sql::<BigInt>(
        "CAST(COALESCE(requesting_thread_id, 0) AS SIGNED) FROM performance_schema.data_lock_waits
         UNION ALL SELECT CAST(COALESCE(owner_thread_id, 0) AS SIGNED)
         FROM performance_schema.metadata_locks
         WHERE lock_status = 'PENDING'",
    );
    let waiting: Vec<i64> = diesel::select(waiting).load(conn)?;
    Ok(sessions.iter().map(|one| waiting.contains(one)).collect())
}

/// The tables of MariaDB show who waits for a row, as it was up to 0.1 s ago. Its status shows how
/// many sessions wait now. If it is as many as these, each of them waits.
///
/// If other programs use the server, a session can be taken for one that waits when it does not.
/// Then another order is run, and what it leaves is compared.
fn waiting_on_mariadb(sessions: &[i64], conn: &mut Conn) -> QueryResult<Vec<bool>> {
    let both = sql::<(BigInt, BigInt)>(
        "0, CAST(variable_value AS SIGNED) FROM information_schema.global_status
         WHERE variable_name = 'INNODB_ROW_LOCK_CURRENT_WAITS'
         UNION ALL SELECT CAST(id AS SIGNED), 0 FROM information_schema.processlist
         WHERE state = 'User lock' OR state LIKE 'Waiting for table%'",
    );
    let both: Vec<(i64, i64)> = diesel::select(both).load(conn)?;
    let rows: i64 = both.iter().map(|(_, rows)| rows).sum();
    let named: Vec<i64> = both.iter().map(|(id, _)| *id).collect();
    let others = sessions.iter().filter(|one| !named.contains(one)).count();
    let all_wait = rows >= others as i64;
    Ok(sessions
        .iter()
        .map(|one| all_wait || named.contains(one))
        .collect())
}

// Compiled for this type of connection: see `on.rs`.
#[path = "on.rs"]
pub mod on;
