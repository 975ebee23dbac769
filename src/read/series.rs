//! Counts over time.

use std::iter;

use chrono::NaiveDate;
use diesel::connection::LoadConnection;
use diesel::query_builder::QueryId;
use diesel::query_dsl::methods::LimitDsl;
use diesel::row::Row;
use diesel::{QueryResult, deserialize};

use crate::day::{DayRange, Period, UNDATED};
use crate::error::refuse;
use crate::key::{BindKey, KeyTypes};
use crate::key::{Entities, Together};
use crate::read::sums::{GroupColumns, Many, Sums};
use crate::sql::{CounterBackend, Sql, load, sql};
use crate::typed::counters::{Counters, amounts, sum};
use crate::typed::table::CounterTable;

/// Reads the count of each day, or of each longer period, oldest first. A period in which nothing
/// was counted has 0.
///
/// - [`of`](Sums::of) sets the entity. [`of_many`](Sums::of_many) sets several entities, and their
///   series all have the same periods.
/// - [`between`](Sums::between) sets the range of days. The series has every period that overlaps
///   it. If the range has no first or no last day, the series begins or ends with the first or the
///   last period that has a count.
/// - [`per`](Series::per) sets the period, for example `per(Period::Week)`. Defaults to the table's
///   period.
///
/// Counts without a day, which are stored under 1970-01-01, aren't in any series. If the range
/// begins before 1000-01-01 or ends after 9999-12-31, that end is ignored. If your users choose the
/// range, limit its length.
///
/// ```
/// # include!("../../docs/doctest_setup.rs");
/// # fn main() -> diesel::QueryResult<()> {
/// # let conn = &mut establish_connection();
/// use chrono::{Days, NaiveDate};
/// use diesel_counters::Period;
/// use diesel_counters::prelude::*;
/// use schema::article_counters::views;
///
/// let monday = NaiveDate::from_ymd_opt(2026, 11, 16).unwrap();
/// let day = |n| monday + Days::new(n);
/// increment(views).of(1_i64).by(3).on(day(0)).execute(conn)?;
/// increment(views).of(1_i64).by(5).on(day(2)).execute(conn)?;
///
/// let bars: Vec<(NaiveDate, i64)> = counter_series(views).of(1_i64).between(monday..=day(3)).load(conn)?;
/// assert_eq!(bars, [(day(0), 3), (day(1), 0), (day(2), 5), (day(3), 0)]);
///
/// let weeks = counter_series(views).of(1_i64).per(Period::Week).load(conn)?;
/// assert_eq!(weeks, [(monday, 8)]);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// `load` returns the errors of [`counter_value`](crate::dsl::counter_value()), except that a
/// series of days outside of 1000-01-01 to 9999-12-31 is empty. It also fails with:
///
/// - an [overflow](crate::is_overflow()), if a period's count is out of the range of an `i64`;
/// - a [`QueryBuilderError`](diesel::result::Error::QueryBuilderError), if the period is
///   [`Period::Total`], or is shorter than the period that the table counts by.
pub fn counter_series<C: Counters>(_counters: C) -> Series<C> {
    Sums::new((), ByPeriod(C::Table::PERIOD), DayRange::ALL)
}

/// A query for the counters `C` of the entities `E` over time; made by [`counter_series`].
pub type Series<C, E = ()> = Sums<C, E, ByPeriod, DayRange>;

/// Reads a row for each day, and adds the days up to periods.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct ByPeriod(Period);

/// The first day and the count of each period.
pub type PeriodCounts<C> = Vec<(NaiveDate, <C as Counters>::Value)>;

impl<C: Counters, DB: CounterBackend> GroupColumns<C, DB> for ByPeriod {
    const HAS_NAMES: bool = true;
    fn columns(&self) -> Option<Sql<'_, DB>> {
        Some(sql!("{C::Table::shape().day()}"))
    }
}

impl<C: Counters, E> Series<C, E> {
    /// Sets the period of the series. Defaults to the table's period. If the table counts by week,
    /// a week counts towards the month or year of its Monday.
    pub fn per(mut self, period: Period) -> Self {
        self.by = ByPeriod(period);
        self
    }

    /// Extends the days to whole periods. Fails if the table doesn't have counts by this period.
    fn in_whole_periods(self) -> QueryResult<Self> {
        let stored = C::Table::PERIOD;
        let ByPeriod(period) = self.by;
        let message = match (stored, period) {
            (Period::Total, _) => {
                "this table stores its counts without a day: read them with `counter_value`".into()
            }
            (_, Period::Total) => {
                "there is no series by `Period::Total`: read the total with `counter_value`".into()
            }
            _ if period < stored => {
                format!("this table counts by {stored:?}, so it has no counts by {period:?}")
            }
            _ => return Ok(Sums::new(self.entities, self.by, self.days.per(period))),
        };
        refuse::<Self>(message)
    }
}

impl<C, E, Days> LimitDsl for Sums<C, E, ByPeriod, Days> {
    type Output = Self;

    fn limit(self, _limit: i64) -> Self {
        // Nothing calls this, because Diesel can't run the query. With this impl, the compiler's
        // message is helpful if the series is read with `first`.
        self
    }
}

impl<C: Counters, E: Together> Series<C, E> {
    /// Runs the query. Returns the first day and the count of each period.
    ///
    /// # Errors
    ///
    /// Those of [`counter_series`].
    pub fn load<Conn>(self, conn: &mut Conn) -> QueryResult<PeriodCounts<C>>
    where
        E: Entities<Conn::Backend>,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let sums = self.in_whole_periods()?;
        if sums.days.is_empty() {
            return Ok(Vec::new());
        }
        let day_column = 0;
        let rows = load(
            conn,
            |db| sql!("{sums.sql(db)}"),
            |row| day_and_amounts::<C, Conn::Backend>(row, day_column),
        )?;
        let ByPeriod(period) = sums.by;
        let series = all_periods::<C>(sums.days, period, vec![rows])?;
        Ok(series.into_iter().flatten().collect())
    }
}

impl<C: Counters, Types: KeyTypes, K> Series<C, Many<Types, K>> {
    /// Runs the query. Returns a series for each key, in the order in which you gave the keys. All
    /// of them have the same periods.
    ///
    /// # Errors
    ///
    /// Those of [`counter_series`].
    pub fn load<Conn>(self, conn: &mut Conn) -> QueryResult<Vec<PeriodCounts<C>>>
    where
        K: BindKey<Types, Conn::Backend> + Clone + Ord,
        Conn: LoadConnection<Backend: CounterBackend>,
    {
        let sums = self.in_whole_periods()?;
        let number_of_keys = sums.entities.ids.len();
        if sums.days.is_empty() {
            return Ok(vec![Vec::new(); number_of_keys]);
        }
        let mut rows_by_key = vec![Vec::new(); number_of_keys];
        // The first column is the number of the key.
        let day_column = 1;
        sums.read_each_key(
            conn,
            |row| day_and_amounts::<C, Conn::Backend>(row, day_column),
            |index, row| rows_by_key[index].push(row),
        )?;
        let ByPeriod(period) = sums.by;
        all_periods::<C>(sums.days, period, rows_by_key)
    }
}

/// Reads a row's day from this column, and its amounts from the columns after it.
fn day_and_amounts<'a, C: Counters, DB: CounterBackend>(
    row: &impl Row<'a, DB>,
    day_column: usize,
) -> deserialize::Result<(NaiveDate, C::Amounts)> {
    let day = DB::day(row, day_column)?;
    let first_amount = day_column + 1;
    Ok((day, amounts::<C, DB>(row, first_amount)?))
}

/// Returns a series for each list of rows. They all have the same periods: those that overlap the
/// given days. If the range has no first or no last day, the first or the last day of all rows
/// takes its place.
fn all_periods<C: Counters>(
    days: DayRange,
    period: Period,
    mut lists: Vec<Vec<(NaiveDate, C::Amounts)>>,
) -> QueryResult<Vec<PeriodCounts<C>>> {
    for rows in &mut lists {
        rows.retain(|(day, _)| *day != UNDATED);
    }
    let counted_days = || lists.iter().flatten().map(|(day, _)| *day);
    let (first, last) = days.given;
    let has_first = first >= DayRange::FIRST.0;
    let has_last = last <= DayRange::LAST.0;
    let first = if has_first {
        Some(first)
    } else {
        counted_days().min()
    };
    let last = if has_last {
        Some(last)
    } else {
        counted_days().max()
    };
    let start = first.map(|first| period.start(first));
    let starts = iter::successors(start, |&start| period.next(start));
    let starts = Vec::from_iter(starts.take_while(|&start| Some(start) <= last));
    let series = lists.into_iter();
    series
        .map(|rows| sum_by_period::<C>(&starts, rows))
        .collect()
}

/// Returns the sums of these rows for each of the periods that begin on the days `starts`.
fn sum_by_period<C: Counters>(
    starts: &[NaiveDate],
    rows: Vec<(NaiveDate, C::Amounts)>,
) -> QueryResult<PeriodCounts<C>> {
    let mut amounts_by_period = vec![Vec::new(); starts.len()];
    for (day, amounts) in rows {
        let periods_begun = starts.partition_point(|&start| start <= day);
        // No day is before the first period.
        if let Some(in_period) = amounts_by_period[..periods_begun].last_mut() {
            in_period.push(amounts);
        }
    }
    let periods = starts.iter().zip(amounts_by_period);
    let counts = periods.map(|(&start, amounts)| Ok((start, C::value(sum(&amounts)?))));
    counts.collect()
}
