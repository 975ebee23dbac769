//! Tells whether a transaction is open.

use diesel::QueryResult;
use diesel::connection::{Connection, TransactionManager};

pub(crate) fn is_in_a_transaction<Conn: Connection>(conn: &mut Conn) -> QueryResult<bool> {
    let status = Conn::TransactionManager::transaction_manager_status_mut(conn);
    Ok(status.transaction_depth()?.is_some())
}
