//! What an update changes about a row, as conditions on its old and new values.

use super::counting::Counting;
use super::statement::{NEW, OLD};
use super::target::{Source, Target};
use super::values::LONG;
use crate::catalogue::Column;
use crate::database::{MYSQL, SQLITE};

impl Counting {
    /// A condition that an update has changed what a row adds.
    pub fn changed(&self, target: &Target, source: &Source) -> String {
        self.differ(|row| self.values(target, source, row))
    }

    /// A condition that an update has changed what a row adds anywhere.
    pub fn changed_anywhere(&self) -> String {
        self.differ(|row| {
            let sources = self.sources();
            let all = sources.flat_map(|(target, source)| self.values(target, source, row));
            let mut values: Vec<String> = Vec::new();
            for value in all {
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            values
        })
    }

    /// Returns every value that decides what a row adds.
    fn values(&self, target: &Target, source: &Source, row: &str) -> Vec<String> {
        let columns = source.entity.iter();
        let mut values: Vec<_> = columns.map(|column| self.exactly(column, row)).collect();
        // With deleted = "kept", a row that moves to another day counts there again.
        if target.slots.is_some() || self.keeps_deleted() {
            values.extend(self.exact_day(row));
        }
        let expressions = source.weights.iter().flatten().chain(&self.when);
        let variable = expressions.filter(|one| !one.is_one());
        values.extend(variable.map(|one| one.of(row, self.database)));
        values
    }

    fn differ(&self, values_of: impl Fn(&str) -> Vec<String>) -> String {
        let (old, new) = (values_of(OLD), values_of(NEW));
        match (self.database, &*old) {
            // The row always adds 1 to the table's only row.
            (_, []) => "1 = 0".to_owned(),
            (SQLITE, [old]) => format!("{old} IS NOT {}", new[0]),
            (SQLITE, _) => format!("({}) IS NOT ({})", old.join(", "), new.join(", ")),
            (database, _) => {
                let pairs = old.iter().zip(&new);
                let same: Vec<_> = pairs
                    .map(|(old, new)| database.are_same(old, new))
                    .collect();
                let line = same.join(" AND ");
                if line.len() > LONG {
                    return format!("NOT ({})", same.join("\n        AND "));
                }
                format!("NOT ({line})")
            }
        }
    }

    /// Conditions that are true if a row keeps its entity and its day in an update, and still
    /// counts. `new` and `old` are the names of the row.
    pub fn stays(&self, source: &Source, new: &str, old: &str) -> Vec<String> {
        let new_values = self.entity_and_day(source, new);
        let old_values = self.entity_and_day(source, old);
        let pairs = old_values.iter().zip(&new_values);
        let same = pairs.map(|(old, new)| self.database.are_same(old, new));
        let counts = self.when.iter().map(|when| when.of(new, self.database));
        same.chain(counts).collect()
    }

    /// Returns the columns that name a row's entity, and the row's own day if it has one. That's
    /// the exact day, not the first day of its period.
    fn entity_and_day(&self, source: &Source, row: &str) -> Vec<String> {
        let columns = source.entity.iter();
        let mut values: Vec<_> = columns.map(|column| self.exactly(column, row)).collect();
        values.extend(self.exact_day(row));
        values
    }

    /// The row's own day.
    fn exact_day(&self, row: &str) -> Option<String> {
        let day = self.day.as_ref()?;
        Some(match &*day.sql_type {
            "date" => self.database.column(row, &day.name),
            _ => day.of(row, self.database),
        })
    }

    /// A column that is compared exactly, although its collation may treat several texts as equal.
    fn exactly(&self, column: &Column, row: &str) -> String {
        let value = self.database.column(row, &column.name);
        match (self.database, &column.loose_collation) {
            (MYSQL, Some(_)) => format!("CAST({value} AS BINARY)"),
            (SQLITE, Some(_)) => format!("{value} COLLATE BINARY"),
            _ => value,
        }
    }
}
