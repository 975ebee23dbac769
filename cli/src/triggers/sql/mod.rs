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
    /// The types of days and times, and the day in UTC.
    pub days: &'static [(&'static str, &'static str)],
    /// The Monday before a day.
    pub week: &'static str,
    pub month: &'static str,
    pub year: &'static str,
    /// The type of times whose value depends on the time zone of the session.
    pub zoned: Option<&'static str>,
    /// A weight as an integer. NULL is 0.
    pub weight: &'static str,
    /// A sum of integers, which is an error out of the range of a BIGINT.
    pub sum: &'static str,
    /// An integer, or an error if the value has become another type.
    pub whole: &'static str,
    /// An error that names the counter `{what}`, whose column cannot hold `{sum}`: in a trigger,
    /// and elsewhere.
    pub overflow: [&'static str; 2],
    /// Whether the new value is another one than the old one.
    pub differs: fn(new: &str, old: &str) -> String,
    /// Statements that fail for an expression `{expression}` of the table `{rows}` that has not the
    /// same value at all times. They are run in a transaction that is rolled back. The last one is
    /// for a database in which they commit.
    pub try_expression: [&'static str; 3],
    /// A query of all triggers: the schema, the table, the name, the event, the body, why it does
    /// not run, if that is so, its function, and whether every role can use that.
    pub live: &'static str,
    /// A query of the definitions: the schema in which tables without one are, the name, the text,
    /// the owner, and whether that is the user of the connection.
    pub definitions: &'static str,
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

    /// Sets a counter to the sum of the old value and another one.
    pub fn update(&self, name: &str, old: &str, value: &str) -> String {
        format!("{name} = {}", self.whole(format!("{old} + {value}")))
    }
}
