//! The shape of a counter table: its names, its period and its slots.

use std::fmt;

use chrono::NaiveDate;

use crate::day::Period;
use crate::slot::Slot;

/// The name of a column or a table. It is quoted in a statement, but not by `Display`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name<'a>(pub &'a str);

/// The name of a table, with its schema if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the type says what they are")]
pub struct TableName<'a> {
    pub schema: Option<Name<'a>>,
    pub name: Name<'a>,
}

/// The shape of a counter table, which comes from a `table!` or from a database's catalogue.
#[derive(Debug, Clone)]
pub struct Shape<'a> {
    /// The table's name, as SQL.
    pub table: TableName<'a>,
    /// The table's name in messages: its Rust module, if it has one.
    pub label: &'a str,
    /// The columns of the primary key: the entity's key, the day and the slot.
    pub key: Vec<Name<'a>>,
    /// The columns that are counters.
    pub counters: Vec<Name<'a>>,
    /// Other columns. A merge discards their values in the rows that it merges. It fails if the
    /// table has a column that isn't in its shape.
    pub others: Vec<Name<'a>>,
    /// The period that the table counts by.
    pub period: Period,
    /// The number of slots.
    pub slots: i16,
    /// How an increment chooses its slot.
    pub choice: Slot,
    /// Returns today's date. `Shape::today` returns the first day of its period.
    pub today: fn() -> NaiveDate,
}

impl<'a> Shape<'a> {
    /// The columns of the entity's key; empty if the primary key is `(day, slot)`.
    pub fn entity(&self) -> &[Name<'a>] {
        &self.key[..self.key.len() - 2]
    }

    /// The columns of the entity's key, and the day.
    pub(crate) fn entity_and_day(&self) -> &[Name<'a>] {
        &self.key[..self.key.len() - 1]
    }

    /// The day column.
    pub fn day(&self) -> Name<'a> {
        self.key[self.key.len() - 2]
    }

    /// The slot column.
    pub fn slot(&self) -> Name<'a> {
        self.key[self.key.len() - 1]
    }

    /// Returns the first day of the period that contains today.
    pub(crate) fn today(&self) -> NaiveDate {
        self.period.start((self.today)())
    }

    /// Returns whether this shape has the column. `all_columns` has all columns that the table has
    /// in the database.
    pub(crate) fn knows(&self, column: &str, all_columns: &[String]) -> bool {
        // Our names can differ in case from those in the database. Only PostgreSQL allows two
        // columns whose names differ only in case, and there the shape has the exact name. So if
        // the exact name is a column too, a name in another case is a different column.
        let has_exactly = |name: &str| all_columns.iter().any(|column| column == name);
        let mut known = self.key.iter().chain(&self.counters).chain(&self.others);
        known.any(|Name(name)| {
            *name == column || name.eq_ignore_ascii_case(column) && !has_exactly(name)
        })
    }
}

impl TableName<'_> {
    /// Returns the name with quotes, for example `"stats"."article_counters"`.
    pub(crate) fn quoted(&self) -> String {
        let names = self.schema.into_iter().chain([self.name]);
        let quoted = names.map(|Name(name)| format!("\"{}\"", name.replace('"', "\"\"")));
        Vec::from_iter(quoted).join(".")
    }
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Display for TableName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.schema {
            Some(schema) => write!(f, "{schema}.{}", self.name),
            None => self.name.fmt(f),
        }
    }
}
