//! Days, ranges of days, and periods.

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;

use chrono::{Datelike, Months, NaiveDate, TimeDelta, Utc};
use diesel::query_builder::QueryId;
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Date;

/// A day as a bind value, from 1000-01-01 to 9999-12-31.
///
/// After 9999, MySQL without its strict mode stores 0000-00-00, and SQLite stores text that doesn't
/// sort like a date. Before 1000, MySQL doesn't guarantee anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(pub(crate) NaiveDate);

// So that `debug_query` prints the date.
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
        if !(DayRange::FIRST..=DayRange::LAST).contains(self) {
            return Err(format!(
                "the day {} is out of range: a day is from 1000-01-01 to 9999-12-31",
                self.0
            )
            .into());
        }
        self.0.to_sql(out)
    }
}

/// An inclusive range of days. It consists of whole periods, as far as a database can store their
/// days.
#[derive(Debug, Clone, Copy, QueryId)]
pub struct DayRange {
    pub(crate) first: Day,
    pub(crate) last: Day,
    /// The range that was asked for, including days that a database can't store.
    pub(crate) given: (NaiveDate, NaiveDate),
}

impl DayRange {
    /// The first day that every database can store.
    pub(crate) const FIRST: Day = Day(NaiveDate::from_ymd_opt(1000, 1, 1).unwrap());

    /// The last day that every database can store.
    pub(crate) const LAST: Day = Day(NaiveDate::from_ymd_opt(9999, 12, 31).unwrap());

    /// The days that every database can store.
    pub(crate) const ALL: Self = DayRange {
        first: Self::FIRST,
        last: Self::LAST,
        given: (NaiveDate::MIN, NaiveDate::MAX),
    };

    /// Returns the period that contains `day`.
    pub(crate) fn period_of(day: NaiveDate, period: Period) -> Self {
        let mut days = DayRange::whole(day..=day, period);
        if days.is_empty() {
            // No database can store this day, so a query with it fails instead of finding nothing.
            (days.first, days.last) = (Day(day), Day(day));
        }
        days
    }

    /// Returns the whole periods that overlap the range.
    pub(crate) fn whole(range: impl RangeBounds<NaiveDate>, period: Period) -> Self {
        // An excluded day that no database can store stays as it is: its neighbour could be a day
        // that a database can store, and the range would seem to end there.
        let can_be_stored = |day| (Self::FIRST..=Self::LAST).contains(&Day(day));
        let first = match range.start_bound() {
            Bound::Excluded(&day) if can_be_stored(day) => day.succ_opt().unwrap_or(day),
            Bound::Included(&day) | Bound::Excluded(&day) => day,
            Bound::Unbounded => NaiveDate::MIN,
        };
        let last = match range.end_bound() {
            Bound::Excluded(&day) if can_be_stored(day) => day.pred_opt().unwrap_or(day),
            Bound::Included(&day) | Bound::Excluded(&day) => day,
            Bound::Unbounded => NaiveDate::MAX,
        };
        let given = (first, last);
        DayRange { given, ..Self::ALL }.per(period)
    }

    /// Returns the whole periods of this length that overlap the given range, as far as a database
    /// can store their days.
    pub(crate) fn per(self, period: Period) -> Self {
        let given = self.given;
        let (given_first, given_last) = given;
        let first = Day(given_first).max(Self::FIRST);
        let last = Day(given_last).min(Self::LAST);
        let is_empty = first > last;
        let is_all = (first, last) == (Self::FIRST, Self::LAST);
        let (first, last) = if is_empty {
            // Backwards, so that no day is in the range.
            (Self::LAST, Self::FIRST)
        } else if is_all {
            (first, last)
        } else if period == Period::Total {
            (Day(UNDATED), Day(UNDATED))
        } else {
            let period_start = Day(period.start(first.0));
            let next_start = period.next(period.start(last.0));
            let period_end = next_start.and_then(|next| next.pred_opt()).map(Day);
            (
                period_start.max(Self::FIRST),
                period_end.unwrap_or(last).min(Self::LAST),
            )
        };
        DayRange { first, last, given }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.first > self.last
    }

    /// Whether the range has every day that a database can store.
    pub(crate) fn is_all(&self) -> bool {
        (self.first, self.last) == (Self::FIRST, Self::LAST)
    }
}

/// A day, a week, a month, a year or all time. This is the period that counts are stored by, or
/// that [`counter_series`](crate::dsl::counter_series()) adds up.
///
/// A count is stored under the first day of its period, so a longer period makes fewer rows.
/// Periods are ordered by length: `Day` is the shortest, `Total` the longest.
///
/// A period is printed and parsed in lower case, for example in a configuration file:
///
/// ```
/// use diesel_counters::Period;
///
/// assert_eq!("month".parse(), Ok(Period::Month));
/// assert_eq!(Period::Month.to_string(), "month");
/// assert!("months".parse::<Period>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[non_exhaustive]
pub enum Period {
    /// A day. The default.
    #[default]
    Day,
    /// A week. Its first day is Monday (ISO 8601).
    Week,
    /// A month.
    Month,
    /// A year.
    Year,
    /// All time. Its first day is 1970-01-01.
    Total,
}

impl Period {
    /// Returns the first day of the period that contains `day`.
    ///
    /// ```
    /// use chrono::NaiveDate;
    /// use diesel_counters::Period;
    ///
    /// let day = NaiveDate::from_ymd_opt(2026, 11, 21).unwrap(); // a Saturday
    /// assert_eq!(Period::Week.start(day).to_string(), "2026-11-16");
    /// assert_eq!(Period::Total.start(day).to_string(), "1970-01-01");
    /// ```
    pub fn start(self, day: NaiveDate) -> NaiveDate {
        match self {
            Period::Day => day,
            Period::Week => {
                let since_monday = TimeDelta::days(day.weekday().num_days_from_monday().into());
                // Chrono's first days come before its first Monday. No database stores them.
                day.checked_sub_signed(since_monday).unwrap_or(day)
            }
            Period::Month => day.with_day(1).unwrap_or(day),
            Period::Year => day.with_ordinal(1).unwrap_or(day),
            Period::Total => UNDATED,
        }
    }

    /// Returns the first day of the period after the one that begins with `start`. There is none
    /// after `Total`, or after the last date that Chrono has.
    pub(crate) fn next(self, start: NaiveDate) -> Option<NaiveDate> {
        match self {
            Period::Day => start.succ_opt(),
            Period::Week => start.checked_add_signed(TimeDelta::days(7)),
            Period::Month => start.checked_add_months(Months::new(1)),
            Period::Year => start.checked_add_months(Months::new(12)),
            Period::Total => None,
        }
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Period::Day => "day",
            Period::Week => "week",
            Period::Month => "month",
            Period::Year => "year",
            Period::Total => "total",
        })
    }
}

impl FromStr for Period {
    type Err = ParsePeriodError;

    fn from_str(name: &str) -> Result<Self, ParsePeriodError> {
        match name {
            "day" => Ok(Period::Day),
            "week" => Ok(Period::Week),
            "month" => Ok(Period::Month),
            "year" => Ok(Period::Year),
            "total" => Ok(Period::Total),
            _ => Err(ParsePeriodError(())),
        }
    }
}

/// The error from parsing a [`Period`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParsePeriodError(());

impl fmt::Display for ParsePeriodError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown period: write day, week, month, year or total")
    }
}

impl std::error::Error for ParsePeriodError {}

/// The day that counts without a day are stored under: 1970-01-01.
pub(crate) const UNDATED: NaiveDate = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();

/// Returns today in UTC.
pub fn utc_today() -> NaiveDate {
    Utc::now().date_naive()
}
