//! Sums of counters over the rows of their table.

use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Date};
use diesel::{Expression, QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, NUMBER, WalkRows};
use crate::counter::{Counters, TableOf};
use crate::key::{BindColumns, Entities, Keys};
use crate::reading::days::{AllDays, Days};
use crate::table::{CounterTable, TableName};

/// A query of the sums of the counters `C` of the entities `E` over some days, grouped by `By`.
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone)]
pub struct Sums<C: Counters, E = (), By = Ungrouped, Days = AllDays> {
    table: TableOf<C>,
    pub(crate) entities: E,
    pub(crate) days: Days,
    pub(crate) by: By,
}

impl<C: Counters, E, By, Days> Sums<C, E, By, Days> {
    pub(crate) fn new(entities: E, by: By, days: Days) -> Self {
        Sums {
            table: TableName::new(),
            entities,
            days,
            by,
        }
    }
}

/// The columns that sums of `C` are grouped by. A row has these columns, and then the sums.
pub trait GroupBy<C: Counters> {
    type SqlType;
    /// The SQL type of a row of the sums of many entities, which begins with a number.
    type Numbered;
    const IS_ONE: bool = false;
}

/// Columns that sums are grouped by, as SQL.
pub trait Columns<DB: CounterBackend> {
    fn walk_columns<'b>(&'b self, day: &str, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// One row, with the sums of all rows.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Ungrouped;

impl<C: Counters> GroupBy<C> for Ungrouped {
    type SqlType = <C as Expression>::SqlType;
    type Numbered = (BigInt, <C as Expression>::SqlType);
    const IS_ONE: bool = true;
}

impl<DB: CounterBackend> Columns<DB> for Ungrouped {
    fn walk_columns<'b>(&'b self, _: &str, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

/// A row for each day.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct ByDay;

impl<C: Counters> GroupBy<C> for ByDay {
    type SqlType = (Date, <C as Expression>::SqlType);
    type Numbered = (BigInt, Date, <C as Expression>::SqlType);
}

impl<DB: CounterBackend> Columns<DB> for ByDay {
    fn walk_columns<'b>(&'b self, day: &str, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_identifier(day)
    }
}

/// A row for each value of the columns `Columns`.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct Grouped<Columns>(pub(crate) Columns);

impl<C: Counters, G: Expression> GroupBy<C> for Grouped<G> {
    type SqlType = (G::SqlType, <C as Expression>::SqlType);
    type Numbered = (BigInt, G::SqlType, <C as Expression>::SqlType);
}

impl<G: QueryFragment<DB>, DB: CounterBackend> Columns<DB> for Grouped<G> {
    fn walk_columns<'b>(&'b self, _: &str, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }
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
    E: Entities<DB>,
    B: GroupBy<C> + Columns<DB>,
    TableOf<C>: QueryFragment<DB>,
    D: Days<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let day = C::Table::DAY;
        Dialect::of(&out).push_select(&mut out);
        if !B::IS_ONE {
            self.by.walk_columns(day, out.reborrow())?;
            out.push_sql(", ");
        }
        push_sums(C::NAMES, &mut out)?;
        out.push_sql(" FROM ");
        self.table.walk_ast(out.reborrow())?;
        let and = self.entities.walk_where(C::Table::ENTITY, out.reborrow())?;
        self.days.walk_where(and, day, out.reborrow())?;
        if !B::IS_ONE {
            for clause in [" GROUP BY ", " ORDER BY "] {
                out.push_sql(clause);
                self.by.walk_columns(day, out.reborrow())?;
            }
        }
        Ok(())
    }
}

/// A query of the sums of the counters `C` of several entities. It has a row for each entity: the
/// number of its key in the list, from 1, and the sums. It has a row for each value of the columns `By`.
#[derive(Debug, Clone)]
pub struct NumberedSums<C: Counters, K, By = Ungrouped, Days = AllDays> {
    table: TableOf<C>,
    keys: Keys<K>,
    days: Days,
    by: By,
}

impl<C: Counters, K, By, Days> NumberedSums<C, K, By, Days> {
    pub(crate) fn new(keys: Keys<K>, by: By, days: Days) -> Self {
        NumberedSums {
            table: TableName::new(),
            keys,
            days,
            by,
        }
    }
}

impl<C: Counters, K, By, Days, Conn> RunQueryDsl<Conn> for NumberedSums<C, K, By, Days> {}

impl<C: Counters, K, By: GroupBy<C>, Days> Query for NumberedSums<C, K, By, Days> {
    type SqlType = By::Numbered;
}

impl<C: Counters, K, By, Days> QueryId for NumberedSums<C, K, By, Days> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<C, K, B, D, DB> QueryFragment<DB> for NumberedSums<C, K, B, D>
where
    C: Counters,
    K: BindColumns<DB>,
    B: GroupBy<C> + Columns<DB>,
    TableOf<C>: QueryFragment<DB>,
    D: Days<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let (day, key) = (C::Table::DAY, &C::Table::ENTITY[..K::NUMBER]);
        let (columns, rows) = (self.keys.columns(), self.keys.len);
        let push_by = |out: &mut AstPass<'_, 'b, DB>| {
            out.push_identifier(NUMBER)?;
            out.push_sql(if B::IS_ONE { "" } else { ", " });
            self.by.walk_columns(day, out.reborrow())
        };
        Dialect::of(&out).push_select(&mut out);
        push_by(&mut out)?;
        out.push_sql(", ");
        push_sums(C::NAMES, &mut out)?;
        DB::ManyRows::walk_from_numbered(key, &self.table, columns, rows, out.reborrow())?;
        self.days.walk_where(" AND ", day, out.reborrow())?;
        out.push_sql(" GROUP BY ");
        push_by(&mut out)?;
        if !B::IS_ONE {
            out.push_sql(" ORDER BY ");
            push_by(&mut out)?;
        }
        Ok(())
    }
}

/// Writes the sums of these counters.
fn push_sums<DB: CounterBackend>(
    counters: &[&str],
    out: &mut AstPass<'_, '_, DB>,
) -> QueryResult<()> {
    let dialect = Dialect::of(out);
    for (i, counter) in counters.iter().enumerate() {
        out.push_sql(if i == 0 { "" } else { ", " });
        dialect.push_sum(counter, out)?;
    }
    Ok(())
}
