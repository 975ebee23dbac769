//! Claims a number for each connection, which chooses its slot.

use diesel::QueryResult;
use diesel::RunQueryDsl;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};

use crate::sql::{CounterBackend, Dialect, Part as _, Uncached, sql};

/// Claims a number for this connection that no other connection to the database has.
/// [`Slot::Connection`](crate::Slot::Connection) uses this number to choose the slot.
///
/// On MySQL and MariaDB, run it once on every new connection, in every process that counts. With
/// r2d2, [`ClaimSlots`](crate::ClaimSlots) does this for you; with another pool, run it in the hook
/// that sets up a connection. Without it, a connection's number is its `CONNECTION_ID()`, and some
/// connections share a slot. You don't need it on PostgreSQL, where the first increment claims the
/// number, or on SQLite, which has only one slot.
///
/// # How long a connection has its number
///
/// A session claims the lowest number from 0 up that no other session has, and keeps it until the
/// server ends the session. On PostgreSQL, the number is stored as the setting
/// `diesel_counters.number` and an advisory lock; on MySQL and MariaDB, as the variable
/// `@diesel_counters_number` and a lock of `GET_LOCK`. `DISCARD ALL` or a reset of the connection
/// removes both. Don't release only the lock: another session could then claim the same number.
///
/// On MySQL and MariaDB, don't run it through a pooler that shares a connection between clients.
/// ProxySQL stops sharing a connection as soon as a statement uses a variable, and every increment
/// does.
///
/// # Errors
///
/// [`execute`](RunQueryDsl::execute) returns the database's own error. Vitess refuses the
/// statement, and some Galera servers refuse `GET_LOCK`, so don't run it there. It's not an error
/// if all 1,000 numbers are taken (999 on MySQL and MariaDB): the connection then uses
/// `pg_backend_pid()` or `CONNECTION_ID()` instead.
pub fn claim_slot() -> ClaimSlot {
    ClaimSlot(())
}

/// The statement that claims a connection's number; made by [`claim_slot`].
#[must_use = "a slot is claimed when this is executed"]
#[derive(Debug, Clone, Copy, QueryId)]
pub struct ClaimSlot(());

impl<Conn> RunQueryDsl<Conn> for ClaimSlot {}

impl<DB: CounterBackend> QueryFragment<DB> for ClaimSlot {
    fn walk_ast<'b>(&'b self, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // It runs once per connection, so it isn't cached.
        sql!("{Uncached}{Dialect::from_pass(&out).claim()}").walk(out)
    }
}

/// Runs [`claim_slot`] on every new connection of an r2d2 pool.
///
/// ```
/// use diesel::r2d2::{ConnectionManager, Pool};
/// use diesel::sqlite::SqliteConnection;
/// use diesel_counters::ClaimSlots;
///
/// let manager = ConnectionManager::<SqliteConnection>::new(":memory:");
/// let pool = Pool::builder().connection_customizer(Box::new(ClaimSlots)).build(manager)?;
/// # drop(pool);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A pool has only one customizer. If you already have one, run
/// [`claim_slot().execute(conn)?`](claim_slot) in it.
#[cfg(feature = "r2d2")]
#[derive(Debug, Clone, Copy)]
pub struct ClaimSlots;

#[cfg(feature = "r2d2")]
impl<Conn, E> diesel::r2d2::CustomizeConnection<Conn, E> for ClaimSlots
where
    Conn: diesel::Connection,
    ClaimSlot: diesel::query_dsl::methods::ExecuteDsl<Conn>,
    E: From<diesel::result::Error> + 'static,
{
    fn on_acquire(&self, conn: &mut Conn) -> Result<(), E> {
        claim_slot().execute(conn)?;
        Ok(())
    }
}
