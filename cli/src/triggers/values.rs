//! The values that fill the holes of the templates: quoted names, expressions, and lists of them.
//! The statement around them is in the template.

use serde::Serialize;

use super::correction::column_numbers;
use super::counting::Counting;
use super::statement::{RowsToCount, Sign, SumContext, named};
use super::target::{Source, Target};
use crate::database::{Joined, MYSQL, POSTGRES, SQLITE};

/// A table that is counted in.
#[derive(Debug, Clone, Serialize)]
pub struct Counters {
    pub table: String,
    /// Whether it's a counter table. Otherwise it has one row per entity.
    pub in_slots: bool,
    /// The primary key of a counter table: the entity, the day and the slot.
    pub key: Vec<String>,
    /// The counters that a statement adds to.
    pub names: Vec<String>,
    /// What an upsert sets them to in an existing row, for example `likes = kept.likes +
    /// excluded.likes`.
    pub assignments: Vec<String>,
}

/// A query for rows that count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Query {
    /// The rows' entity, their own day if they have one, and what they add to every counter.
    pub columns: Vec<String>,
    pub from: String,
    pub conditions: Vec<String>,
}

/// The sums of rows per entity and day, as rows to add to the counters. The entities are sorted, so
/// that two statements that share a slot don't deadlock.
#[derive(Debug, Clone, Default, Serialize)]
pub struct SumQuery {
    pub columns: Vec<String>,
    /// The rows, if they come from several tables or name entities by several columns, and the
    /// union's name.
    pub union: Vec<Query>,
    pub name: String,
    /// The table of the rows and their conditions, if there is only one query. Then its columns are
    /// summed up directly.
    pub from: String,
    /// A comment that answers what a reader of the conditions would ask.
    pub comment: String,
    pub conditions: Vec<String>,
    pub group: Vec<String>,
    pub having: Vec<String>,
    pub order: Vec<String>,
}

/// Sums that are added to a table, in an upsert or to every entity's row.
#[derive(Debug, Clone, Serialize)]
pub struct Addition {
    pub to: Counters,
    pub sums: SumQuery,
    /// What an ordinary column is set to.
    pub assignments: Vec<String>,
    /// The condition for the row of an ordinary table.
    pub row_conditions: Vec<String>,
}

/// What a trigger's old or new row adds to a table.
#[derive(Debug, Clone, Serialize)]
pub struct RowAddition {
    pub to: Counters,
    /// The row for a counter table.
    pub new_row: Vec<String>,
    /// What the columns of an ordinary table are set to, and in which row.
    pub assignments: Vec<String>,
    pub row_conditions: Vec<String>,
    /// It only adds something if all of these are true for the trigger's row.
    pub conditions: Vec<String>,
    /// What the row adds to every counter that it counts in.
    #[serde(skip)]
    pub counts: Vec<CounterValue>,
}

/// A counter, and an expression.
#[derive(Debug, Clone)]
pub struct CounterValue {
    pub counter: String,
    pub value: String,
}

impl Counting {
    /// Returns a table with all of a target's counters.
    pub fn counters_of(&self, target: &Target) -> Counters {
        let new = |_: usize, name: &str| match self.database {
            MYSQL => format!("VALUES({name})"),
            _ => format!("excluded.{name}"),
        };
        // A query may have a column of the same name.
        let old = match self.database {
            POSTGRES => "counters.".to_owned(),
            MYSQL => format!("{}.", self.database.table_name(&target.table)),
            SQLITE => String::new(),
        };
        self.some_counters_of(target, &target.names, &old, new)
    }

    /// Returns a table with some of its counters. `old` is written before a counter of the existing
    /// row. `new` returns what an upsert adds to that, given the counter's index in `names` and its
    /// name in SQL.
    fn some_counters_of(
        &self,
        target: &Target,
        names: &[String],
        old: &str,
        new: impl Fn(usize, &str) -> String,
    ) -> Counters {
        let table = self.database.table_name(&target.table);
        let quoted: Vec<_> = names
            .iter()
            .map(|name| self.database.quoted(name))
            .collect();
        let updates = names.iter().zip(&quoted).enumerate();
        let updates = updates.map(|(index, (counter, name))| {
            let new = new(index, name);
            let sum = plus(&format!("{old}{name}"), &new);
            if target.has_integers_only(counter) || is_one(&new) {
                format!("{name} = {sum}")
            } else {
                format!("{name} = {}", self.sql.whole(sum))
            }
        });
        Counters {
            in_slots: target.slots.is_some(),
            key: match target.slots {
                Some(_) => self.database.columns("", target.key()),
                None => Vec::new(),
            },
            assignments: updates.collect(),
            table,
            names: quoted,
        }
    }

    /// Makes a query for rows. `more` are extra columns.
    pub fn rows_of(
        &self,
        target: &Target,
        source: &Source,
        rows: &RowsToCount<'_>,
        more: &[String],
    ) -> Query {
        // Values and names are in the same order: the key, and then the counters.
        let mut values = self.key(target, source, rows);
        values.extend(self.counts(source, rows));
        let mut names = self.group(target);
        names.extend(self.counter_names(target));
        let columns = values.into_iter().zip(&names).map(|(value, name)| {
            // A column that already has this name needs no alias.
            let is_column = value == *name || value == format!("{}.{name}", rows.name);
            if is_column {
                value
            } else {
                format!("{value} AS {name}")
            }
        });
        Query {
            columns: columns.chain(more.iter().cloned()).collect(),
            from: rows.from.to_owned(),
            conditions: self.conditions(target, source, rows),
        }
    }

    /// Sums up a union of rows. `name` is the union's alias. Without a slot, the columns are only
    /// the key and the counts, with their names.
    pub fn sums_of(
        &self,
        target: &Target,
        (name, union): (&str, Vec<Query>),
        slot: Option<&str>,
    ) -> SumQuery {
        let group = self.group(target);
        let names = self.counter_names(target);
        let mut sums: Vec<_> = names
            .iter()
            .map(|name| self.sql.sum.replace("{}", name))
            .collect();
        if slot.is_none() {
            sums = named(sums, &names);
        }
        let key_numbers = column_numbers(group.len());
        // If an update changes nothing for an entity, don't write anything.
        let changes = names.iter().map(|name| format!("SUM({name}) <> 0"));
        SumQuery {
            columns: self.row_of_sums(group, slot, sums),
            name: name.to_owned(),
            union,
            from: String::new(),
            comment: String::new(),
            conditions: Vec::new(),
            having: vec![any_of(changes.collect())],
            order: key_numbers.clone(),
            group: key_numbers,
        }
    }

    /// Sums up the rows of one table, each of which names a single entity.
    pub fn sums_of_rows(
        &self,
        target: &Target,
        source: &Source,
        rows: &RowsToCount<'_>,
        slot: Option<&str>,
    ) -> SumQuery {
        let mut key = self.key(target, source, rows);
        let key_numbers = column_numbers(key.len());
        // If a target has a single source, that has a weight for every counter.
        let weights = source.weights.iter().flatten();
        let counts = self.counts(
            source,
            &RowsToCount {
                sign: Sign::Plus,
                ..*rows
            },
        );
        let mut sums = Vec::new();
        for (weight, value) in weights.zip(counts) {
            let sign = if rows.sign == Sign::Minus { "-" } else { "" };
            sums.push(if weight.is_one() {
                format!("{sign}COUNT(*)")
            } else {
                format!("{sign}{}", self.sql.sum.replace("{}", &value))
            });
        }
        // Without a GROUP BY, even no rows have a sum. And unless a counter counts every row as 1,
        // an entity's sums may be 0.
        let mut having = Vec::new();
        if key.is_empty() || !source.has_one() {
            let sums = sums.iter().map(|sum| sum.trim_start_matches('-'));
            having.push(any_of(sums.map(|sum| format!("{sum} <> 0")).collect()));
        }
        if slot.is_none() {
            key = named(key, &self.group(target));
            sums = named(sums, &self.counter_names(target));
        }
        SumQuery {
            columns: self.row_of_sums(key, slot, sums),
            name: String::new(),
            union: Vec::new(),
            from: rows.from.to_owned(),
            comment: String::new(),
            conditions: self.conditions(target, source, rows),
            having,
            order: key_numbers.clone(),
            group: key_numbers,
        }
    }

    /// Returns the columns of a row to add to the counters: the key, with a day and a slot for a
    /// counter table, and the sums. `row` has the entity, and the rows' own day if they have one.
    pub fn row_of_sums(
        &self,
        mut row: Vec<String>,
        slot: Option<&str>,
        sums: Vec<String>,
    ) -> Vec<String> {
        if let Some(slot) = slot {
            if self.day.is_none() {
                row.push(self.day_of(""));
            }
            row.push(slot.to_owned());
        }
        row.extend(sums);
        row
    }

    /// Returns what an old or new row adds. `slot` is SQL for the connection's slot, and `more` are
    /// extra conditions of the trigger.
    pub fn row_addition(
        &self,
        target: &Target,
        source: &Source,
        rows: &RowsToCount<'_>,
        slot: &str,
        more: Vec<String>,
    ) -> RowAddition {
        let mut counts = Vec::new();
        let values = self.counts(source, rows);
        for ((name, weight), value) in target.names.iter().zip(&source.weights).zip(values) {
            if weight.is_some() {
                counts.push(CounterValue {
                    counter: name.clone(),
                    value,
                });
            }
        }
        let entity = self.entity_of(source, rows.name);
        let mut row_conditions = Vec::new();
        if target.slots.is_none() {
            let keys = self.database.columns("", &target.entity);
            for (key, value) in keys.iter().zip(&entity) {
                row_conditions.push(format!("{key} = {value}"));
            }
            row_conditions.extend(self.only(target, ""));
        }
        let mut conditions = self.conditions(target, source, rows);
        // A row with the weight 1 always adds something. Others may add 0, and then need no row.
        if !source.has_one() {
            let changes = counts.iter().map(|count| {
                let value = count.value.trim_start_matches('-');
                format!("{value} <> 0")
            });
            conditions.push(match &*counts {
                [_] => changes.joined(""),
                _ => format!("({})", any_of(changes.collect())),
            });
        }
        conditions.extend(more);
        let names: Vec<_> = counts.iter().map(|count| count.counter.clone()).collect();
        let to = self.some_counters_of(target, &names, "", |index, name| match self.database {
            _ if is_one(&counts[index].value) => counts[index].value.clone(),
            MYSQL => format!("VALUES({name})"),
            // When SQLite renames the table, it also renames `excluded` in triggers.
            SQLITE => counts[index].value.clone(),
            _ => format!("excluded.{name}"),
        });
        let mut new_row = entity;
        new_row.push(self.day_of(rows.name));
        new_row.push(slot.to_owned());
        new_row.extend(counts.iter().map(|count| count.value.clone()));
        let mut assignments = Vec::new();
        if target.slots.is_none() {
            assignments.extend(counts.iter().map(|CounterValue { counter, value }| {
                self.set(target, counter, "", value, SumContext::Trigger)
            }));
        }
        RowAddition {
            to,
            new_row,
            assignments,
            row_conditions,
            conditions,
            counts,
        }
    }
}

/// A condition that one of these is true. A long one has a line for each.
fn any_of(conditions: Vec<String>) -> String {
    let line = conditions.join(" OR ");
    if line.len() > LONG {
        conditions.join("\n    OR ")
    } else {
        line
    }
}

/// The maximum length of a list of conditions on one line.
pub const LONG: usize = 100;

/// Whether a value is what a row adds that simply counts.
pub fn is_one(value: &str) -> bool {
    value == "1" || value == "-1"
}

/// Writes `likes + 1`, or `likes - 1` for the value `-1`.
pub fn plus(counter: &str, value: &str) -> String {
    match value.strip_prefix('-') {
        Some(positive) => format!("{counter} - {positive}"),
        None => format!("{counter} + {value}"),
    }
}
