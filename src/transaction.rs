//! Transactions: the caller's, and those of operations that have several statements.

use diesel::connection::{Connection, TransactionManager};
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::result::Error;
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect};
use crate::error::is_retryable;

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

/// Runs `work` in a transaction, or in a savepoint if a transaction is open.
///
/// On MySQL and MariaDB, the transaction is READ COMMITTED. At REPEATABLE READ, its queries would
/// read rows as they were before it waited for a lock; with `innodb_snapshot_isolation`, which
/// MariaDB has on by default since 11.6.2, it would fail with error 1020 instead.
pub(crate) fn transaction<T, Conn>(
    conn: &mut Conn,
    work: impl FnOnce(&mut Conn) -> QueryResult<T>,
) -> QueryResult<T>
where
    Conn: Connection<Backend: CounterBackend>,
{
    begin_read_committed(conn)?;
    let mut conflict = Conflict::default();
    let result = conn.transaction(|conn| conflict.keep(work(conn)));
    conflict.or(result)
}

/// A conflict with another transaction, which a savepoint returns even if its rollback fails: MariaDB
/// ends the whole transaction at error 1020, and then has no savepoint to roll back to.
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
pub(crate) fn begin_read_committed<Conn>(conn: &mut Conn) -> QueryResult<()>
where
    Conn: Connection<Backend: CounterBackend>,
{
    if Conn::Backend::MAY_BE_MYSQL && !is_in_a_transaction(conn)? {
        ReadCommitted.execute(conn)?;
    }
    Ok(())
}

#[derive(Debug, QueryId)]
struct ReadCommitted;

impl<Conn> RunQueryDsl<Conn> for ReadCommitted {}

impl<DB: CounterBackend> QueryFragment<DB> for ReadCommitted {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql(match Dialect::of(&out) {
            Dialect::MySql => "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",
            // It does nothing: only a connection to any database runs it here.
            Dialect::PostgreSql | Dialect::Sqlite => "SELECT 1",
        });
        Ok(())
    }
}
