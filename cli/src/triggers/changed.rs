//! What an update changes about a row, as conditions on its old and new values.

use super::counting::Counting;
use super::statement::{NEW, OLD};
use super::target::{Source, Target};
use super::values::LONG;
use crate::catalogue::Column;
use crate::database::{MYSQL, SQLITE};

impl Counting {
    /// Returns a trigger's condition that an update has changed what a row adds to this target:
    /// `NOT (OLD.article_id <=> NEW.article_id)`.
    pub fn changed(&self, target: &Target, source: &Source) -> String {
        let old_values = self.deciding_values(target, source, OLD);
        let new_values = self.deciding_values(target, source, NEW);
        self.some_differ(&old_values, &new_values)
    }

    /// Returns a trigger's condition that an update has changed what a row adds to any target.
    pub fn changed_anywhere(&self) -> String {
        let [old_values, new_values] = [OLD, NEW].map(|row| {
            let mut values: Vec<String> = Vec::new();
            for (target, source) in self.sources() {
                for value in self.deciding_values(target, source, row) {
                    if !values.contains(&value) {
                        values.push(value);
                    }
                }
            }
            values
        });
        self.some_differ(&old_values, &new_values)
    }

    /// Returns every value that decides what a row adds to a target: its entity, its day, the
    /// condition and the weights.
    fn deciding_values(&self, target: &Target, source: &Source, row: &str) -> Vec<String> {
        let columns = source.entity.iter();
        let mut values: Vec<_> = columns.map(|column| self.exactly(column, row)).collect();
        // With deleted = "kept", a row that moves to another day counts there again.
        if target.slots.is_some() || self.keeps_deleted() {
            values.extend(self.exact_day(row));
        }
        let expressions = source.weights.iter().flatten().chain(&self.when);
        for expression in expressions {
            // A weight of 1 never changes.
            if !expression.is_one() {
                values.push(expression.for_row(row, self.database));
            }
        }
        values
    }

    /// Returns the condition that a row's values differ from its old ones:
    /// `(OLD.a, OLD.b) IS NOT (NEW.a, NEW.b)` on SQLite, and
    /// `NOT (OLD.a <=> NEW.a AND OLD.b <=> NEW.b)` on MySQL.
    fn some_differ(&self, old_values: &[String], new_values: &[String]) -> String {
        if old_values.is_empty() {
            // The row always adds 1 to the table's only row.
            return "1 = 0".to_owned();
        }
        if self.database == SQLITE {
            return match (old_values, new_values) {
                ([old], [new]) => format!("{old} IS NOT {new}"),
                _ => format!(
                    "({}) IS NOT ({})",
                    old_values.join(", "),
                    new_values.join(", ")
                ),
            };
        }
        let same = self.each_is_same(old_values, new_values);
        let line = same.join(" AND ");
        if line.len() > LONG {
            return format!("NOT ({})", same.join("\n        AND "));
        }
        format!("NOT ({line})")
    }

    /// Returns a condition per value: `OLD.a IS NEW.a` on SQLite.
    fn each_is_same(&self, old_values: &[String], new_values: &[String]) -> Vec<String> {
        let pairs = old_values.iter().zip(new_values);
        pairs
            .map(|(old, new)| self.database.are_same(old, new))
            .collect()
    }

    /// Returns conditions that are true if a row keeps its entity and its day in an update, and
    /// still counts. `new` and `old` name the row in SQL, for example `NEW` and `OLD`.
    pub fn stays(&self, source: &Source, new: &str, old: &str) -> Vec<String> {
        let new_values = self.entity_and_day(source, new);
        let old_values = self.entity_and_day(source, old);
        let mut conditions = self.each_is_same(&old_values, &new_values);
        conditions.extend(
            self.when
                .iter()
                .map(|when| when.for_row(new, self.database)),
        );
        conditions
    }

    /// Returns the columns that name a row's entity, and the row's own day if it has one. That's
    /// the exact day, not the first day of its period.
    fn entity_and_day(&self, source: &Source, row: &str) -> Vec<String> {
        let columns = source.entity.iter();
        let mut values: Vec<_> = columns.map(|column| self.exactly(column, row)).collect();
        values.extend(self.exact_day(row));
        values
    }

    /// Returns SQL for the row's own day, if it has one: `OLD.day` for a date, and
    /// `DATE(OLD.created_at)` for a time.
    fn exact_day(&self, row: &str) -> Option<String> {
        let day = self.day.as_ref()?;
        if day.sql_type == "date" {
            Some(self.database.column(row, &day.name))
        } else {
            Some(day.for_row(row, self.database))
        }
    }

    /// Returns SQL for a column that is compared byte by byte, although its collation may treat
    /// different texts as equal: `CAST(OLD.name AS BINARY)`.
    fn exactly(&self, column: &Column, row: &str) -> String {
        let value = self.database.column(row, &column.name);
        match (self.database, &column.loose_collation) {
            (MYSQL, Some(_)) => format!("CAST({value} AS BINARY)"),
            (SQLITE, Some(_)) => format!("{value} COLLATE BINARY"),
            _ => value,
        }
    }
}
