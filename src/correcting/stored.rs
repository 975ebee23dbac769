//! The stored counts of entities that have been locked.

use std::marker::PhantomData;

use diesel::QueryResult;
use diesel::query_builder::{AstPass, QueryFragment};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::counter::Counters;
use crate::day::DayRange;
use crate::error::overflow;
use crate::key::{Entities, KeyType};
use crate::reading::days::Days;
use crate::settings::CounterSettings;
use crate::slot::Partition;
use crate::table::{CounterTable, KeyNames};

/// A query of the rows of an entity that has been locked.
#[derive(Debug)]
pub struct StoredRows<C, Id> {
    pub(super) of: PhantomData<C>,
    pub(super) id: Id,
    pub(super) days: DayRange,
    /// On MySQL and MariaDB, a query in a transaction at REPEATABLE READ reads the snapshot of the
    /// transaction's first query, unless it locks the rows.
    pub(super) latest: bool,
}

statement!(StoredRows(C, Id) -> C::SqlType where C: Counters);

impl<C, Id, DB> QueryFragment<DB> for StoredRows<C, Id>
where
    C: Counters,
    Id: Entities<KeyType<C>, DB>,
    C::Table: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        push_names(C::NAMES, &mut out)?;
        out.push_sql(" FROM ");
        C::Table::TABLE.walk_ast(out.reborrow())?;
        dialect.push_by_key(&mut out);
        walk_where_locked::<C::Table, _, _>(&self.id, &self.days, out.reborrow())?;
        if self.latest {
            dialect.push_read_latest(C::Table::DAY, C::Table::SLOT, &mut out)?;
        }
        Ok(())
    }
}

/// Writes the condition of a query of rows of entities that have been locked: ` WHERE …`.
pub(super) fn walk_where_locked<'b, T, E, DB>(
    entities: &'b E,
    days: &'b DayRange,
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<()>
where
    T: CounterTable,
    T: QueryFragment<DB>,
    E: Entities<T::KeyType, DB>,
    DB: CounterBackend,
{
    let and = walk_where::<T, _, _>(entities, days, out.reborrow())?;
    let push_rows = |out: &mut AstPass<'_, 'b, DB>| {
        out.push_sql(" FROM ");
        T::TABLE.walk_ast(out.reborrow())?;
        entities.walk_where(T::ENTITY, out.reborrow())?;
        Ok(())
    };
    Dialect::of(&out).push_and_not_deleted(and, push_rows, &mut out)
}

/// Writes the condition of these days of these entities. Returns the word to write before the next
/// condition.
pub(super) fn walk_where<'b, T, E, DB>(
    entities: &'b E,
    days: &'b DayRange,
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<&'static str>
where
    T: CounterTable,
    E: Entities<T::KeyType, DB>,
    DB: CounterBackend,
{
    let and = entities.walk_where(T::ENTITY, out.reborrow())?;
    if days.is_all() {
        return Ok(and);
    }
    days.walk_where(and, T::DAY, out)?;
    Ok(" AND ")
}

/// Takes from each row of the entities `E`, which are locked, on these days, what it has. Then their sums are 0, also
/// those that were out of the range of an `i64`. Increments at the same time are kept.
#[derive(Debug)]
pub struct TakeBack<C, E> {
    entities: E,
    days: DayRange,
    of: PhantomData<C>,
}
statement!(TakeBack(C, E));

impl<C, E> TakeBack<C, E> {
    /// The statement writes rows of all partitions, so it is an error on one of several nodes.
    pub(super) fn new(entities: E, days: DayRange) -> QueryResult<Self> {
        if !Partition::chosen().is_whole() {
            return Err(overflow());
        }
        Ok(TakeBack {
            entities,
            days,
            of: PhantomData,
        })
    }
}

impl<C, E, DB> QueryFragment<DB> for TakeBack<C, E>
where
    C: Counters,
    E: Entities<KeyType<C>, DB>,
    C::Table: QueryFragment<DB>,
    DB: CounterBackend,
{
    // INSERT INTO t (entity, day, slot, views) SELECT entity, day, slot, -MIN(views) FROM t WHERE …
    // GROUP BY entity, day, slot ORDER BY entity, day, slot ON CONFLICT …
    //
    // Each group is one row. Without groups, MySQL and MariaDB could not tell which row's `views` is
    // added to.
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_insert_into(C::Table::TABLE, &mut out)?;
        push_names(C::Table::KEY, &mut out)?;
        out.push_sql(", ");
        push_names(C::NAMES, &mut out)?;
        out.push_sql(") SELECT ");
        push_names(C::Table::KEY, &mut out)?;
        for name in C::NAMES {
            out.push_sql(", ");
            dialect.push_negative_min(name, &mut out)?;
        }
        out.push_sql(" FROM ");
        C::Table::TABLE.walk_ast(out.reborrow())?;
        walk_where::<C::Table, _, _>(&self.entities, &self.days, out.reborrow())?;
        for clause in [" GROUP BY ", " ORDER BY "] {
            out.push_sql(clause);
            push_names(C::Table::KEY, &mut out)?;
        }
        dialect.push_on_conflict_add(C::Table::KEY, C::NAMES, &mut out)
    }
}
