//! Running a transaction again if it conflicts with other transactions.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use backon::{BackoffBuilder, BlockingRetryable, ExponentialBuilder};
use diesel::connection::Connection;
use diesel::result::Error;

use crate::error::is_retryable;
use crate::sql::transaction::is_in_a_transaction;

/// Runs a whole transaction again if it fails with an error that [`is_retryable`].
///
/// ```
/// # include!("doctest_setup.rs");
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
/// happen once for each attempt: do not send an email in it.
///
/// It never retries inside a transaction that is open already, such as Diesel's test transaction.
/// It then runs the closure once and returns the error, because only the code that began the
/// transaction can run all of it again.
pub fn retry() -> Retry<'static, Error> {
    retry_if(is_retryable)
}

/// As [`retry()`], for the errors for which `is_retryable` returns `true`: for an error type of the
/// application, or for more errors, as in `retry_if(|error| is_retryable(error) ||
/// is_taken(error))`.
pub fn retry_if<'a, E>(is_retryable: impl FnMut(&E) -> bool + Send + 'a) -> Retry<'a, E> {
    Retry {
        is_retryable: Box::new(is_retryable),
        on_retry: Box::new(|_, _| {}),
        attempts: 5,
        delay: Duration::from_millis(5)..=Duration::from_millis(500),
    }
}

/// How to run a transaction again; made by [`retry()`] and [`retry_if`].
#[must_use = "it runs nothing until `transaction` or `run` is called"]
pub struct Retry<'a, E> {
    is_retryable: Box<dyn FnMut(&E) -> bool + Send + 'a>,
    on_retry: OnRetry<'a, E>,
    attempts: usize,
    delay: RangeInclusive<Duration>,
}

type OnRetry<'a, E> = Box<dyn FnMut(&E, usize) + Send + 'a>;

impl<'a, E> Retry<'a, E> {
    /// Sets how often the transaction is run at most, the first attempt included. Defaults to 5.
    /// It is always run once.
    pub fn attempts(self, attempts: usize) -> Self {
        Retry { attempts, ..self }
    }

    /// Sets the shortest and the longest delay before another attempt. Defaults to 5 to 500
    /// milliseconds. The delay begins near the shortest, doubles at each attempt, and has a random
    /// part, so that transactions that have failed together do not meet again. If the shortest is
    /// zero, all delays are zero.
    pub fn delay(self, delay: RangeInclusive<Duration>) -> Self {
        Retry { delay, ..self }
    }

    /// Sets a function to call before each delay, for example to log or to count. It takes the
    /// error, and the number of attempts that have failed, from 1. The error that ends the last
    /// attempt is only returned.
    pub fn on_retry(self, on_retry: impl FnMut(&E, usize) + Send + 'a) -> Self {
        let on_retry = Box::new(on_retry);
        Retry { on_retry, ..self }
    }

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
    pub fn run<Conn, T>(
        mut self,
        conn: &mut Conn,
        mut work: impl FnMut(&mut Conn) -> Result<T, E>,
    ) -> Result<T, E>
    where
        Conn: Connection,
    {
        let mut failed = 0;
        let attempt = || {
            work(conn).map_err(|error| {
                // A transaction that is still open is not this attempt's own. On a broken
                // connection, this returns an error.
                let has_ended = is_in_a_transaction(conn) == Ok(false);
                let is_retryable = has_ended && (self.is_retryable)(&error);
                (error, is_retryable)
            })
        };
        attempt
            .retry(delays(self.attempts, self.delay))
            .when(|(_, is_retryable)| *is_retryable)
            .notify(|(error, _), _| {
                failed += 1;
                (self.on_retry)(error, failed);
            })
            .call()
            .map_err(|(error, _)| error)
    }
}

/// Returns the delay before each attempt but the first.
fn delays(
    attempts: usize,
    delay: RangeInclusive<Duration>,
) -> impl Iterator<Item = Duration> + Send + Sync + Unpin {
    let (shortest, longest) = delay.into_inner();
    ExponentialBuilder::new()
        .with_min_delay(shortest)
        // The jitter at most doubles it.
        .with_max_delay(shortest.max(longest / 2))
        .with_jitter()
        .with_max_times(attempts.saturating_sub(1))
        .build()
        .map(move |delay| delay.min(longest))
}

impl<E> fmt::Debug for Retry<'_, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("attempts", &self.attempts)
            .field("delay", &self.delay)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_within_their_range_and_differ() {
        let [shortest, longest] = [5, 100].map(Duration::from_millis);
        let of_one = || delays(20, shortest..=longest).collect::<Vec<_>>();
        let delays = of_one();
        assert_eq!(delays.len(), 19);
        assert!(delays.iter().all(|d| (shortest..=longest).contains(d)));
        assert!(delays[0] < shortest * 2 && delays[18] >= longest / 2);
        assert_ne!(delays, of_one());
    }

    #[test]
    fn one_delay_can_be_set() {
        let second = Duration::from_secs(1);
        let one = retry().delay(second..=second).delay;
        assert_eq!(delays(3, one).collect::<Vec<_>>(), [second; 2]);
        let from_zero: Vec<_> = delays(3, Duration::ZERO..=second).collect();
        assert_eq!(from_zero, [Duration::ZERO; 2]);
    }
}
