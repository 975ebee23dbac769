//! Finding the rows to merge.

use std::marker::PhantomData;
use std::rc::Rc;

use chrono::NaiveDate;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Date, HasSqlType, SingleValue, SmallInt};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{CounterBackend, Dialect, push_names};
use crate::days::Day;
use crate::maintaining::layout::Layout;
use crate::maintaining::rows::{RowKey, push_select_keys};

/// Which rows are merged, and into which.
#[derive(Debug, Clone, Copy)]
pub struct Which {
    pub(super) first: Day,
    /// The first day that is not.
    pub(super) before: Day,
    /// The last slot that is not.
    pub(super) above_slot: i16,
    /// The day that they are merged into, where it is not their own.
    pub(super) into: Option<Day>,
}

/// How many rows there are to merge.
pub struct CountRows<F> {
    pub(super) layout: Rc<Layout<F>>,
    pub(super) which: Which,
}
statement!(CountRows(F) -> BigInt);

impl<F, DB> QueryFragment<DB> for CountRows<F>
where
    F: QueryFragment<DB>,
    DB: CounterBackend,
    Day: ToSql<Date, DB>,
    i16: ToSql<SmallInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Dialect::of(&out).push_select(&mut out);
        out.push_sql("COUNT(*) FROM ");
        self.layout.table.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE ");
        self.which.walk_condition(&self.layout, out.reborrow())
    }
}

/// How many rows there are whose day is not stored as one.
pub struct CountOtherDays<F>(pub(super) Rc<Layout<F>>);
statement!(CountOtherDays(F) -> BigInt);

impl<F, DB> QueryFragment<DB> for CountOtherDays<F>
where
    F: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let dialect = Dialect::of(&out);
        dialect.push_select(&mut out);
        out.push_sql("COUNT(*) FROM ");
        self.0.table.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE NOT (1 = 1");
        dialect.push_and_is_day(&self.0.day, &mut out)?;
        out.push_sql(")");
        Ok(())
    }
}

/// The keys of the next rows to merge, in order. It locks none.
pub struct NextRows<F, ST, K> {
    pub(super) layout: Rc<Layout<F>>,
    pub(super) which: Which,
    pub(super) after: Option<RowKey<K>>,
    pub(super) limit: i64,
    pub(super) sql_type: PhantomData<ST>,
}
statement!(NextRows(F, ST, K) -> (ST, Date, SmallInt));

impl<F, ST, K, DB> QueryFragment<DB> for NextRows<F, ST, K>
where
    F: QueryFragment<DB>,
    ST: SingleValue,
    K: ToSql<ST, DB>,
    DB: CounterBackend + HasSqlType<ST>,
    Day: ToSql<Date, DB>,
    NaiveDate: ToSql<Date, DB>,
    i16: ToSql<SmallInt, DB>,
    i64: ToSql<BigInt, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        push_select_keys(&self.layout, &mut out)?;
        out.push_sql(" FROM ");
        self.layout.table.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE ");
        self.which.walk_condition(&self.layout, out.reborrow())?;
        if let Some(after) = &self.after {
            out.push_sql(" AND ");
            walk_after::<F, ST, K, DB>(&self.layout, after, out.reborrow())?;
        }
        out.push_sql(" ORDER BY ");
        push_names(&self.layout.key(), &mut out)?;
        out.push_sql(" LIMIT ");
        out.push_bind_param::<BigInt, _>(&self.limit)
    }
}

impl Which {
    fn walk_condition<'b, F, DB>(
        &'b self,
        layout: &'b Layout<F>,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()>
    where
        DB: CounterBackend,
        Day: ToSql<Date, DB>,
        i16: ToSql<SmallInt, DB>,
    {
        out.push_identifier(&layout.day)?;
        out.push_sql(" >= ");
        out.push_bind_param::<Date, _>(&self.first)?;
        out.push_sql(" AND ");
        out.push_identifier(&layout.day)?;
        out.push_sql(" < ");
        out.push_bind_param::<Date, _>(&self.before)?;
        out.push_sql(" AND ");
        out.push_identifier(&layout.slot)?;
        out.push_sql(" > ");
        out.push_bind_param::<SmallInt, _>(&self.above_slot)?;
        Dialect::of(&out).push_and_is_day(&layout.day, &mut out)
    }
}

/// `(entity, day, slot) > (?, ?, ?)`, in words that MySQL finds a range in.
fn walk_after<'b, F, ST, K, DB>(
    layout: &'b Layout<F>,
    (entity, day, slot): &'b RowKey<K>,
    mut out: AstPass<'_, 'b, DB>,
) -> QueryResult<()>
where
    ST: SingleValue,
    K: ToSql<ST, DB>,
    DB: CounterBackend + HasSqlType<ST>,
    NaiveDate: ToSql<Date, DB>,
    i16: ToSql<SmallInt, DB>,
{
    if let Some(name) = &layout.entity {
        out.push_identifier(name)?;
        out.push_sql(" >= ");
        out.push_bind_param::<ST, _>(entity)?;
        out.push_sql(" AND (");
        out.push_identifier(name)?;
        out.push_sql(" > ");
        out.push_bind_param::<ST, _>(entity)?;
        out.push_sql(" OR ");
    }
    out.push_identifier(&layout.day)?;
    out.push_sql(" >= ");
    out.push_bind_param::<Date, _>(day)?;
    out.push_sql(" AND (");
    out.push_identifier(&layout.day)?;
    out.push_sql(" > ");
    out.push_bind_param::<Date, _>(day)?;
    out.push_sql(" OR ");
    out.push_identifier(&layout.slot)?;
    out.push_sql(" > ");
    out.push_bind_param::<SmallInt, _>(slot)?;
    out.push_sql(if layout.entity.is_some() { "))" } else { ")" });
    Ok(())
}
