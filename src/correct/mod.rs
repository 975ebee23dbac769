//! Correcting counts, and removing them: lock the entities, read what is stored, add the difference.

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
use crate::shape::{Name, Shape};
use crate::slot::SlotRange;
use crate::sql::{CounterBackend, Dialect, Keys, Sql, rows, sql, where_all};
use crate::typed::entities::Entities;
use crate::typed::key::{BindKey, columns_of, padded};

/// Locks entities against other corrections of their counters, until the transaction ends. The keys are
/// in order. Increments do not wait for it, except on SQLite.
///
/// The lock is the entity's merged row of 1970-01-01, to which 0 is added. If the row does not exist, it
/// is inserted.
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
    add_rows::<Types, K, _, _>(shape, counters, &SlotRange::merged(), rows, conn)
}

/// ` WHERE` of a query of rows of entities, on these days. The query fails if the entities have been
/// locked, and one of their rows was deleted after its snapshot.
fn where_rows<'a, DB: CounterBackend>(
    db: Dialect,
    shape: &'a Shape<'a>,
    entities: &'a dyn Entities<DB>,
    days: &'a DayRange,
    are_locked: bool,
) -> Option<Sql<'a, DB>> {
    let of_entities = || entities.condition(db, shape.entity());
    let is_not_deleted = || {
        let (table, rows) = (shape.table, where_all([of_entities()]));
        db.is_not_deleted(sql!(" FROM {table}{rows}"))
    };
    let days = days.unless_all(shape.day());
    let is_kept = are_locked.then(is_not_deleted).flatten();
    where_all([of_entities(), days, is_kept])
}

/// The entities with these keys, as a list that is filled up with the last one.
fn listed<Types, K, DB>(keys: &[K]) -> Keys<K::Columns>
where
    K: BindKey<Types, DB> + Clone,
    DB: CounterBackend,
{
    let len = rows::padded::<DB>(keys.len());
    let columns = columns_of::<Types, K, DB>(padded(keys, len));
    Keys { columns, len }
}
