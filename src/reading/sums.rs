//! Sums of counters over the rows of their table.

use std::marker::PhantomData;

use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Date};
use diesel::{Expression, QueryResult, RunQueryDsl};

use crate::backend::{
    Bind, CounterBackend, Dialect, NUMBER, SUM, WalkRows, numbered, push_is_wanted, push_names,
};
use crate::counter::Counters;
use crate::key::{BindColumns, Entities, KeyType, Keys};
use crate::reading::days::{AllDays, Days};
use crate::settings::CounterSettings;
use crate::table::KeyNames;

/// A query of the sums of the counters `C` of the entities `E` over some days, grouped by `By`.
///
/// For several entities, `E` is [`Many`], and the query is not a Diesel query.
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone, QueryId)]
pub struct Sums<C, E = (), By = Ungrouped, Days = AllDays> {
    pub(crate) entities: E,
    pub(crate) days: Days,
    pub(crate) by: By,
    of: PhantomData<C>,
}

impl<C, E, By, Days> Sums<C, E, By, Days> {
    pub(crate) fn new(entities: E, by: By, days: Days) -> Self {
        Sums {
            entities,
            days,
            by,
            of: PhantomData,
        }
    }
}

/// Several entities, by their keys `K`, each of which has the first `N` columns.
#[derive(Debug, Clone)]
pub struct Many<K, N> {
    pub(crate) ids: Vec<K>,
    columns: PhantomData<N>,
}

impl<K, N> Many<K, N> {
    pub(crate) fn new(ids: impl IntoIterator<Item = K>) -> Self {
        Many {
            ids: ids.into_iter().collect(),
            columns: PhantomData,
        }
    }
}

/// The columns that sums of `C` are grouped by. A row has these columns, and then the sums.
pub trait GroupBy<C: Counters> {
    type SqlType;
    const IS_ONE: bool = false;
    /// Whether the columns are written as names, without their table.
    const HAS_NAMES: bool = false;
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
    const IS_ONE: bool = true;
    const HAS_NAMES: bool = true;
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
    const HAS_NAMES: bool = true;
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
}

impl<G: QueryFragment<DB>, DB: CounterBackend> Columns<DB> for Grouped<G> {
    fn walk_columns<'b>(&'b self, _: &str, out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        self.0.walk_ast(out)
    }
}

impl<C, E, By, Days, Conn> RunQueryDsl<Conn> for Sums<C, E, By, Days> {}

impl<C: Counters, E, B: GroupBy<C>, Days> Query for Sums<C, E, B, Days> {
    type SqlType = B::SqlType;
}

impl<C, E, B, D, DB> QueryFragment<DB> for Sums<C, E, B, D>
where
    C: Counters,
    E: Entities<KeyType<C>, DB>,
    B: GroupBy<C> + Columns<DB>,
    C::Table: QueryFragment<DB>,
    D: Days<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        let push_from = |out: &mut AstPass<'_, 'b, DB>| {
            out.push_sql(" FROM ");
            C::Table::TABLE.walk_ast(out.reborrow())?;
            let and = self.entities.walk_where(C::Table::ENTITY, out.reborrow())?;
            self.days.walk_where(and, C::Table::DAY, out.reborrow())
        };
        if B::IS_ONE {
            let push_query = |out: &mut AstPass<'_, 'b, DB>| {
                out.push_sql("SELECT ");
                push_sums(C::NAMES, out)?;
                push_from(out)
            };
            return dialect.push_one_row(C::NAMES.len(), push_query, &mut out);
        }
        dialect.push_select(&mut out);
        self.by.walk_columns(C::Table::DAY, out.reborrow())?;
        out.push_sql(", ");
        push_sums(C::NAMES, &mut out)?;
        push_from(&mut out)?;
        for clause in [" GROUP BY ", " ORDER BY "] {
            out.push_sql(clause);
            self.by.walk_columns(C::Table::DAY, out.reborrow())?;
        }
        Ok(())
    }
}

/// A query of the sums of the counters `C` of several entities. Each row begins with the number of its
/// key in the list, from 1. It has a row for each value of the columns `By`.
#[derive(Debug, Clone)]
pub struct NumberedSums<C, K, By = Ungrouped, Days = AllDays> {
    keys: Keys<K>,
    days: Days,
    by: By,
    of: PhantomData<C>,
}
statement!(NumberedSums(C, K, By, Days) -> (BigInt, By::SqlType) where C: Counters, By: GroupBy<C>);

impl<C, K, By, Days> NumberedSums<C, K, By, Days> {
    pub(crate) fn new(keys: Keys<K>, by: By, days: Days) -> Self {
        NumberedSums {
            keys,
            days,
            by,
            of: PhantomData,
        }
    }
}

impl<C, K, B, D, DB> QueryFragment<DB> for NumberedSums<C, K, B, D>
where
    C: Counters,
    K: BindColumns<DB>,
    B: GroupBy<C> + Columns<DB>,
    C::Table: QueryFragment<DB>,
    D: Days<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let (table, day) = (C::Table::TABLE, C::Table::DAY);
        let key = &C::Table::ENTITY[..K::NUMBER];
        let (columns, rows) = (self.keys.columns(), self.keys.len);
        let dialect = Dialect::of(&out);
        let push_by = |before: &str, out: &mut AstPass<'_, 'b, DB>| {
            out.push_sql(before);
            out.push_identifier(NUMBER)?;
            out.push_sql(if B::IS_ONE { "" } else { ", " });
            self.by.walk_columns(day, out.reborrow())
        };
        let push_list = |out: &mut AstPass<'_, 'b, DB>| {
            DB::ManyRows::walk_from_numbered(key, table, columns, rows, out.reborrow())
        };
        let push_given = |out: &mut AstPass<'_, 'b, DB>| {
            out.push_sql(" WHERE ");
            out.push_identifier(NUMBER)?;
            out.push_sql(" <= ");
            DB::push_bind(Bind::Amount(&self.keys.given), out)
        };
        dialect.push_select(&mut out);
        push_by("", &mut out)?;
        // One way each is the fastest: to sum the rows that are found by the list, and then to number the
        // sums; a subquery for each key; or a join, which reads the rows once for several counters.
        if B::HAS_NAMES && dialect == Dialect::PostgreSql {
            for i in 0..C::NAMES.len() {
                out.push_sql(", ");
                out.push_sql(&numbered(SUM, i));
            }
            push_list(&mut out)?;
            out.push_sql(" JOIN (SELECT ");
            let push_group = |out: &mut AstPass<'_, 'b, DB>| {
                push_names(key, out)?;
                out.push_sql(if B::IS_ONE { "" } else { ", " });
                self.by.walk_columns(day, out.reborrow())
            };
            push_group(&mut out)?;
            out.push_sql(", ");
            push_sums(C::NAMES, &mut out)?;
            out.push_sql(" FROM ");
            table.walk_ast(out.reborrow())?;
            out.push_sql(" WHERE ");
            DB::ManyRows::walk_in(key, columns, rows, out.reborrow())?;
            self.days.walk_where(" AND ", day, out.reborrow())?;
            out.push_sql(" GROUP BY ");
            push_group(&mut out)?;
            out.push_sql(") AS diesel_counters_sums");
            push_is_wanted(" ON ", key, &mut out)?;
            push_given(&mut out)?;
        } else if B::IS_ONE && C::NAMES.len() <= 2 {
            for counter in C::NAMES {
                out.push_sql(", (SELECT ");
                dialect.push_sum(counter, &mut out)?;
                out.push_sql(" FROM ");
                table.walk_ast(out.reborrow())?;
                push_is_wanted(" WHERE ", key, &mut out)?;
                self.days.walk_where(" AND ", day, out.reborrow())?;
                out.push_sql(")");
            }
            push_list(&mut out)?;
            push_given(&mut out)?;
        } else {
            out.push_sql(", ");
            push_sums(C::NAMES, &mut out)?;
            push_list(&mut out)?;
            DB::ManyRows::walk_join_numbered(key, table, columns, rows, out.reborrow())?;
            push_given(&mut out)?;
            self.days.walk_where(" AND ", day, out.reborrow())?;
            push_by(" GROUP BY ", &mut out)?;
        }
        match B::HAS_NAMES {
            // A series sorts its days.
            true => Ok(()),
            false => push_by(" ORDER BY ", &mut out),
        }
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
        out.push_sql(" AS ");
        out.push_sql(&numbered(SUM, i));
    }
    Ok(())
}
