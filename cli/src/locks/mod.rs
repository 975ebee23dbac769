//! Who waits for rows of a table, and who holds them: one file a database.

mod deadlock;
mod lock_data;
mod looks;
mod mysql;
mod postgres;
mod seen;
mod sqlite;
mod waits;

use std::time::Duration;

use anyhow::Result;
use diesel::QueryResult;
use diesel_counters::Dialect;

pub use lock_data::row as lock_row;
pub use looks::{Looks, WHO_WAITS};
pub use seen::{Activity, Deadlock, Look, NotSeen, Row, Session, Wait};

use crate::connection::AnyConnection;

/// Looks once.
pub fn look(looks: &mut Looks<'_>) -> Result<Look> {
    match looks.conn.dialect() {
        Dialect::PostgreSql => postgres::look(looks),
        Dialect::MySql => mysql::look(looks),
        Dialect::Sqlite => sqlite::look(looks),
    }
}

/// The last deadlock of the server, if a row of this table had a part in it.
pub fn last_deadlock(looks: &mut Looks<'_>) -> Result<Option<Deadlock>> {
    match looks.conn.dialect() {
        Dialect::MySql => deadlock::last_deadlock(looks),
        Dialect::PostgreSql | Dialect::Sqlite => Ok(None),
    }
}

/// Ends each later statement that takes longer.
pub fn limit_statements(time: Duration, conn: &mut AnyConnection) -> QueryResult<()> {
    match conn.dialect() {
        Dialect::PostgreSql => postgres::limit_statements(time, conn),
        Dialect::MySql => mysql::limit_statements(time, conn),
        Dialect::Sqlite => Ok(()),
    }
}
