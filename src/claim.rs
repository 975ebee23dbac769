//! A number for a connection, which no other connection has.

use diesel::QueryResult;
use diesel::RunQueryDsl;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};

use crate::backend::{CounterBackend, Dialect};

/// Claims a number for this connection, which no other connection to the database has.
/// [`Slot::Connection`](crate::Slot::Connection) chooses the slot by this number.
///
/// ```
/// # include!("doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use diesel_counters::dsl::claim_slot;
///
/// claim_slot().execute(conn)?;
/// # Ok(())
/// # }
/// ```
///
/// | | the number of a connection that does not run it | that runs it |
/// | --- | --- | --- |
/// | PostgreSQL | claimed by its first increment | claimed at once |
/// | MySQL, MariaDB | `CONNECTION_ID()` | claimed at once |
/// | SQLite | none: the slot is always 0 | the same |
///
/// On MySQL and MariaDB, run it once on each new connection, in every process that counts.
/// With r2d2, [`ClaimSlots`](crate::ClaimSlots) does; with an asynchronous pool, run it in
/// the hook that sets up a connection. Without it, some connections of a pool can have numbers
/// that choose the same slot: the server gives out connection ids one after another, but other
/// programs take some of them.
///
/// A claimed number is the least that is free, from 0. It is kept in the session, and is free
/// again as soon as the server has ended the session, however it ends. The session of an
/// increment therefore has:
///
/// - on PostgreSQL, the setting `diesel_counters.number` and an advisory lock;
/// - on MySQL and MariaDB, if claimed, the variable `@diesel_counters_number` and a lock by
///   `GET_LOCK`.
///
/// `DISCARD ALL` and a reset of the connection take away both, and the connection has the
/// number of one that did not run this. Do not take away the lock alone, by
/// `pg_advisory_unlock_all()` or `RELEASE_ALL_LOCKS()`: another session could then claim the
/// number too.
///
/// A connection shares a slot while its number is not below the number of slots. That can
/// last for the rest of its session, so leave some slots free: see
/// [`Slot::Connection`](crate::Slot::Connection). If a transaction is rolled back in which a
/// PostgreSQL connection claimed its number, the next claim can get another one, and the
/// session holds both.
///
/// # Poolers
///
/// PgBouncer in transaction mode needs nothing: the server's connection has the number. On
/// MySQL and MariaDB, do not claim behind a pooler that shares a connection between clients:
/// it would have to keep the variable for one of them. ProxySQL stops sharing a connection
/// on which a statement names a variable, as each increment does.
///
/// # Errors
///
/// [`execute`](RunQueryDsl::execute) returns the database's own error. Some versions of
/// servers that replicate by Galera refuse `GET_LOCK`; do without it there. If all 32,767
/// numbers (on MySQL and MariaDB 999) are taken, this is no error: the connection has the
/// server's number of the connection in its place.
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
