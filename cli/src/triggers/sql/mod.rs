//! What differs by database about triggers.

mod mysql;
mod postgres;
mod sqlite;

use super::Period;
use crate::database::{Database, MYSQL, POSTGRES};

/// The SQL in the statements of triggers. `{}` is a value, or a name.
pub struct TriggerSql {
    /// Today in UTC.
    pub today: &'static str,
    /// The day of counts without a day: 1970-01-01.
    pub undated: &'static str,
    /// The types of days and times.
    pub days: &'static [DayType],
    /// The Monday before a day.
    pub week: &'static str,
    pub month: &'static str,
    pub year: &'static str,
    /// The types of times whose value depends on the session, in a way that the database does not
    /// refuse.
    pub changing: &'static [&'static str],
    /// A weight as an integer. NULL is 0.
    pub weight: &'static str,
    /// A sum of integers. Out of the range of a BIGINT, it is an error, which MySQL and MariaDB
    /// return when they store it, in strict mode.
    pub sum: &'static str,
    /// An integer, or an error if the value has become another type.
    pub whole: &'static str,
    /// How an expression whose value can change is found.
    pub trial: Trial,
    /// A query of all triggers, whose columns are the fields of [`super::trigger::LiveTrigger`].
    pub live: &'static str,
}

/// A type of days or times.
pub struct DayType {
    /// Its name, without a length or a precision.
    pub sql_type: &'static str,
    /// The day in UTC of the value `{}`.
    pub in_utc: &'static str,
}

const fn day_type(sql_type: &'static str, in_utc: &'static str) -> DayType {
    DayType { sql_type, in_utc }
}

/// Statements with which the database tells whether an expression has the same value at all times.
pub struct Trial {
    /// Creates a temporary table like `{rows}`.
    pub create_table: &'static str,
    /// Each uses `{expression}` there in a way that requires a constant value, and fails otherwise.
    pub require_constant: &'static [&'static str],
    /// Whether it meant the same to all of them, if they are of sessions with other settings.
    pub is_same: Option<&'static str>,
    pub drop_table: &'static str,
}

pub fn of(database: Database) -> &'static TriggerSql {
    match database {
        POSTGRES => &postgres::SQL,
        MYSQL => &mysql::SQL,
        _ => &sqlite::SQL,
    }
}

impl TriggerSql {
    /// The first day of the period of a day.
    pub fn start_of(&self, period: Period, day: &str) -> String {
        let start = match period {
            Period::Day => "{}",
            Period::Week => self.week,
            Period::Month => self.month,
            Period::Year => self.year,
            _ => self.undated,
        };
        start.replace("{}", day)
    }

    pub fn whole(&self, value: String) -> String {
        self.whole.replace("{}", &value)
    }
}
