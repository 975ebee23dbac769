//! Sums of counters over the rows of their table.

use std::marker::PhantomData;

use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Date};
use diesel::{Expression, QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, NUMBER, WalkRows, push_names};
use crate::counter::{Counters, TableOf};
use crate::entity::{Entities, KeyType, Keys};
use crate::reading::days::{AllDays, Days};
use crate::table::{CounterTable, NoEntity, TableName};

/// A query of the sums of the counters `C` of the entities `E` over some days, grouped by `By`.
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone)]
pub struct Sums<C: Counters, E = NoEntity, By = Ungrouped, Days = AllDays> {
    table: TableOf<C>,
    pub(crate) entities: E,
    pub(crate) days: Days,
    by: PhantomData<By>,
}

impl<C: Counters, E, By, Days> Sums<C, E, By, Days> {
    pub(crate) fn new(entities: E, days: Days) -> Self {
        Sums {
            table: TableName::new(),
            entities,
            days,
            by: PhantomData,
        }
    }
}

/// The columns that sums of `C` are grouped by. A row has these columns, and then the sums.
pub trait GroupBy<C: Counters> {
    type SqlType;
    /// Whether the table's column of days is one of the columns.
    const DAY: bool = false;
}

/// One row, with the sums of all rows.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Ungrouped;
impl<C: Counters> GroupBy<C> for Ungrouped {
    type SqlType = <C as Expression>::SqlType;
}

/// A row for each day.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct ByDay;
impl<C: Counters> GroupBy<C> for ByDay {
    type SqlType = (Date, <C as Expression>::SqlType);
    const DAY: bool = true;
}

impl<C: Counters, E, By, Days, Conn> RunQueryDsl<Conn> for Sums<C, E, By, Days> {}

impl<C: Counters, E, B: GroupBy<C>, Days> Query for Sums<C, E, B, Days> {
    type SqlType = B::SqlType;
}

impl<C, E, By, Days> QueryId for Sums<C, E, By, Days>
where
    C: Counters + QueryId,
    E: QueryId,
    By: QueryId,
    Days: QueryId,
{
    type QueryId = (
        Ungrouped,
        C::QueryId,
        E::QueryId,
        By::QueryId,
        Days::QueryId,
    );
    const HAS_STATIC_QUERY_ID: bool = C::HAS_STATIC_QUERY_ID
        && E::HAS_STATIC_QUERY_ID
        && By::HAS_STATIC_QUERY_ID
        && Days::HAS_STATIC_QUERY_ID;
}

impl<C, E, B, D, DB> QueryFragment<DB> for Sums<C, E, B, D>
where
    C: Counters,
    E: Entities<C::Table, DB>,
    B: GroupBy<C>,
    TableOf<C>: QueryFragment<DB>,
    D: Days<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let by: &[&str] = if B::DAY { &[C::Table::DAY] } else { &[] };
        push_select_sums(by, C::NAMES, &mut out)?;
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        let entity = C::Table::ENTITY.unwrap_or_default();
        let and = self.entities.walk_where(entity, out.reborrow())?;
        self.days.walk_where(and, C::Table::DAY, out.reborrow())?;
        push_group_by(by, &mut out)
    }
}

/// A query of the sums of the counters `C` of several entities. It has a row for each entity: the
/// number of its key in the list, from 1, and the sums. If `By` is [`ByDay`], it has a row for each
/// entity and day.
#[derive(Debug, Clone)]
pub struct NumberedSums<C: Counters, K, By = Ungrouped, Days = AllDays> {
    table: TableOf<C>,
    keys: Keys<K>,
    days: Days,
    by: PhantomData<By>,
}

impl<C: Counters, K, By, Days> NumberedSums<C, K, By, Days> {
    pub(crate) fn new(keys: Keys<K>, days: Days) -> Self {
        NumberedSums {
            table: TableName::new(),
            keys,
            days,
            by: PhantomData,
        }
    }
}

impl<C: Counters, K, By, Days, Conn> RunQueryDsl<Conn> for NumberedSums<C, K, By, Days> {}

impl<C: Counters, K, Days> Query for NumberedSums<C, K, Ungrouped, Days> {
    type SqlType = (BigInt, <C as Expression>::SqlType);
}

impl<C: Counters, K, Days> Query for NumberedSums<C, K, ByDay, Days> {
    type SqlType = (BigInt, Date, <C as Expression>::SqlType);
}

impl<C, K, By, Days> QueryId for NumberedSums<C, K, By, Days>
where
    C: Counters + QueryId,
    Keys<K>: QueryId,
    By: QueryId,
    Days: QueryId,
{
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C, K, B, D, DB> QueryFragment<DB> for NumberedSums<C, K, B, D>
where
    C: Counters,
    B: GroupBy<C>,
    TableOf<C>: QueryFragment<DB>,
    D: Days<DB>,
    DB: CounterBackend<ManyRows: WalkRows<K, KeyType<C>, DB>>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let by = [NUMBER, C::Table::DAY];
        let by = &by[..1 + usize::from(B::DAY)];
        push_select_sums(by, C::NAMES, &mut out)?;
        let entity = C::Table::ENTITY.unwrap_or_default();
        DB::ManyRows::walk_from_numbered(
            self.keys.as_slice(),
            &self.table,
            entity,
            out.reborrow(),
        )?;
        self.days
            .walk_where(" AND ", C::Table::DAY, out.reborrow())?;
        push_group_by(by, &mut out)
    }
}

/// Writes `SELECT`, the columns that the sums are grouped by, and the sums.
pub(crate) fn push_select_sums<DB: CounterBackend>(
    by: &[&str],
    counters: &[&str],
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    let dialect = Dialect::of(out);
    dialect.push_select(out);
    push_names(by, out)?;
    for (i, counter) in counters.iter().enumerate() {
        if i > 0 || !by.is_empty() {
            out.push_sql(", ");
        }
        dialect.push_sum(counter, out)?;
    }
    Ok(())
}

pub(crate) fn push_group_by<DB: CounterBackend>(
    by: &[&str],
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    if !by.is_empty() {
        out.push_sql(" GROUP BY ");
        push_names(by, out)?;
    }
    Ok(())
}
