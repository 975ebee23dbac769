//! Transactions: the caller's, and those of operations with several statements.

use std::cell::Cell;

use diesel::QueryResult;
use diesel::connection::{Connection, TransactionManager};
use diesel::result::Error;

use super::{CounterBackend, Dialect, Part, execute, sql};
use crate::error::{is_retryable, refuse};

/// Returns whether a transaction is open, even if it's a test's.
pub(crate) fn is_in_a_transaction<Conn: Connection>(conn: &mut Conn) -> QueryResult<bool> {
    let status = Conn::TransactionManager::transaction_manager_status_mut(conn);
    Ok(status.transaction_depth()?.is_some())
}

/// Returns whether a transaction is open that can be committed. One that `begin_test_transaction`
/// began can't be: nobody else sees what it writes, and its locks are gone when the test ends.
pub(crate) fn is_in_a_real_transaction<Conn: Connection>(conn: &mut Conn) -> QueryResult<bool> {
    // Diesel reports a connection as broken if a transaction is open that isn't a test's.
    Ok(is_in_a_transaction(conn)? && Conn::TransactionManager::is_broken_transaction_manager(conn))
}

/// Returns whether a transaction is open on MySQL or MariaDB, where a query can read the snapshot
/// of the transaction's first query.
pub(crate) fn reads_old_snapshots<Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
) -> QueryResult<bool> {
    if !Dialect::MySql.could_be::<Conn::Backend>() || !is_in_a_real_transaction(conn)? {
        return Ok(false);
    }
    is_connected_to(Dialect::MySql, conn)
}

/// Returns whether the connection is to this database. Only a statement knows which one a
/// `MultiConnection` is connected to.
pub(crate) fn is_connected_to<Conn: Connection<Backend: CounterBackend>>(
    database: Dialect,
    conn: &mut Conn,
) -> QueryResult<bool> {
    if let Some(dialect) = Conn::Backend::DIALECT {
        return Ok(dialect == database);
    }
    let is_connected = Cell::new(false);
    execute(conn, |db| {
        is_connected.set(db == database);
        db.no_op()
    })?;
    Ok(is_connected.get())
}

/// Fails if a query can read an old snapshot. It fails before there is a statement, because
/// Diesel's instrumentation prints statements, and panics if writing one fails.
pub(crate) fn refuse_old_snapshots<Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
) -> QueryResult<()> {
    if !reads_old_snapshots(conn)? {
        return Ok(());
    }
    refuse(
        "on MySQL and MariaDB, a query in a transaction can read rows as they were when the \
         transaction began: don't run this in a transaction",
    )
}

/// Runs `work` in a [`transaction`]. If this has to begin one, PostgreSQL refuses to read a table
/// if a policy hides some of its rows: `work` writes the difference to what it has read, so hidden
/// rows would lead to wrong counts.
pub(crate) fn transaction_on_all_rows<T, Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> QueryResult<T>,
) -> QueryResult<T> {
    let begins = !is_in_a_transaction(conn)?;
    transaction(conn, |conn| {
        if begins {
            // This takes no snapshot, so that the next statement takes the transaction's.
            execute_on(Dialect::PostgreSql, "SET LOCAL row_security = off", conn)?;
        }
        work(conn)
    })
}

/// Runs a statement if this is the connection's database. Returns how many rows it changed.
pub(crate) fn execute_on<'a, Conn: Connection<Backend: CounterBackend>>(
    database: Dialect,
    statement: impl Part<'a, Conn::Backend>,
    conn: &mut Conn,
) -> QueryResult<usize> {
    if !database.could_be::<Conn::Backend>() {
        return Ok(0);
    }
    execute(conn, |db| {
        if db == database {
            sql!("{statement}")
        } else {
            db.no_op()
        }
    })
}

/// Runs a query that has to see all rows of its tables. On PostgreSQL, it runs in a
/// [`transaction_on_all_rows`]. The other databases can't hide rows, so it needs no transaction.
pub(crate) fn read_all_rows<T, Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    query: impl FnOnce(&mut Conn) -> QueryResult<T>,
) -> QueryResult<T> {
    if Dialect::PostgreSql.could_be::<Conn::Backend>() {
        transaction_on_all_rows(conn, query)
    } else {
        query(conn)
    }
}

/// Runs `work` in a transaction, or in a savepoint if a transaction is open.
///
/// On MySQL and MariaDB, the transaction is READ COMMITTED. At REPEATABLE READ, its queries would
/// read rows as they were before it waited for a lock. With `innodb_snapshot_isolation`, which
/// MariaDB has on by default since 11.6.2, it would fail with error 1020 instead.
pub(crate) fn transaction<T, Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> QueryResult<T>,
) -> QueryResult<T> {
    set_read_committed(conn)?;
    let mut conflict = Conflict::default();
    let result = conn.transaction(|conn| conflict.keep_from(work(conn)));
    conflict.error_or(result)
}

/// An error from the work in a transaction or a savepoint, or from the statements that begin and
/// end it.
pub(crate) enum TransactionError<E> {
    Work(E),
    Transaction(Error),
}

impl<E> From<Error> for TransactionError<E> {
    fn from(error: Error) -> Self {
        TransactionError::Transaction(error)
    }
}

/// Keeps a conflict with another transaction, so that a savepoint returns it even if its rollback
/// fails: at error 1020, MariaDB ends the whole transaction, and then there's no savepoint to roll
/// back to.
#[derive(Default)]
pub(crate) struct Conflict(Option<Error>);

impl Conflict {
    /// Returns the result of the work in a transaction. If it's a conflict, this keeps the error, and
    /// returns `RollbackTransaction`.
    pub(crate) fn keep_from<T>(&mut self, result: QueryResult<T>) -> QueryResult<T> {
        result.map_err(|error| {
            if is_retryable(&error) {
                self.0 = Some(error);
                return Error::RollbackTransaction;
            }
            error
        })
    }

    /// Returns the conflict, if there was one, or else the result of the whole transaction.
    pub(crate) fn error_or<T, E: From<Error>>(self, result: Result<T, E>) -> Result<T, E> {
        self.0.map_or(result, |error| Err(error.into()))
    }
}

/// Makes the next transaction or statement READ COMMITTED on MySQL and MariaDB, unless a
/// transaction is open.
pub(crate) fn set_read_committed(
    conn: &mut impl Connection<Backend: CounterBackend>,
) -> QueryResult<()> {
    if !is_in_a_transaction(conn)? {
        let level = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
        execute_on(Dialect::MySql, level, conn)?;
    }
    Ok(())
}
