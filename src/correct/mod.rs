//! Correcting counts, and removing them: lock the entities, read what is stored, add the
//! difference.

pub(crate) mod delete;
pub(crate) mod drift;
pub(crate) mod recount;
pub(crate) mod set;
pub(crate) mod set_days;
pub(crate) mod source;
pub(crate) mod stock;

use diesel::QueryResult;
use diesel::connection::{Connection, LoadConnection};

use crate::add::many::add_rows;
use crate::day::{Day, DayRange, UNDATED};
use crate::error::{not_written, refuse};
use crate::shape::{Name, Shape};
use crate::slot::{Partition, SlotRange};
use crate::sql::{
    Binds as _, CounterBackend, Dialect, Keys, NUMBER, Sql, Uncached, load, load_number, row, rows,
    sql, where_all,
};
use crate::typed::entities::Entities;
use crate::typed::key::{BindKey, columns_of, padded};

/// Locks entities against other corrections of their counters, until the transaction ends. The keys
/// are in order. Increments do not wait for it, except on SQLite.
///
/// The lock is the entity's merged row of 1970-01-01, to which 0 is added. If the row does not
/// exist, it is inserted.
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

/// The slot of the row that is an entity's lock.
fn merged_slot(db: Dialect, partition: &Partition) -> &i16 {
    match db {
        Dialect::Sqlite => &0, // It ignores partitions.
        _ => &partition.merged,
    }
}

/// Fails if a policy of PostgreSQL's row level security can show the caller some rows of an entity
/// and hide others. A policy that depends on nothing but the entity's key shows all of them or
/// none.
fn refuse_hidden_rows<Conn>(shape: &Shape<'_>, conn: &mut Conn) -> QueryResult<()>
where
    Conn: LoadConnection<Backend: CounterBackend>,
{
    if !Dialect::PostgreSql.may_be_of::<Conn::Backend>() {
        return Ok(());
    }
    let policies = load_number(conn, |db| db.policies_of_rows(shape.table, shape.entity()))?;
    if policies == 0 {
        return Ok(());
    }
    let table = shape.label;
    refuse(format!(
        "a policy of `{table}` can hide some of an entity's rows from this role, so its counts cannot be \
         corrected: do it as a role with BYPASSRLS, or let the policy depend on the entity only"
    ))
}

/// The number of rows that are compared at once. The query of their values has a text for each
/// number.
const COMPARED: usize = 512;

/// Adds to rows, as [`add_rows`], and fails unless their counts have then changed by these amounts:
/// a trigger can skip a row, or write something else than the statement. The rows are in order.
///
/// It adds 0 first. This locks the rows, so that nobody else changes them in between.
fn add_compared<Types, K, A, Conn>(
    shape: &Shape<'_>,
    counters: &[Name<'_>],
    slots: &SlotRange,
    rows: &[(K, Day, A)],
    conn: &mut Conn,
) -> QueryResult<()>
where
    K: BindKey<Types, Conn::Backend> + Clone,
    A: AsRef<[i64]> + Copy,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let zeros = vec![0; counters.len()];
    for rows in rows.chunks(COMPARED) {
        let locked = rows.iter().map(|(key, day, _)| (key.clone(), *day, &zeros));
        add_rows::<Types, K, _, _>(shape, counters, slots, locked, conn)?;
        let before = stored::<Types, K, A, _>(shape, counters, slots, rows, conn)?;
        let added = rows.iter().cloned();
        add_rows::<Types, K, _, _>(shape, counters, slots, added, conn)?;
        let after = stored::<Types, K, A, _>(shape, counters, slots, rows, conn)?;
        for (i, (_, _, amounts)) in rows.iter().enumerate() {
            let added = before[i].iter().zip(amounts.as_ref());
            // The database has added them without an overflow.
            let expected = added.map(|(before, amount)| before.wrapping_add(*amount));
            if !after[i].iter().copied().eq(expected) {
                return not_written(shape.label);
            }
        }
    }
    Ok(())
}

/// The counts of rows in one of `slots`: that of this connection, or that of merged rows. They are
/// 0 if there is no row.
fn stored<Types, K, A, Conn>(
    shape: &Shape<'_>,
    counters: &[Name<'_>],
    slots: &SlotRange,
    rows: &[(K, Day, A)],
    conn: &mut Conn,
) -> QueryResult<Vec<Vec<i64>>>
where
    K: BindKey<Types, Conn::Backend> + Clone,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let keys = rows.iter().map(|(key, _, _)| key.clone());
    let keys = columns_of::<Types, K, Conn::Backend>(keys);
    let mut stored = vec![vec![0; counters.len()]; rows.len()];
    load(
        conn,
        |db| {
            let listed = rows.iter().enumerate().map(|(i, (_, day, _))| {
                let mut values = row(&keys, i);
                values.push(sql!("{day}"));
                values
            });
            let key = shape.entity_and_day();
            let listed = db.numbered_rows(shape.table, key, listed);
            let join = db.join_days(shape.table, key, false);
            let slot = match slots.count {
                1 if db != Dialect::Sqlite => sql!("{&slots.first}"),
                // In a query of its own, so that PostgreSQL evaluates it once.
                _ => sql!("(SELECT {db.slot(shape, slots)})"),
            };
            let select = db.select();
            let end = db.read_latest_to_change();
            sql!(
                "{Uncached}{select}{NUMBER}, {counters}{listed}{join} AND {shape.slot()} = {slot}{end}"
            )
        },
        |row| {
            let number = Conn::Backend::amount(row, 0)? as usize;
            for (i, count) in (1..).zip(&mut stored[number - 1]) {
                *count = Conn::Backend::amount(row, i)?;
            }
            Ok(())
        },
    )?;
    Ok(stored)
}

/// ` WHERE` of a query of rows of entities, on these days. If they `are_locked`, the query fails if
/// one of their rows was deleted after its snapshot.
fn where_rows<'a, DB: CounterBackend>(
    db: Dialect,
    shape: &'a Shape<'a>,
    entities: &'a dyn Entities<DB>,
    days: &'a DayRange,
    are_locked: bool,
) -> Option<Sql<'a, DB>> {
    let of_entities = || entities.condition(db, shape.entity());
    let is_not_deleted = || {
        let table = shape.table;
        let rows = where_all([of_entities()]);
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
