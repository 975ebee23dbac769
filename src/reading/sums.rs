//! Sums of counters over rows of their table.

use std::marker::PhantomData;

use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::Date;
use diesel::{Expression, QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::counter::{Counters, TableOf, table_of};
use crate::days::{AllDays, Days};
use crate::key::{Entities, KeyType, is_exact};
use crate::table::{CounterTable, NoEntity};

/// A query of the sums of the counters `C` of the entities `E` over some days, told
/// apart by `By`.
#[must_use = "a query reads nothing until it is loaded"]
pub struct Sums<C: Counters, E = NoEntity, By = Whole, Days = AllDays> {
    table: TableOf<C>,
    pub(crate) entities: E,
    pub(crate) days: Days,
    by: PhantomData<By>,
}

impl<C: Counters, E, By, Days> Sums<C, E, By, Days> {
    pub(crate) fn new(entities: E, days: Days) -> Self {
        Sums {
            table: table_of::<C>(),
            entities,
            days,
            by: PhantomData,
        }
    }
}

/// What sums of `C` are told apart by, as columns in front of them.
#[doc(hidden)]
pub trait By<C: Counters> {
    type SqlType;
    const ENTITY: bool = false;
    const DAY: bool = false;
}

/// By nothing: there is one row.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Whole;
impl<C: Counters> By<C> for Whole {
    type SqlType = <C as Expression>::SqlType;
}

/// By entity.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct ByEntity;
impl<C: Counters> By<C> for ByEntity {
    type SqlType = (KeyType<C>, <C as Expression>::SqlType);
    const ENTITY: bool = true;
}

/// By day.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct ByDay;
impl<C: Counters> By<C> for ByDay {
    type SqlType = (Date, <C as Expression>::SqlType);
    const DAY: bool = true;
}

/// By entity and day.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct ByEntityAndDay;
impl<C: Counters> By<C> for ByEntityAndDay {
    type SqlType = (KeyType<C>, Date, <C as Expression>::SqlType);
    const ENTITY: bool = true;
    const DAY: bool = true;
}

impl<C: Counters, E, By, Days, Conn> RunQueryDsl<Conn> for Sums<C, E, By, Days> {}

impl<C: Counters, E, B: By<C>, Days> Query for Sums<C, E, B, Days> {
    type SqlType = B::SqlType;
}

impl<C, E, By, Days> QueryId for Sums<C, E, By, Days>
where
    C: Counters + QueryId,
    E: QueryId,
    By: QueryId,
    Days: QueryId,
{
    type QueryId = (Whole, C::QueryId, E::QueryId, By::QueryId, Days::QueryId);
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID
        && E::HAS_STATIC_QUERY_ID
        && By::HAS_STATIC_QUERY_ID
        && Days::HAS_STATIC_QUERY_ID;
}

impl<C, E, B, D, DB> QueryFragment<DB> for Sums<C, E, B, D>
where
    C: Counters,
    E: Entities<C::Table, DB>,
    B: By<C>,
    TableOf<C>: QueryFragment<DB>,
    D: Days<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        let entity = C::Table::ENTITY.unwrap_or_default();
        let day = C::Table::DAY;
        let by: &[&str] = match (B::ENTITY, B::DAY) {
            (false, false) => &[],
            (true, false) => &[entity],
            (false, true) => &[day],
            (true, true) => &[entity, day],
        };

        dialect.push_select(&mut out);
        if B::ENTITY && B::DAY && !is_exact::<KeyType<C>>() {
            // One name for all days, where the database takes several texts for one key.
            out.push_sql("FIRST_VALUE(");
            out.push_identifier(entity)?;
            out.push_sql(") OVER (PARTITION BY ");
            out.push_identifier(entity)?;
            out.push_sql(" ORDER BY ");
            out.push_identifier(day)?;
            out.push_sql("), ");
            out.push_identifier(day)?;
        } else {
            push_names(by, &mut out)?;
        }
        for (i, counter) in C::NAMES.iter().enumerate() {
            if i > 0 || !by.is_empty() {
                out.push_sql(", ");
            }
            dialect.push_sum(counter, &mut out)?;
        }
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        let and = self.entities.walk_where(entity, out.reborrow())?;
        self.days.walk_where(and, day, out.reborrow())?;
        if !by.is_empty() {
            out.push_sql(" GROUP BY ");
            push_names(by, &mut out)?;
        }
        Ok(())
    }
}
