//! Running a transaction again if it conflicts with other transactions.

use std::thread;
use std::time::Duration;

use diesel::connection::Connection;
use diesel::result::Error;

use crate::error::is_retryable;
use crate::sql::transaction::is_in_a_transaction;

/// Runs a whole transaction again if it fails with an error that [`is_retryable`]: up to five times in
/// all. The delay before each further attempt is random, so that transactions that have failed together
/// do not meet again: 5 to 10 milliseconds before the second, and up to 80 before the last.
///
/// ```
/// # include!("../docs/doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let article: Article = articles::table.find(1).first(conn)?;
/// use diesel_counters::prelude::*;
/// use diesel_counters::retry;
/// use schema::article_counters::views;
///
/// retry().transaction(conn, |conn| article.incr_counter(views, conn))?;
///
/// // A transaction that counts on SQLite.
/// retry().run(conn, |conn| {
///     conn.immediate_transaction(|conn| article.incr_counter(views, conn))
/// })?;
/// # Ok(())
/// # }
/// ```
///
/// A failed attempt is rolled back, so what it counted is not counted. Other effects of the closure
/// happen once for each attempt: do not send an email in it. In a transaction that is open already, such
/// as Diesel's test transaction, it runs the closure once, because only the code that began it can run
/// all of it again.
///
/// MariaDB's client library waits forever if a cached query that locks rows, such as one with
/// `for_update`, has failed and is run again. Turn the cache off on such connections, with
/// [`set_prepared_statement_cache_size`](Connection::set_prepared_statement_cache_size).
pub fn retry() -> Retry<'static, Error> {
    retry_if(is_retryable)
}

/// As [`retry()`], for the errors for which `is_retryable` returns `true`: for an error type of the
/// application, for more errors, or with a limit of the time or of the attempts. It is called with the
/// error of each attempt but the fifth, so it can also log them.
pub fn retry_if<'a, E>(is_retryable: impl FnMut(&E) -> bool + Send + 'a) -> Retry<'a, E> {
    Retry(Box::new(is_retryable))
}

/// Runs a transaction again; made by [`retry()`] and [`retry_if`].
#[must_use = "it runs nothing until `transaction` or `run` is called"]
pub struct Retry<'a, E>(Box<dyn FnMut(&E) -> bool + Send + 'a>);

const ATTEMPTS: u32 = 5;

impl<E> Retry<'_, E> {
    /// Runs [`conn.transaction(work)`](Connection::transaction), and runs it again if it fails with
    /// an error to retry. Returns what the last attempt returned.
    pub fn transaction<Conn, T>(
        self,
        conn: &mut Conn,
        mut work: impl FnMut(&mut Conn) -> Result<T, E>,
    ) -> Result<T, E>
    where
        Conn: Connection,
        E: From<Error>,
    {
        self.run(conn, |conn| conn.transaction(&mut work))
    }

    /// As [`transaction`](Retry::transaction), for `work` that begins its transaction itself, such as
    /// an `immediate_transaction` on SQLite, or that is one statement.
    pub fn run<Conn: Connection, T>(
        mut self,
        conn: &mut Conn,
        mut work: impl FnMut(&mut Conn) -> Result<T, E>,
    ) -> Result<T, E> {
        for failed in 0..ATTEMPTS - 1 {
            match work(conn) {
                // An open transaction is not this attempt's own. On a broken connection, this is an error.
                Err(error) if is_in_a_transaction(conn) == Ok(false) && (self.0)(&error) => {}
                result => return result,
            }
            let shortest = 5 << failed;
            let delay = rand::random_range(shortest..=2 * shortest);
            thread::sleep(Duration::from_millis(delay));
        }
        work(conn)
    }
}

opaque_debug!(Retry<'a, E>);
