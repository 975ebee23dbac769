//! Correcting counts, and removing them: lock the entities, read what is stored, add the difference.

pub(crate) mod delete;
pub(crate) mod drift;
pub(crate) mod recount;
pub(crate) mod set;
pub(crate) mod set_days;
pub(crate) mod source;

use diesel::QueryResult;
use diesel::connection::Connection;

use crate::add::many::{Rows, add_rows};
use crate::day::{Day, DayRange, UNDATED};
use crate::shape::{Name, Shape};
use crate::slot::SlotRange;
use crate::sql::{CounterBackend, Dialect, Sql, sql, where_all};
use crate::typed::key::{BindKey, Entities};

/// Locks entities against other corrections of their counters, as
/// [`Increment::lock`](crate::add::increment::Increment::lock) locks one: it adds 0 to these counters.
/// The keys are in order.
fn lock_entities<Types, K, Conn>(
    shape: &Shape<'_>,
    counters: &[Name<'_>],
    keys: impl ExactSizeIterator<Item = K>,
    conn: &mut Conn,
) -> QueryResult<()>
where
    K: BindKey<Types, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend>,
{
    let zeros = vec![0; counters.len()];
    let rows = keys.map(|key| (key, Day(UNDATED), &zeros));
    let rows = Rows::new::<Types, K, _, Conn::Backend>(counters, rows);
    add_rows(shape, &SlotRange::merged(), &rows, conn)
}

/// ` WHERE` of a query of rows of entities, on these days.
fn where_rows<'a, DB: CounterBackend>(
    db: Dialect,
    shape: &'a Shape<'a>,
    entities: &'a dyn Entities<DB>,
    days: &'a DayRange,
) -> Option<Sql<'a, DB>> {
    let entities = entities.condition(db, shape.entity());
    where_all([entities, days.condition_unless_all(shape.day())])
}

/// As [`where_rows`], of entities that have been locked.
fn where_locked<'a, DB: CounterBackend>(
    db: Dialect,
    shape: &'a Shape<'a>,
    entities: &'a dyn Entities<DB>,
    days: &'a DayRange,
) -> Option<Sql<'a, DB>> {
    let of_entities = || entities.condition(db, shape.entity());
    let (table, rows) = (shape.table, where_all([of_entities()]));
    let days = days.condition_unless_all(shape.day());
    where_all([
        of_entities(),
        days,
        db.is_not_deleted(sql!(" FROM {table}{rows}")),
    ])
}
