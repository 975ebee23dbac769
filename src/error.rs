//! What an error means for the program that gets it.

use diesel::result::DatabaseErrorKind::{SerializationFailure, Unknown};
use diesel::result::Error;

/// Returns whether the same transaction may succeed when it is run again.
///
/// True for what other transactions cause: deadlocks, serialization failures, lock wait
/// timeouts, and a busy SQLite database. The whole transaction has to be run again, by the
/// code that began it.
///
/// ```
/// # include!("doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let article: Article = articles::table.find(1).first(conn)?;
/// use diesel_counters::is_retryable;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// let mut attempts = 0;
/// loop {
///     let result = conn.immediate_transaction(|conn| article.incr_counter(views, conn));
///     attempts += 1;
///     match result {
///         Err(error) if is_retryable(&error) && attempts < 5 => continue,
///         result => break result,
///     }
/// }
/// # }
/// ```
///
/// Diesel tells only some of these errors apart, so the others are recognized by their
/// text. PostgreSQL translates its texts: a server whose `lc_messages` is not English
/// needs `SET lc_messages = 'C'` on each connection.
pub fn is_retryable(error: &Error) -> bool {
    match error {
        Error::DatabaseError(SerializationFailure, _) => true,
        Error::DatabaseError(Unknown, info) => has_one_of(info.message(), RETRYABLE),
        _ => false,
    }
}

/// Returns whether a count, or a sum of counts, left the range of an `i64`.
///
/// Each such error is an [`Error::DatabaseError`], on all databases. The statement that failed
/// changed nothing.
///
/// ```
/// # include!("doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let article: Article = articles::table.find(1).first(conn)?;
/// use diesel_counters::is_overflow;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// article.incr_counter_by(views, i64::MAX, conn)?;
/// let error = article.incr_counter(views, conn).unwrap_err();
/// assert!(is_overflow(&error));
/// # Ok(())
/// # }
/// ```
///
/// It is recognized by its text, so a PostgreSQL server whose `lc_messages` is not English
/// needs `SET lc_messages = 'C'` on each connection.
pub fn is_overflow(error: &Error) -> bool {
    match error {
        Error::DatabaseError(Unknown, info) => has_one_of(info.message(), OVERFLOWS),
        _ => false,
    }
}

/// The error of a sum that is added up here rather than in the database.
pub(crate) fn overflow() -> Error {
    Error::DatabaseError(Unknown, Box::new(OVERFLOW.to_owned()))
}

const OVERFLOW: &str = "a count is out of the range of an i64";

const OVERFLOWS: &[&str] = &[
    OVERFLOW,
    "bigint out of range",          // PostgreSQL
    "BIGINT value is out of range", // MySQL, MariaDB
    "integer overflow",             // SQLite
];

const RETRYABLE: &[&str] = &[
    // PostgreSQL: 40P01, 55P03
    "deadlock detected",
    "canceling statement due to lock timeout",
    "could not obtain lock on",
    // MySQL and MariaDB: 1213 of a COMMIT, 1205, 3572, 1020, and Galera's
    "Deadlock found when trying to get lock",
    "Lock wait timeout exceeded",
    "NOWAIT is set",
    "Record has changed since last read",
    "WSREP detected deadlock/conflict",
    // SQLite: SQLITE_BUSY, SQLITE_LOCKED
    "database is locked",
    "database table is locked",
    "database schema is locked",
];

fn has_one_of(message: &str, texts: &[&str]) -> bool {
    texts.iter().any(|text| message.contains(text))
}
