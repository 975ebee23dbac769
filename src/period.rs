//! How finely counts are told apart in time.

use chrono::{Datelike, Days, Months, NaiveDate, Utc};

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
            Period::Total => UNDATED,
        }
    }

    /// The first day of the next one.
    pub(crate) fn next(self, start: NaiveDate) -> Option<NaiveDate> {
        match self {
            Period::Day => start.succ_opt(),
            Period::Week => start.checked_add_days(Days::new(7)),
            Period::Month => start.checked_add_months(Months::new(1)),
            Period::Total => None,
        }
    }
}

/// What has no day is filed under this one: 1970-01-01.
pub(crate) const UNDATED: NaiveDate = NaiveDate::from_ymd_opt(1970, 1, 1).unwrap();

/// Today in UTC, which is the day of a model that names no `today` of its own.
pub fn utc_today() -> NaiveDate {
    Utc::now().date_naive()
}
