//! The days that counts are filed under.

use std::fmt;

use chrono::{Datelike, Days, NaiveDate, Utc};
use diesel::serialize::{self, Output, ToSql};
use diesel::sql_types::Date;

/// How finely a model's counts are told apart in time.
///
/// Chosen with `#[counters(period = "…")]`. A count is filed under the first
/// day of the period that it falls in, so a coarser period makes fewer rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Period {
    /// Each day by itself.
    #[default]
    Day,
    /// Weeks, each filed under its Monday (ISO 8601).
    Week,
    /// Months, each filed under its first day.
    Month,
    /// No time at all: everything is filed under 1970-01-01.
    Total,
}

impl Period {
    /// The day that a count of `day` is filed under.
    ///
    /// ```
    /// use chrono::NaiveDate;
    /// use diesel_counters::Period;
    ///
    /// let day = NaiveDate::from_ymd_opt(2026, 11, 21).unwrap(); // a Saturday
    /// assert_eq!(Period::Day.start(day).to_string(), "2026-11-21");
    /// assert_eq!(Period::Week.start(day).to_string(), "2026-11-16");
    /// assert_eq!(Period::Month.start(day).to_string(), "2026-11-01");
    /// assert_eq!(Period::Total.start(day).to_string(), "1970-01-01");
    /// ```
    pub fn start(self, day: NaiveDate) -> NaiveDate {
        match self {
            Period::Day => day,
            Period::Week => {
                let since_monday = day.weekday().num_days_from_monday();
                // Before the first Monday that chrono knows there is only `day`,
                // and no database stores that.
                day.checked_sub_days(Days::new(since_monday.into()))
                    .unwrap_or(day)
            }
            Period::Month => day.with_day(1).unwrap_or(day),
            Period::Total => NaiveDate::default(),
        }
    }
}

/// Today in UTC, which is the day of a model that names no `today` of its own.
pub fn utc_today() -> NaiveDate {
    Utc::now().date_naive()
}

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
