//! Correcting and removing counts: lock the entities, read what is stored, and add the difference.

pub(crate) mod delete;
pub(crate) mod drift;
pub(crate) mod recount;
pub(crate) mod set;
pub(crate) mod set_days;
pub(crate) mod source;
pub(crate) mod stock;

use diesel::QueryResult;
use diesel::connection::Connection;

use crate::add::many::add_rows;
use crate::day::{Day, DayRange, UNDATED};
use crate::key::Entities;
use crate::key::Keys;
use crate::key::{BindKey, columns_of, padded};
use crate::shape::{Name, Shape};
use crate::slot::InSlot;
use crate::sql::{CounterBackend, Dialect, Sql, execute, rows, sql, where_all};

/// Locks entities until the transaction ends, so that other corrections of their counters wait.
/// Increments don't wait, except on SQLite. The keys must be sorted.
///
/// The lock is the entity's merged row of 1970-01-01: this adds 0 to it, or inserts it if it
/// doesn't exist.
fn lock_entities<Types, K, Conn>(
    shape: &Shape<'_>,
    counters: &[Name<'_>],
    keys: &[K],
    conn: &mut Conn,
) -> QueryResult<()>
where
    K: BindKey<Types, Conn::Backend> + Clone,
    Conn: Connection<Backend: CounterBackend>,
{
    let zeros = vec![0; counters.len()];
    let rows = keys.iter().map(|key| (key.clone(), Day(UNDATED), &zeros));
    add_rows::<Types, K, _, _>(shape, counters, InSlot::Merged, rows, conn)
}

/// Keeps the rows of locked entities from being deleted until the transaction ends.
///
/// Only PostgreSQL above READ COMMITTED needs this: there, a query still sees rows that a merge or
/// a deletion has removed since the snapshot. With this, the transaction gets a serialization
/// failure instead. `FOR KEY SHARE` neither fails nor waits if a row was incremented. At READ
/// COMMITTED, the statement reads and locks nothing.
fn keep_rows<Conn>(
    shape: &Shape<'_>,
    entities: &dyn Entities<Conn::Backend>,
    conn: &mut Conn,
) -> QueryResult<()>
where
    Conn: Connection<Backend: CounterBackend>,
{
    if !Dialect::PostgreSql.could_be::<Conn::Backend>() {
        return Ok(());
    }
    execute(conn, |db| {
        if db != Dialect::PostgreSql {
            // A `MultiConnection` is connected to another database, which needs no locks.
            return db.no_op();
        }
        let table = shape.table;
        let has_snapshot =
            sql!("current_setting('transaction_isolation') IN ('repeatable read', 'serializable')");
        let rows = where_all([entities.condition(db, shape.entity()), Some(has_snapshot)]);
        sql!(
            "SELECT 1 /* fails if a row was deleted since the snapshot */ \
             FROM {table}{rows} FOR KEY SHARE"
        )
    })?;
    Ok(())
}

/// ` WHERE article_id = ? AND day BETWEEN ? AND ?`: selects the entities' rows on these days.
fn where_entities<'a, DB: CounterBackend>(
    db: Dialect,
    shape: &'a Shape<'a>,
    entities: &'a dyn Entities<DB>,
    days: &'a DayRange,
) -> Option<Sql<'a, DB>> {
    let is_chosen = entities.condition(db, shape.entity());
    let is_in_days = days.condition_unless_all(shape.day());
    where_all([is_chosen, is_in_days])
}

/// Returns the entities with these keys, as a list that repeats the last key, so that few different
/// statements are prepared.
fn padded_keys<Types, K, DB>(keys: &[K]) -> Keys<K::Columns>
where
    K: BindKey<Types, DB> + Clone,
    DB: CounterBackend,
{
    let len = rows::padded_len::<DB>(keys.len());
    let columns = columns_of::<Types, K, DB>(padded(keys, len));
    Keys { columns, len }
}
