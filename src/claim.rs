//! A number for a connection, which no other connection has.

use diesel::QueryResult;
use diesel::RunQueryDsl;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};

use crate::backend::{CounterBackend, Dialect};

/// Claims a number for this connection, which no other connection to the database has:
/// [`Slot::Connection`](crate::Slot::Connection) chooses the slot by it.
///
/// | | without it | with it |
/// | --- | --- | --- |
/// | PostgreSQL | the first increment claims the number | the same, at once |
/// | MySQL, MariaDB | the number is `CONNECTION_ID()` | exact |
/// | SQLite | the slot is always 0 | the same |
///
/// So run it once on each new connection to MySQL or MariaDB. With r2d2,
/// [`ClaimSlots`](crate::ClaimSlots) does. Without it, a few of the connections of a pool can
/// have numbers that choose the same slot: servers give out connection ids one after another,
/// but other programs take some of them, and connections are renewed.
///
/// The number is the least one that is free. It is kept in the session, and free again
/// when the session ends, however it ends. On PostgreSQL the session has the setting
/// `diesel_counters.number` and an advisory lock; on MySQL and MariaDB it has the variable
/// `@diesel_counters_number` and a lock by `GET_LOCK`. `DISCARD ALL` and
/// `mysql_reset_connection` take both away. The connection's next number is that of its next
/// increment on PostgreSQL, and `CONNECTION_ID()` on the others.
///
/// Behind a pooler in transaction mode, PostgreSQL needs nothing, and MySQL and MariaDB should
/// do without it: the pooler would have to keep the session's variable.
///
/// ```
/// # include!("doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::claim_slot;
///
/// claim_slot().execute(conn)?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`execute`](RunQueryDsl::execute) returns the database's own error. If no number is free
/// (32,767 on PostgreSQL, 999 on MySQL and MariaDB), the connection has none and this is no
/// error: the server's number of the connection takes its place.
pub fn claim_slot() -> ClaimSlot {
    ClaimSlot(())
}

/// The statement that claims a connection's number; made by [`claim_slot`].
#[must_use = "a slot is claimed when this is executed"]
#[derive(Debug, Clone, Copy)]
pub struct ClaimSlot(());

impl<Conn> RunQueryDsl<Conn> for ClaimSlot {}

impl QueryId for ClaimSlot {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<DB: CounterBackend> QueryFragment<DB> for ClaimSlot {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        // It runs once a connection.
        out.unsafe_to_cache_prepared();
        Dialect::of(&out).push_claim(&mut out);
        Ok(())
    }
}

/// Runs [`claim_slot`] on each new connection of an r2d2 pool.
///
/// ```
/// # include!("doctest_setup.rs");
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use diesel::r2d2::{ConnectionManager, Pool};
/// use diesel_counters::ClaimSlots;
///
/// let manager = ConnectionManager::<SqliteConnection>::new(":memory:");
/// let pool = Pool::builder()
///     .connection_customizer(Box::new(ClaimSlots))
///     .build(manager)?;
/// # let _ = pool;
/// # Ok(())
/// # }
/// ```
///
/// A pool has one customizer. In one of your own, run
/// [`claim_slot().execute(conn)`](claim_slot).
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
