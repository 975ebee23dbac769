//! The stored counts of entities that have been locked.

use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::counter::{Counters, TableOf};
use crate::key::Entities;
use crate::table::{CounterTable, TableName};

/// A query of the rows of an entity that has been locked.
#[derive(Debug)]
pub struct StoredRows<C: Counters, Id> {
    pub(super) table: TableOf<C>,
    pub(super) id: Id,
    /// On MySQL and MariaDB, a query in a transaction at REPEATABLE READ reads the snapshot of the
    /// transaction's first query, unless it locks the rows.
    pub(super) latest: bool,
}

impl<C: Counters, Id> Query for StoredRows<C, Id> {
    type SqlType = C::SqlType;
}

impl<C: Counters, Id, Conn> RunQueryDsl<Conn> for StoredRows<C, Id> {}

// Distinguishes the query id of this query from others.
#[derive(Debug)]
pub struct Stored;

// On MySQL and MariaDB, which have a second text, the query is not cached.
impl<C: Counters + QueryId, Id: QueryId> QueryId for StoredRows<C, Id> {
    type QueryId = (Stored, C::QueryId, Id::QueryId);
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID && Id::HAS_STATIC_QUERY_ID;
}

impl<C, Id, DB> QueryFragment<DB> for StoredRows<C, Id>
where
    C: Counters,
    Id: Entities<DB>,
    TableOf<C>: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        push_names(C::NAMES, &mut out)?;
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        dialect.push_by_key(&mut out);
        walk_where_locked(&self.table, &self.id, out.reborrow())?;
        if self.latest {
            dialect.push_read_latest(C::Table::DAY, C::Table::SLOT, &mut out)?;
        }
        Ok(())
    }
}

/// Writes the condition of a query of the rows of entities that have been locked: ` WHERE …`.
pub(super) fn walk_where_locked<'b, T, E, DB>(
    table: &'b TableName<T>,
    entities: &'b E,
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<()>
where
    T: CounterTable,
    TableName<T>: QueryFragment<DB>,
    E: Entities<DB>,
    DB: CounterBackend,
{
    let and = entities.walk_where(T::ENTITY, out.reborrow())?;
    let push_rows = |out: &mut AstPass<'_, 'b, DB>| {
        out.push_sql(" FROM ");
        table.walk_ast(out.reborrow())?;
        entities.walk_where(T::ENTITY, out.reborrow())?;
        Ok(())
    };
    Dialect::of(&out).push_and_not_deleted(and, push_rows, &mut out)
}

/// Takes from each row of the entities `E`, which are locked, what it has. Then their sums are 0, also
/// those that were out of the range of an `i64`. Increments at the same time are kept.
#[derive(Debug)]
pub struct TakeBack<C: Counters, E> {
    table: TableOf<C>,
    entities: E,
}

impl<C: Counters, E> TakeBack<C, E> {
    pub(super) fn new(entities: E) -> Self {
        TakeBack {
            table: TableName::new(),
            entities,
        }
    }
}

impl<C: Counters, E, Conn> RunQueryDsl<Conn> for TakeBack<C, E> {}

// It is rare.
impl<C: Counters, E> QueryId for TakeBack<C, E> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C, E, DB> QueryFragment<DB> for TakeBack<C, E>
where
    C: Counters,
    E: Entities<DB>,
    TableOf<C>: QueryFragment<DB>,
    DB: CounterBackend,
{
    // INSERT INTO t (entity, day, slot, views) SELECT entity, day, slot, -MIN(views) FROM t WHERE …
    // GROUP BY entity, day, slot ORDER BY entity, day, slot ON CONFLICT …
    //
    // Each group is one row. Without groups, MySQL and MariaDB could not tell which row's `views` is
    // added to.
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_insert_into(&self.table, &mut out)?;
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
        self.table.walk_ast(out.reborrow())?;
        self.entities.walk_where(C::Table::ENTITY, out.reborrow())?;
        for clause in [" GROUP BY ", " ORDER BY "] {
            out.push_sql(clause);
            push_names(C::Table::KEY, &mut out)?;
        }
        dialect.push_on_conflict_add(C::Table::KEY, C::NAMES, &mut out)
    }
}
