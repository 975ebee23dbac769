//! Sums of a counter table that is known only at run time.

use std::ops::RangeBounds;

use chrono::NaiveDate;
use diesel::backend::Backend;
use diesel::deserialize::{self, FromSql, QueryableByName};
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::row::NamedRow;
use diesel::sql_types::{BigInt, Date, Nullable, SmallInt, Text, Untyped};
use diesel::{QueryResult, RunQueryDsl};

use crate::backend::{Bind, CounterBackend, Dialect, push_names};
use crate::day::{Day, DayRange, UNDATED};
use crate::key::field;
use crate::layout::Layout;
use crate::reading::days::Days;

/// A query of the sums of all counters of a table that is known only at run time; made by
/// [`Layout::sums`]. Load it as [`LayoutSum`].
#[must_use = "a query reads nothing until it is loaded"]
#[derive(Debug, Clone, Copy)]
pub struct LayoutSums<'l, F, Where = Always, Key = Always> {
    layout: &'l Layout<F>,
    by: By,
    key: Key,
    condition: Where,
    days: DayRange,
    greatest: Option<i64>,
}

/// A row of [`LayoutSums`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LayoutSum {
    /// The entity's key as text, if the sums are grouped by entity.
    pub entity: Option<String>,
    /// The day, if the sums are grouped by day.
    pub day: Option<NaiveDate>,
    /// The slot, if the sums are grouped by slot.
    pub slot: Option<i16>,
    /// The number of rows of the table.
    pub rows: i64,
    /// The number of different slots, if the sums are not grouped.
    pub slots: Option<i64>,
    /// The number of entities, if the sums are not grouped and the table has entities.
    pub entities: Option<i64>,
    /// The first day, if the sums are not grouped. 1970-01-01 does not count as a day.
    pub first_day: Option<NaiveDate>,
    /// The last day, if the sums are not grouped. 1970-01-01 does not count as a day.
    pub last_day: Option<NaiveDate>,
    /// The sum of each counter, in the order of the layout.
    pub sums: Vec<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Nothing,
    Entity,
    Day,
    Slot,
}

/// A condition that is always true.
#[derive(Debug, Clone, Copy)]
pub struct Always;

impl<DB: Backend> QueryFragment<DB> for Always {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("1 = 1");
        Ok(())
    }
}

impl<F> Layout<F> {
    /// Returns a query of the sums of all counters. It has one row, unless the sums are grouped.
    pub fn sums(&self) -> LayoutSums<'_, F> {
        LayoutSums {
            layout: self,
            by: By::Nothing,
            key: Always,
            condition: Always,
            days: DayRange::ALL,
            greatest: None,
        }
    }
}

impl<'l, F, Where, Key> LayoutSums<'l, F, Where, Key> {
    /// Groups the sums by day. The rows are in the order of the days.
    pub fn by_day(self) -> Self {
        LayoutSums {
            by: By::Day,
            ..self
        }
    }

    /// Groups the sums by slot. The rows are in the order of the slots.
    pub fn by_slot(self) -> Self {
        LayoutSums {
            by: By::Slot,
            ..self
        }
    }

    /// Groups the sums by entity. The rows are in the order of the keys. `key` is an SQL expression
    /// for the entity's key as text.
    pub fn by_entity<K>(self, key: K) -> LayoutSums<'l, F, Where, K> {
        LayoutSums {
            layout: self.layout,
            by: By::Entity,
            key,
            condition: self.condition,
            days: self.days,
            greatest: self.greatest,
        }
    }

    /// Reads only the rows for which `condition`, an SQL expression, is true.
    pub fn filter<W>(self, condition: W) -> LayoutSums<'l, F, W, Key> {
        LayoutSums {
            layout: self.layout,
            by: self.by,
            key: self.key,
            condition,
            days: self.days,
            greatest: self.greatest,
        }
    }

    /// Reads only a range of days.
    pub fn between(self, days: impl RangeBounds<NaiveDate>) -> Self {
        LayoutSums {
            days: DayRange::new(days),
            ..self
        }
    }

    /// Returns only the `n` groups with the greatest sums of the layout's first counter, greatest
    /// first.
    pub fn greatest(self, n: i64) -> Self {
        LayoutSums {
            greatest: Some(n),
            ..self
        }
    }
}

impl<F, Where, Key, Conn> RunQueryDsl<Conn> for LayoutSums<'_, F, Where, Key> {}

impl<F, Where, Key> Query for LayoutSums<'_, F, Where, Key> {
    type SqlType = Untyped;
}

impl<F, Where, Key> QueryId for LayoutSums<'_, F, Where, Key> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl<F, Where, Key, DB> QueryFragment<DB> for LayoutSums<'_, F, Where, Key>
where
    F: QueryFragment<DB>,
    Where: QueryFragment<DB>,
    Key: QueryFragment<DB>,
    DB: CounterBackend,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.unsafe_to_cache_prepared();
        let dialect = Dialect::of(&out);
        let layout = self.layout;
        let by: &[&str] = &match self.by {
            By::Nothing => vec![],
            By::Entity => layout.entity(),
            By::Day => vec![&*layout.day],
            By::Slot => vec![&*layout.slot],
        };
        dialect.push_select(&mut out);
        for (i, column) in [By::Entity, By::Day, By::Slot].into_iter().enumerate() {
            out.push_sql(if i == 0 { "" } else { ", " });
            match self.by == column {
                true if column == By::Entity => {
                    self.key.walk_ast(out.reborrow())?;
                    // Without an alias, PostgreSQL would give it the name of the column, and the
                    // `ORDER BY` would use it.
                    out.push_sql(" AS diesel_counters_key");
                }
                true => push_names(by, &mut out)?,
                false => out.push_sql("NULL"),
            }
        }
        out.push_sql(", COUNT(*), ");
        match self.by {
            By::Nothing => self.walk_extent(out.reborrow())?,
            // For many groups these would take much longer.
            _ => out.push_sql("NULL, NULL, NULL, NULL"),
        }
        for counter in layout.counters() {
            out.push_sql(", ");
            dialect.push_sum(counter, &mut out)?;
        }
        out.push_sql(" FROM ");
        layout.table.walk_ast(out.reborrow())?;
        out.push_sql(" WHERE (");
        self.condition.walk_ast(out.reborrow())?;
        out.push_sql(")");
        // Only where a day is read must each be one that a `NaiveDate` can be.
        if self.by == By::Day || !self.days.is_all() {
            self.days.walk_where(" AND ", &layout.day, out.reborrow())?;
        }
        if !by.is_empty() {
            out.push_sql(" GROUP BY ");
            push_names(by, &mut out)?;
            out.push_sql(" ORDER BY ");
            if let (Some(_), Some(first)) = (self.greatest, layout.counters.first()) {
                dialect.push_sum(first, &mut out)?;
                out.push_sql(" DESC, ");
            }
            push_names(by, &mut out)?;
        }
        if let Some(limit) = &self.greatest {
            out.push_sql(" LIMIT ");
            DB::push_bind(Bind::Amount(limit), &mut out)?;
        }
        Ok(())
    }
}

impl<F, Where, Key> LayoutSums<'_, F, Where, Key> {
    fn walk_extent<'b, DB>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()>
    where
        DB: CounterBackend,
    {
        let Layout { day, slot, .. } = self.layout;
        let dialect = Dialect::of(&out);
        for columns in [vec![&**slot], self.layout.entity()] {
            match columns.is_empty() {
                true => out.push_sql("NULL"),
                false => dialect.push_count_distinct(&columns, &mut out)?,
            }
            out.push_sql(", ");
        }
        for function in ["MIN", ", MAX"] {
            out.push_sql(function);
            out.push_sql("(CASE WHEN ");
            out.push_identifier(day)?;
            out.push_sql(" <> ");
            DB::push_bind(Bind::Day(&Day(UNDATED)), &mut out)?;
            DayRange::ALL.walk_where(" AND ", day, out.reborrow())?;
            out.push_sql(" THEN ");
            out.push_identifier(day)?;
            out.push_sql(" END)");
        }
        Ok(())
    }
}

impl<DB> QueryableByName<DB> for LayoutSum
where
    DB: Backend,
    Option<String>: FromSql<Nullable<Text>, DB>,
    Option<NaiveDate>: FromSql<Nullable<Date>, DB>,
    Option<i16>: FromSql<Nullable<SmallInt>, DB>,
    Option<i64>: FromSql<Nullable<BigInt>, DB>,
{
    fn build<'a>(row: &impl NamedRow<'a, DB>) -> deserialize::Result<Self> {
        Ok(LayoutSum {
            entity: field(row, 0)?,
            day: field(row, 1)?,
            slot: field(row, 2)?,
            rows: field::<_, Option<i64>, _>(row, 3)?.unwrap_or_default(),
            slots: field(row, 4)?,
            entities: field(row, 5)?,
            first_day: field(row, 6)?,
            last_day: field(row, 7)?,
            sums: (8..row.field_count())
                .map(|i| Ok(field::<_, Option<i64>, _>(row, i)?.unwrap_or_default()))
                .collect::<deserialize::Result<_>>()?,
        })
    }
}
