//! Folding old days into one undated row.

use std::marker::PhantomData;

use chrono::NaiveDate;

use crate::days::{Day, DayRange};
use crate::maintaining::compact::{Compact, StoredTable};
use crate::maintaining::layout::Layout;
use crate::maintaining::next_rows::Which;
use crate::period::UNDATED;

/// Folds old days: of an entity's rows of all days before a limit, one is left, which has
/// no day.
///
/// Totals stay as they are, and series begin later: what was counted on a day that is
/// folded is filed under 1970-01-01, where no series looks. Days at or after the limit, and
/// before 1970, are not touched. A [partitioned table](crate::CounterTable#partitions) requires
/// a partition for 1970-01-01. Otherwise it is as [`compact`](crate::compact()), whose
/// docs say how it works beside others.
///
/// ```
/// # include!("../doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// # let new_year = chrono::NaiveDate::from_ymd_opt(2026, 1, 1).unwrap();
/// use diesel_counters::fold;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// for day in [new_year - chrono::Days::new(1), new_year] {
///     increment(views).of(1_i64).on(day).by(10).execute(conn)?;
/// }
/// fold(article_counters::table).before(new_year).run(conn)?;
///
/// let total = counter_value(views).of(1_i64);
/// assert_eq!(total.between(new_year..).get_result::<i64>(conn)?, 10);
/// let total = counter_value(views).of(1_i64);
/// assert_eq!(total.get_result::<i64>(conn)?, 20);
/// # Ok(())
/// # }
/// ```
///
/// There is no way back: keep as many days as you ever want to draw. A row is as old as the
/// first day of its [`Period`](crate::Period): of counts by the month, give `before` the
/// first day of a month.
pub fn fold<T: StoredTable>(_table: T) -> Fold<T> {
    Fold(PhantomData)
}

/// What folds days of the table `T` once it is told which; made by [`fold`].
#[must_use = "nothing is folded until `before` says which days, and it is run"]
pub struct Fold<T>(PhantomData<T>);

impl<T: StoredTable> Fold<T> {
    /// Folds the days before this one.
    pub fn before(
        self,
        day: NaiveDate,
    ) -> Compact<'static, T::FromClause, T::StoredSqlType, T::StoredKey> {
        Compact::folding(Layout::of::<T>(), day)
    }
}

impl<F, ST, K> Compact<'static, F, ST, K> {
    /// As [`fold`], of the days before `day`, and of a table that is known only as the
    /// program runs.
    pub fn folding(layout: Layout<F>, day: NaiveDate) -> Self {
        let which = Which {
            first: Day(UNDATED.succ_opt().unwrap_or(UNDATED)),
            before: DayRange::FIRST,
            above_slot: -1,
            into: Some(Day(UNDATED)),
        };
        Compact::of_rows(layout, which).before(day)
    }
}
