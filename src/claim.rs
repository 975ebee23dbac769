//! A number for each connection, by which its slot is chosen.

use diesel::QueryResult;
use diesel::RunQueryDsl;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};

use crate::sql::{CounterBackend, Dialect, Part as _, Uncached, sql};

/// Claims a number for this connection that no other connection to the database has.
/// [`Slot::Connection`](crate::Slot::Connection) chooses the slot by this number.
///
/// On MySQL and MariaDB, run it once on each new connection, in every process that counts: with
/// r2d2, [`ClaimSlots`](crate::ClaimSlots) does; with another pool, run it in the hook that sets up
/// a connection. Without it, the number is `CONNECTION_ID()`, and some connections share a slot. On
/// PostgreSQL the first increment claims the number, and SQLite has one slot, so it is not
/// required.
///
/// # How long a connection has its number
///
/// A session claims the lowest number, from 0, that no other session has, and keeps it until the
/// server ends the session: on PostgreSQL as the setting `diesel_counters.number` and an advisory
/// lock, on MySQL and MariaDB as the variable `@diesel_counters_number` and a lock of `GET_LOCK`.
/// `DISCARD ALL`, or a reset of the connection, removes both. Don't remove the lock alone: another
/// session could then claim the same number.
///
/// On MySQL and MariaDB, do not run it through a pooler that shares a connection between clients.
/// ProxySQL stops sharing a connection when a statement uses a variable, and every increment does.
///
/// # Errors
///
/// [`execute`](RunQueryDsl::execute) returns the database's own error. Vitess refuses it, and
/// some servers with Galera refuse `GET_LOCK`: do not run it there. If all 1,000 numbers are
/// taken, or 999 on MySQL and MariaDB, the connection uses `pg_backend_pid()` or `CONNECTION_ID()`.
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
        // It runs once for each connection.
        sql!("{Uncached}{Dialect::of(&out).claim()}").walk(out)
    }
}

/// Runs [`claim_slot`] on each new connection of an r2d2 pool.
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
/// A pool has one customizer. If you have your own, run [`claim_slot().execute(conn)?`](claim_slot)
/// in it.
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
