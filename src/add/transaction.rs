//! Gathering the increments of a transaction, and writing them at its end.

use diesel::QueryResult;
use diesel::connection::Connection;
use diesel::result::Error;

use crate::add::countable::Countable;
use crate::add::gathered::Gathered;
use crate::sql::CounterBackend;
use crate::sql::transaction::{Conflict, TransactionError};

/// Runs `work` in a transaction, gathers the increments that it counts, and writes them as the last
/// statements of the transaction.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # use schema::comments;
/// use diesel_counters::counting_transaction;
/// use diesel_counters::prelude::*;
///
/// counting_transaction(conn, |tx| {
///     for body in ["Nice.", "Thanks."] {
///         diesel::insert_into(comments::table)
///             .values((comments::article_id.eq(1), comments::body.eq(body)))
///             .execute(tx.conn())?;
///         tx.count(increment(article_counters::comments).of(1_i64));
///     }
///     QueryResult::Ok(())
/// })?; // two inserts, and one statement that counts
/// # let counted: i64 = counter_value(article_counters::comments).of(1_i64).get_result(conn)?;
/// # assert_eq!(counted, 2);
/// # Ok(())
/// # }
/// ```
///
/// The increments of each entity are added up, and written in the order of tables, days and keys,
/// as [`of_many`](crate::dsl::Increment::of_many) does. A sum of 0 isn't written. Transactions that
/// count only in this way don't deadlock on counters; see [the
/// guide](crate::guide::counting#many-counts-in-one-transaction).
///
/// If `work` fails, nothing is written. What `work` reads doesn't include what it has counted. If a
/// transaction is already open, all of this runs in a savepoint, and the increments are only the
/// last statements of the savepoint. On SQLite, write
/// `conn.immediate_transaction(|conn| counting_transaction(conn, …))`. To retry it, write
/// `retry().run(conn, |conn| counting_transaction(conn, …))`.
///
/// # Errors
///
/// Returns the error of `work`. It also fails with the errors of
/// [`increment`](crate::dsl::increment()), and with an [overflow](crate::is_overflow()) if a sum is
/// out of the range of an `i64`. After an error, nothing is written. Only if the COMMIT itself
/// fails, it may have committed, unless the database defines the error as a rollback, for example a
/// serialization failure.
pub fn counting_transaction<Conn, T, E>(
    conn: &mut Conn,
    work: impl FnOnce(&mut CountingTransaction<'_, Conn>) -> Result<T, E>,
) -> Result<T, E>
where
    Conn: Connection<Backend: CounterBackend>,
    E: From<Error>,
{
    // Keeps the error of a conflict, which would be lost if the rollback of a savepoint failed too.
    let mut conflict = Conflict::default();
    let result = conn.transaction(|conn| {
        let mut tx = CountingTransaction::new(conn);
        let value = work(&mut tx)?;
        if tx.is_rolled_back {
            return Err(Error::BrokenTransactionManager.into());
        }
        if tx.savepoint_failed {
            // After a deadlock, MySQL and MariaDB have rolled back the whole transaction, including
            // the rows that were counted, and further statements run outside of it. An empty
            // savepoint fails then.
            tx.conn.transaction(|_| QueryResult::Ok(()))?;
        }
        for rows in tx.counted.sorted() {
            conflict.keep_from(rows.write(tx.conn))?;
        }
        Ok(value)
    });
    conflict.error_or(result)
}

/// A transaction that gathers increments; made by [`counting_transaction`].
pub struct CountingTransaction<'a, Conn> {
    conn: &'a mut Conn,
    counted: Gathered<Conn>,
    savepoint_failed: bool,
    /// Whether a savepoint couldn't be released or rolled back, because the database had already
    /// rolled back the whole transaction.
    is_rolled_back: bool,
}

impl<'a, Conn: Connection<Backend: CounterBackend>> CountingTransaction<'a, Conn> {
    fn new(conn: &'a mut Conn) -> Self {
        CountingTransaction {
            conn,
            counted: Gathered::default(),
            savepoint_failed: false,
            is_rolled_back: false,
        }
    }

    /// Returns the connection, for the transaction's other statements.
    ///
    /// If a statement may fail and you want to go on, run it in
    /// [`transaction`](CountingTransaction::transaction). On MySQL and MariaDB, a deadlock rolls
    /// back the whole transaction, and you wouldn't notice if you ignored the error.
    pub fn conn(&mut self) -> &mut Conn {
        self.conn
    }

    /// Gathers an increment, for one entity, for many, or without an entity. It runs no statement.
    pub fn count<I: Countable<Conn, Of>, Of>(&mut self, increment: I) {
        let (second, room) = (None, usize::MAX); // reads today's date now, and has no limit
        self.counted.count(increment, second, room);
    }

    /// Runs `work` in a savepoint, like `tx.conn().transaction(…)`, but you can also count in it.
    /// If `work` fails, the savepoint is rolled back together with what `work` has counted.
    ///
    /// On MySQL and MariaDB, return the error if it [`is_retryable`](crate::is_retryable()),
    /// because a deadlock rolls back the whole transaction. If you go on anyway,
    /// `counting_transaction` fails at its end, but the statements that ran after the deadlock stay
    /// committed.
    pub fn transaction<T, E>(
        &mut self,
        work: impl FnOnce(&mut CountingTransaction<'_, Conn>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: From<Error>,
    {
        let mut has_begun = false;
        let result = self.conn.transaction(|conn| {
            has_begun = true;
            let mut tx = CountingTransaction::new(conn);
            let value = work(&mut tx).map_err(TransactionError::Work)?;
            Ok((value, tx.counted))
        });
        self.savepoint_failed = result.is_err();
        let (value, counted) = result.map_err(|error| match error {
            TransactionError::Work(error) => error,
            // The savepoint could not begin, be released, or be rolled back.
            TransactionError::Transaction(error) => {
                self.is_rolled_back |= has_begun;
                error.into()
            }
        })?;
        self.counted.append(counted);
        Ok(value)
    }
}

opaque_debug!(CountingTransaction<'a, Conn>);
