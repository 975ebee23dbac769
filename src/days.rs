//! Days in statements: one, and a range of them.

use std::fmt;
use std::ops::{Bound, RangeBounds};

use chrono::{Datelike, NaiveDate};
use diesel::QueryResult;
use diesel::query_builder::{AstPass, QueryId};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Date;

use crate::backend::CounterBackend;
use crate::period::{Period, UNDATED};

/// A day as a bind value, refused outside 1000-01-01 to 9999-12-31.
///
/// That is what MySQL promises to store. Outside of it MySQL without its strict
/// mode stores 0000-00-00, and SQLite's text no longer sorts as days do.
#[derive(Clone, Copy)]
pub struct Day(pub(crate) NaiveDate);

// As `debug_query` shows it.
impl fmt::Debug for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<DB> ToSql<Date, DB> for Day
where
    DB: diesel::backend::Backend,
    NaiveDate: ToSql<Date, DB>,
{
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, DB>) -> serialize::Result {
        if !(1000..=9999).contains(&self.0.year()) {
            return Err(format!(
                "{} cannot be counted on: a day is from 1000-01-01 to 9999-12-31",
                self.0
            )
            .into());
        }
        self.0.to_sql(out)
    }
}

/// A first and a last day.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct DayRange {
    first: Day,
    last: Day,
}

/// The days that a database can store.
const FIRST: NaiveDate = NaiveDate::from_ymd_opt(1000, 1, 1).unwrap();
const LAST: NaiveDate = NaiveDate::from_ymd_opt(9999, 12, 31).unwrap();

impl DayRange {
    /// The first day that a database can store.
    pub(crate) const FIRST: Day = Day(FIRST);

    /// The last day that a database can store.
    pub(crate) const LAST: Day = Day(LAST);

    pub(crate) const ALL: Self = DayRange {
        first: Day(FIRST),
        last: Day(LAST),
    };

    const EMPTY: Self = DayRange {
        first: Day(LAST),
        last: Day(FIRST),
    };

    pub(crate) fn one(day: NaiveDate) -> Self {
        DayRange {
            first: Day(day),
            last: Day(day),
        }
    }

    /// Nothing can be counted beyond what a database can store, so a range may
    /// reach as far as it likes.
    pub(crate) fn new(range: impl RangeBounds<NaiveDate>) -> Self {
        let first = match range.start_bound() {
            Bound::Included(&day) => Some(day),
            Bound::Excluded(&day) => day.succ_opt(),
            Bound::Unbounded => Some(FIRST),
        };
        let last = match range.end_bound() {
            Bound::Included(&day) => Some(day),
            Bound::Excluded(&day) => day.pred_opt(),
            Bound::Unbounded => Some(LAST),
        };
        match (first, last) {
            (Some(first), Some(last)) if first <= last && first <= LAST && FIRST <= last => {
                DayRange {
                    first: Day(first.max(FIRST)),
                    last: Day(last.min(LAST)),
                }
            }
            _ => DayRange::EMPTY,
        }
    }

    /// The whole periods that the range touches.
    pub(crate) fn whole(range: impl RangeBounds<NaiveDate>, period: Period) -> Self {
        let days = DayRange::new(range);
        if days.is_empty() {
            return DayRange::EMPTY;
        }
        if period == Period::Total {
            return DayRange::one(UNDATED);
        }
        let next = period.next(period.start(days.last.0));
        DayRange {
            first: Day(period.start(days.first.0).max(FIRST)),
            last: next
                .and_then(|next| next.pred_opt())
                .map_or(days.last, |last| Day(last.min(LAST))),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first.0 > self.last.0
    }

    /// The first and the last day, where the range has such an end.
    pub(crate) fn ends(&self) -> (Option<NaiveDate>, Option<NaiveDate>) {
        (
            Some(self.first.0).filter(|&first| first > FIRST),
            Some(self.last.0).filter(|&last| last < LAST),
        )
    }
}

/// The days that a query reads, as SQL.
#[doc(hidden)]
pub trait Days<DB: CounterBackend> {
    /// A condition on the column `day`, after `and`: ` WHERE ` or ` AND `.
    fn walk_where<'b>(&'b self, and: &str, day: &str, out: AstPass<'_, 'b, DB>) -> QueryResult<()>;
}

/// Every day there is.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct AllDays;

impl<DB: CounterBackend> Days<DB> for AllDays {
    fn walk_where<'b>(&'b self, _: &str, _: &str, _: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        Ok(())
    }
}

impl<DB: CounterBackend> Days<DB> for DayRange
where
    Day: ToSql<Date, DB>,
{
    fn walk_where<'b>(
        &'b self,
        and: &str,
        day: &str,
        mut out: AstPass<'_, 'b, DB>,
    ) -> QueryResult<()> {
        out.push_sql(and);
        out.push_identifier(day)?;
        out.push_sql(" BETWEEN ");
        out.push_bind_param::<Date, _>(&self.first)?;
        out.push_sql(" AND ");
        out.push_bind_param::<Date, _>(&self.last)
    }
}
