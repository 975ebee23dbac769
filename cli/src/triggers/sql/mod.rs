//! What differs by database about triggers.

mod mysql;
mod postgres;
mod sqlite;

use diesel_counters::Dialect;

/// The triggers that count rows, and the SQL in their statements. `{}` is a value, or a name.
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
    /// The type of a CAST to an integer.
    pub integer: &'static str,
    /// A weight as an integer. NULL is 0.
    pub weight: &'static str,
    /// A sum of integers, which is an error out of the range of a BIGINT.
    pub sum: &'static str,
    /// The difference of two sums.
    pub minus: fn(one: &str, other: &str) -> String,
    /// After the name of the table of an upsert.
    pub alias: &'static str,
    /// Before the updates of an upsert; `{}` is its key.
    pub on_conflict: &'static str,
    /// The counter `{}` of the row of the table `{table}` that is there already.
    pub kept: &'static str,
    /// Sets a counter to the sum of the old value and another one.
    pub update: fn(name: &str, old: &str, value: &str) -> String,
    /// The column to set in such an update.
    pub set: &'static str,
    /// Updates the rows of a table from others.
    pub update_from: fn(table: &str, from: &str, on: &str, set: &str) -> String,
    /// The value in the row that an upsert could not insert.
    pub new_value: &'static str,
    /// A trigger that runs for each row adds the value itself. When SQLite renames the table, it
    /// changes `excluded` in triggers to the name of the table.
    pub is_new_value_of_table: bool,
    /// Triggers have an IF.
    pub has_if: bool,
    /// Whether the new value is another one than the old one.
    pub differs: fn(new: &str, old: &str) -> String,
    /// Statements that fail for an expression `{expression}` of the table `{rows}` that has not the
    /// same value at all times. They are run in a transaction that is rolled back. The last one is
    /// for a database in which they commit.
    pub try_expression: [&'static str; 3],
    /// Whether a migration that fails leaves what it created before. Then it replaces it.
    pub keeps_half: bool,
    /// A query of all triggers: the schema, the table, the name, the event, the body, why it does not
    /// run, if that is so, and whether every role can use its function.
    pub live: &'static str,
    /// A query of the definitions: the schema in which tables without one are, the name, the text, the
    /// owner, and whether that is the user of the connection.
    pub definitions: &'static str,
}

pub fn of(dialect: Dialect) -> &'static TriggerSql {
    match dialect {
        Dialect::PostgreSql => &postgres::SQL,
        Dialect::MySql => &mysql::SQL,
        Dialect::Sqlite => &sqlite::SQL,
    }
}
