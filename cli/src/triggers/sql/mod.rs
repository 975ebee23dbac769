//! How the databases differ about triggers.

mod mysql;
mod postgres;
mod sqlite;

use super::Period;
use crate::database::{Database, MYSQL, POSTGRES};

/// The SQL in the statements of triggers. `{}` is a value or a name.
pub struct TriggerSql {
    /// Today in UTC.
    pub today: &'static str,
    /// The day of counts without a day: 1970-01-01.
    pub undated: &'static str,
    /// The types of dates and times.
    pub days: &'static [DayType],
    /// The Monday of a day's week.
    pub week: &'static str,
    pub month: &'static str,
    pub year: &'static str,
    /// The types of times that read differently in another session, when the database doesn't
    /// refuse that itself.
    pub changing: &'static [&'static str],
    /// A weight as an integer. NULL is 0.
    pub weight: &'static str,
    /// A sum of integers. Fails if it's out of the range of a BIGINT. MySQL and MariaDB return this
    /// error when they store it, in strict mode.
    pub sum: &'static str,
    /// An integer, or an error if the value has become another type.
    pub whole: &'static str,
    /// How to find out that an expression's value can change.
    pub trial: Trial,
    /// A query for all triggers. Its columns are the fields of [`super::trigger::LiveTrigger`].
    pub live: &'static str,
}

/// A type of dates or times.
pub struct DayType {
    /// Its name, without a length or precision.
    pub sql_type: &'static str,
    /// The day in UTC of the value `{}`.
    pub in_utc: &'static str,
}

/// Returns a type of dates or times. `in_utc` is SQL for the day of the value `{}`.
const fn day_type(sql_type: &'static str, in_utc: &'static str) -> DayType {
    DayType { sql_type, in_utc }
}

/// Statements that make the database tell whether an expression always has the same value.
pub struct Trial {
    /// Creates a temporary table like `{rows}`.
    pub create_table: &'static str,
    /// Each uses `{expression}` in that table where the database requires a constant value, and
    /// fails if it isn't constant.
    pub require_constant: &'static [&'static str],
    /// If these statements ran under different session settings: whether the expression meant the
    /// same in all of them.
    pub is_same: Option<&'static str>,
    pub drop_table: &'static str,
}

/// Returns the SQL in the statements of a database's triggers.
pub fn trigger_sql(database: Database) -> &'static TriggerSql {
    match database {
        POSTGRES => &postgres::SQL,
        MYSQL => &mysql::SQL,
        _ => &sqlite::SQL,
    }
}

impl TriggerSql {
    /// SQL for the first day of the period that a day is in.
    pub fn start_of(&self, period: Period, day: &str) -> String {
        let start = match period {
            Period::Day => "{}",
            Period::Week => self.week,
            Period::Month => self.month,
            Period::Year => self.year,
            // The total has the day of counts without a day.
            _ => self.undated,
        };
        start.replace("{}", day)
    }

    /// SQL for a value as an integer, or for an error if it has become another type.
    pub fn whole(&self, value: String) -> String {
        self.whole.replace("{}", &value)
    }
}
