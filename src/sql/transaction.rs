//! Transactions: the caller's, and those of operations that have several statements.

use std::cell::Cell;

use diesel::QueryResult;
use diesel::connection::{Connection, TransactionManager};
use diesel::result::Error;

use super::{CounterBackend, Dialect, Part, execute, sql};
use crate::error::{is_retryable, refuse};

pub(crate) fn is_in_a_transaction<Conn: Connection>(conn: &mut Conn) -> QueryResult<bool> {
    let status = Conn::TransactionManager::transaction_manager_status_mut(conn);
    Ok(status.transaction_depth()?.is_some())
}

/// Returns whether a transaction is open that can be committed. One that `begin_test_transaction`
/// began cannot: nobody else sees what it writes, and what it locks is released by the test's end.
pub(crate) fn is_in_a_lasting_transaction<Conn: Connection>(conn: &mut Conn) -> QueryResult<bool> {
    // Diesel reports a connection as broken if a transaction is open that is not a test's.
    Ok(is_in_a_transaction(conn)? && Conn::TransactionManager::is_broken_transaction_manager(conn))
}

/// Returns whether a transaction is open on MySQL or MariaDB, where a query can read the snapshot
/// of the transaction's first query.
pub(crate) fn reads_old_snapshots<Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
) -> QueryResult<bool> {
    if !Dialect::MySql.could_be::<Conn::Backend>() || !is_in_a_lasting_transaction(conn)? {
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
    let is_it = Cell::new(false);
    execute(conn, |db| {
        is_it.set(db == database);
        db.nothing()
    })?;
    Ok(is_it.get())
}

/// Fails if a query can read an old snapshot. It fails before there is a statement, because an
/// instrumentation prints statements, and an error while one is written is a panic there.
pub(crate) fn refuse_old_snapshots<Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
) -> QueryResult<()> {
    if !reads_old_snapshots(conn)? {
        return Ok(());
    }
    refuse(
        "on MySQL and MariaDB, a query in a transaction can read rows as they were when the \
         transaction began: run this outside of a transaction",
    )
}

/// Runs `work` in a [`transaction`]. If it has to begin one, PostgreSQL then refuses to read a table
/// some of whose rows a policy hides: `work` writes the difference to what it has read, so hidden
/// rows would make it write wrong counts.
pub(crate) fn transaction_on_all_rows<T, Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> QueryResult<T>,
) -> QueryResult<T> {
    let begins = !is_in_a_transaction(conn)?;
    transaction(conn, |conn| {
        if begins {
            // It takes no snapshot, so that the next statement takes the transaction's.
            execute_on(Dialect::PostgreSql, "SET LOCAL row_security = off", conn)?;
        }
        work(conn)
    })
}

/// Runs a statement, on this database only. Returns the number of rows that it changed.
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
            db.nothing()
        }
    })
}

/// Runs a query as in [`transaction_on_all_rows`]. Only PostgreSQL requires a transaction for it.
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
/// read rows as they were before it waited for a lock; with `innodb_snapshot_isolation`, which
/// MariaDB has on by default since 11.6.2, it would fail with error 1020 instead.
pub(crate) fn transaction<T, Conn: Connection<Backend: CounterBackend>>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> QueryResult<T>,
) -> QueryResult<T> {
    begin_read_committed(conn)?;
    let mut conflict = Conflict::default();
    let result = conn.transaction(|conn| conflict.keep(work(conn)));
    conflict.or(result)
}

/// An error of the work in a transaction or a savepoint, or of the statements that begin and end
/// it.
pub(crate) enum TransactionError<E> {
    Work(E),
    Transaction(Error),
}

impl<E> From<Error> for TransactionError<E> {
    fn from(error: Error) -> Self {
        TransactionError::Transaction(error)
    }
}

/// A conflict with another transaction, which a savepoint returns even if its rollback fails:
/// MariaDB ends the whole transaction at error 1020, and then has no savepoint to roll back to.
#[derive(Default)]
pub(crate) struct Conflict(Option<Error>);

impl Conflict {
    pub(crate) fn keep<T>(&mut self, result: QueryResult<T>) -> QueryResult<T> {
        result.map_err(|error| {
            if is_retryable(&error) {
                self.0 = Some(error);
                return Error::RollbackTransaction;
            }
            error
        })
    }

    pub(crate) fn or<T, E: From<Error>>(self, result: Result<T, E>) -> Result<T, E> {
        self.0.map_or(result, |error| Err(error.into()))
    }
}

/// On MySQL and MariaDB, the next transaction or statement is READ COMMITTED if no transaction is
/// open.
pub(crate) fn begin_read_committed(
    conn: &mut impl Connection<Backend: CounterBackend>,
) -> QueryResult<()> {
    if !is_in_a_transaction(conn)? {
        let level = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";
        execute_on(Dialect::MySql, level, conn)?;
    }
    Ok(())
}
