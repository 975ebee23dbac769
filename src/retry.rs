//! Running a transaction again after a conflict with another one.

use std::thread;
use std::time::Duration;

use diesel::connection::Connection;
use diesel::result::Error;

use crate::error::{is_retryable, is_rolled_back};
use crate::sql::transaction::{TransactionError, is_in_a_transaction};

/// Runs a whole transaction again if it fails with an error that [`is_retryable`]. It makes up to
/// five attempts, or as many as you set with [`attempts`](Retry::attempts). Before every further
/// attempt it waits for a random time, so that transactions that failed together don't meet again:
/// 5 to 10 milliseconds before the second attempt, twice as long before each further one, and never
/// longer than 640.
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
/// A failed attempt is rolled back together with what it counted, unless its COMMIT had an unknown
/// result: see [`transaction`](Retry::transaction). Everything else in your closure happens again
/// with every attempt, so don't send an email in it, for example. If a transaction is already open,
/// such as Diesel's test transaction, the closure runs only once, because only the code that began
/// the transaction can run all of it again.
///
/// MariaDB's client library hangs if a cached query that locks rows, for example one with
/// `for_update`, has failed and is run again. If you run such queries, turn the cache off on these
/// connections with
/// [`set_prepared_statement_cache_size`](Connection::set_prepared_statement_cache_size).
pub fn retry() -> Retry<'static, Error> {
    retry_if(is_retryable)
}

/// Like [`retry()`], but runs the transaction again after the errors for which `is_retryable`
/// returns `true`. Use it for an error type of your own, to retry after more errors, or to stop
/// after some time.
///
/// ```
/// # include!("../docs/doctest_setup.rs");
/// use diesel_counters::{is_retryable, retry_if};
///
/// enum AppError {
///     SoldOut,
///     Database(diesel::result::Error),
/// }
/// # impl From<diesel::result::Error> for AppError {
/// #     fn from(error: diesel::result::Error) -> Self {
/// #         AppError::Database(error)
/// #     }
/// # }
/// # fn buy(_: &mut SqliteConnection) -> Result<(), AppError> {
/// #     Err(AppError::SoldOut)
/// # }
///
/// fn buy_now(conn: &mut SqliteConnection) -> Result<(), AppError> {
///     let retry = retry_if(|error: &AppError| match error {
///         AppError::Database(error) => is_retryable(error),
///         AppError::SoldOut => false,
///     });
///     retry.transaction(conn, |conn| buy(conn))
/// }
/// # fn main() {
/// # assert!(matches!(buy_now(&mut establish_connection()), Err(AppError::SoldOut)));
/// # }
/// ```
///
/// `is_retryable` gets the error of every failed attempt that could be followed by another one, so
/// you can also log errors in it.
pub fn retry_if<'a, E>(is_retryable: impl FnMut(&E) -> bool + Send + 'a) -> Retry<'a, E> {
    Retry {
        is_retryable: Box::new(is_retryable),
        attempts: 5,
    }
}

/// Runs a transaction again if it fails; made by [`retry()`] and [`retry_if`].
#[must_use = "it runs nothing until `transaction` or `run` is called"]
pub struct Retry<'a, E> {
    is_retryable: Box<IsRetryable<'a, E>>,
    attempts: u32,
}

type IsRetryable<'a, E> = dyn FnMut(&E) -> bool + Send + 'a;

/// How many times the delay doubles, until it is 320 to 640 milliseconds.
const DOUBLINGS: u32 = 6;

impl<E> Retry<'_, E> {
    /// Sets the maximum number of attempts, including the first. Defaults to five. With 0 or 1, the
    /// transaction is run once. Every attempt after the seventh waits for another 320 to 640
    /// milliseconds, and keeps its connection out of the pool while it waits. If you need more than
    /// about 10 attempts, let your transactions lock their rows in the same order instead.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.attempts = attempts;
        self
    }

    /// Runs [`conn.transaction(work)`](Connection::transaction), and runs it again if it fails with
    /// a retryable error. Returns what the last attempt returned.
    ///
    /// If the COMMIT itself fails, the transaction is run again only if the database defines the
    /// error as a rollback, for example a serialization failure. After any other error it may have
    /// committed, and running it again would count twice.
    pub fn transaction<Conn, T, F>(
        self,
        conn: &mut Conn,
        mut work: impl FnMut(&mut Conn) -> Result<T, F>,
    ) -> Result<T, F>
    where
        Conn: Connection,
        F: From<Error>,
        T: Retried<F, E>,
    {
        let retry: Retry<'_, F> = T::cast(self); // `F` is `E`; see `Retried`.
        retry.run_attempts(conn, |conn| {
            let mut is_at_commit = false;
            let result = conn.transaction(|conn| {
                let done = work(conn).map_err(TransactionError::Work)?;
                is_at_commit = true;
                Ok(done)
            });
            result.map_err(|failed| match failed {
                TransactionError::Work(error) => Failure::work_failed(error),
                TransactionError::Transaction(error) => Failure {
                    has_rolled_back: !is_at_commit || is_rolled_back(&error),
                    error: error.into(),
                },
            })
        })
    }

    /// Like [`transaction`](Retry::transaction), for `work` that is a single statement, or that
    /// begins its own transaction, such as an `immediate_transaction` on SQLite.
    ///
    /// It can't tell whether an error came from the COMMIT. Behind a proxy that commits on one
    /// shard after the other, such as Vitess, use [`transaction`](Retry::transaction) instead.
    pub fn run<Conn, T, F>(
        self,
        conn: &mut Conn,
        mut work: impl FnMut(&mut Conn) -> Result<T, F>,
    ) -> Result<T, F>
    where
        Conn: Connection,
        T: Retried<F, E>,
    {
        let retry: Retry<'_, F> = T::cast(self); // `F` is `E`; see `Retried`.
        retry.run_attempts(conn, |conn| work(conn).map_err(Failure::work_failed))
    }

    /// Calls `attempt` until it succeeds, fails with an error that isn't retried, or has been called
    /// `self.attempts` times. Waits before every call but the first.
    fn run_attempts<Conn: Connection, T>(
        mut self,
        conn: &mut Conn,
        mut attempt: impl FnMut(&mut Conn) -> Result<T, Failure<E>>,
    ) -> Result<T, E> {
        let max_retries = self.attempts.saturating_sub(1);
        for retries_so_far in 0..max_retries {
            match attempt(conn) {
                Err(failure) if self.should_retry(&failure, conn) => {}
                result => return result.map_err(|failure| failure.error),
            }
            thread::sleep(random_delay(retries_so_far));
        }
        let last_result = attempt(conn);
        last_result.map_err(|failure| failure.error)
    }

    fn should_retry(&mut self, failure: &Failure<E>, conn: &mut impl Connection) -> bool {
        // If a transaction is still open, the caller began it, and only the caller can run it
        // again. On a broken connection, `is_in_a_transaction` returns an error.
        failure.has_rolled_back
            && is_in_a_transaction(conn) == Ok(false)
            && (self.is_retryable)(&failure.error)
    }
}

/// Returns how long to wait before the next attempt: 5 to 10 milliseconds, and twice as long for
/// every retry so far.
fn random_delay(retries_so_far: u32) -> Duration {
    let shortest = 5 << retries_so_far.min(DOUBLINGS);
    Duration::from_millis(rand::random_range(shortest..=2 * shortest))
}

/// Lets a [`Retry`] for errors `E` take a transaction that returns `Result<Self, F>`, if `F` is
/// `E`.
// Without this trait, the compiler reports an error type of your own as "mismatched types", and
// doesn't say which function to call. The trait is implemented for the value, so that the compiler
// looks at what the closure returns before it chooses `F`.
#[diagnostic::on_unimplemented(
    message = "this retries after `{E}`, but the transaction fails with `{F}`: instead of `retry()`, write `retry_if(|error: &{F}| …)`",
    label = "this is for transactions that fail with `{E}`",
    note = "help: the closure says whether to run the transaction again, for example `matches!(error, AppError::Database(error) if is_retryable(error))`"
)]
pub trait Retried<F, E>: Sized {
    /// Returns `retry` as it is: `F` is `E`, but only this trait's impl knows that.
    #[doc(hidden)]
    fn cast(retry: Retry<'_, E>) -> Retry<'_, F>;
}

impl<T, E> Retried<E, E> for T {
    fn cast(retry: Retry<'_, E>) -> Retry<'_, E> {
        retry
    }
}

/// The error of an attempt.
struct Failure<E> {
    error: E,
    /// Whether the attempt was rolled back, as far as we can tell.
    has_rolled_back: bool,
}

impl<E> Failure<E> {
    /// The transaction's closure returned this error, so Diesel has rolled the transaction back.
    fn work_failed(error: E) -> Self {
        Failure {
            error,
            has_rolled_back: true,
        }
    }
}

opaque_debug!(Retry<'a, E>);
