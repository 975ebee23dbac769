//! The values that fill the holes of the templates: quoted names, expressions, and lists of them.
//! The statement around them is in the template.

use serde::Serialize;

use super::correction::column_numbers;
use super::counting::Counting;
use super::statement::{RowsToCount, Sign, SumContext, named};
use super::target::{Source, Target};
use crate::database::{MYSQL, POSTGRES, SQLITE};

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

/// A counter that an upsert adds to.
struct Upsert<'c> {
    counter: &'c str,
    /// SQL for its value in the existing row, for example `counters.likes`.
    existing: String,
    /// SQL for what is added to that, for example `excluded.likes`.
    added: String,
}

impl Counting {
    /// Returns a table with all of a target's counters.
    pub fn counters_of(&self, target: &Target) -> Counters {
        // Without the row's name, a counter could also mean a column of the query.
        let existing_row = match self.database {
            POSTGRES => "counters".to_owned(),
            MYSQL => self.database.table_name(&target.table),
            SQLITE => String::new(),
        };
        let names = target.names.iter();
        let upserts = names.map(|counter| Upsert {
            counter,
            existing: self.database.column(&existing_row, counter),
            added: self.inserted(counter),
        });
        self.upserted(target, upserts.collect())
    }

    /// Returns SQL for the counter of a row that isn't inserted, because a row with the same key
    /// exists: `excluded.likes`.
    fn inserted(&self, counter: &str) -> String {
        let name = self.database.quoted(counter);
        match self.database {
            MYSQL => format!("VALUES({name})"),
            _ => format!("excluded.{name}"),
        }
    }

    /// Returns a table with these counters, and with what an upsert sets each of them to.
    fn upserted(&self, target: &Target, upserts: Vec<Upsert<'_>>) -> Counters {
        let mut names = Vec::new();
        let mut assignments = Vec::new();
        for upsert in upserts {
            let Upsert {
                counter,
                existing,
                added,
            } = upsert;
            let name = self.database.quoted(counter);
            let mut sum = plus(&existing, &added);
            if !target.has_integers_only(counter) && !is_one(&added) {
                sum = self.sql.whole(sum);
            }
            assignments.push(format!("{name} = {sum}"));
            names.push(name);
        }
        let key = if target.slots.is_some() {
            self.database.columns("", target.key())
        } else {
            Vec::new()
        };
        Counters {
            table: self.database.table_name(&target.table),
            in_slots: target.slots.is_some(),
            key,
            names,
            assignments,
        }
    }

    /// Makes a query for rows: their key, what they add to every counter, and these extra columns.
    pub fn rows_of(
        &self,
        target: &Target,
        source: &Source,
        rows: &RowsToCount<'_>,
        extra_columns: &[String],
    ) -> Query {
        // Values and names are in the same order: the key, and then the counters.
        let mut values = self.key_values(target, source, rows);
        values.extend(self.counts(source, rows));
        let mut names = self.group(target);
        names.extend(self.counter_names(target));
        let mut columns = Vec::new();
        for (value, name) in values.into_iter().zip(&names) {
            // A column that already has this name needs no alias.
            let has_name = value == *name || value == format!("{}.{name}", rows.name);
            columns.push(if has_name {
                value
            } else {
                format!("{value} AS {name}")
            });
        }
        columns.extend_from_slice(extra_columns);
        Query {
            columns,
            from: rows.from.to_owned(),
            conditions: self.conditions(target, source, rows),
        }
    }

    /// Sums up a union of rows. `name` is the union's alias. `slot` is SQL for the slot that the
    /// sums are added in. Without one, the columns are only the key and the sums, with their names.
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

    /// Sums up the rows of one table, each of which names a single entity. `slot` is SQL for the
    /// slot that the sums are added in. Without one, the columns are only the key and the sums,
    /// with their names.
    pub fn sums_of_rows(
        &self,
        target: &Target,
        source: &Source,
        rows: &RowsToCount<'_>,
        slot: Option<&str>,
    ) -> SumQuery {
        let mut key = self.key_values(target, source, rows);
        let key_numbers = column_numbers(key.len());
        let mut sums = self.row_sums(source, rows);
        // Without a GROUP BY, even no rows have a sum. And unless a counter counts every row as 1,
        // an entity's sums may be 0.
        let mut having = Vec::new();
        if key.is_empty() || !source.has_weight_one() {
            having.push(any_of(sums.iter().map(|sum| is_not_zero(sum)).collect()));
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

    /// Returns the sum of what rows add to every counter, such as `COUNT(*)` or `-SUM(stars)`. The
    /// source must have a weight for every counter. If a target has a single source, it does.
    fn row_sums(&self, source: &Source, rows: &RowsToCount<'_>) -> Vec<String> {
        let sign = match rows.sign {
            Sign::Plus => "",
            Sign::Minus => "-",
        };
        let added_rows = RowsToCount {
            sign: Sign::Plus,
            ..*rows
        };
        let counts = self.counts(source, &added_rows);
        let mut sums = Vec::new();
        for (weight, count) in source.weights.iter().flatten().zip(counts) {
            sums.push(if weight.is_one() {
                format!("{sign}COUNT(*)")
            } else {
                format!("{sign}{}", self.sql.sum.replace("{}", &count))
            });
        }
        sums
    }

    /// Returns the columns of a row to add to the counters: the key, with a day and a slot for a
    /// counter table, and the sums. `row` has the entity, and the rows' own day if they have one.
    fn row_of_sums(
        &self,
        mut row: Vec<String>,
        slot: Option<&str>,
        sums: Vec<String>,
    ) -> Vec<String> {
        if let Some(slot) = slot {
            if self.day.is_none() {
                let no_row = "";
                row.push(self.day_of(no_row));
            }
            row.push(slot.to_owned());
        }
        row.extend(sums);
        row
    }

    /// Returns what an old or new row adds to a target. `slot` is SQL for the connection's slot,
    /// and `more_conditions` are conditions of the trigger.
    pub fn row_addition(
        &self,
        target: &Target,
        source: &Source,
        rows: &RowsToCount<'_>,
        slot: &str,
        more_conditions: Vec<String>,
    ) -> RowAddition {
        let counts = self.counter_values(target, source, rows);
        let mut conditions = self.conditions(target, source, rows);
        conditions.extend(adds_something(source, &counts));
        conditions.extend(more_conditions);
        let mut new_row = self.entity_of(source, rows.name);
        new_row.push(self.day_of(rows.name));
        new_row.push(slot.to_owned());
        new_row.extend(counts.iter().map(|count| count.value.clone()));
        let mut assignments = Vec::new();
        let mut row_conditions = Vec::new();
        if target.slots.is_none() {
            // The statement has only one table, so its columns need no alias.
            let row = "";
            for CounterValue { counter, value } in &counts {
                let context = SumContext::Trigger;
                assignments.push(self.add_to_counter(target, counter, row, value, context));
            }
            let keys = self.database.columns(row, &target.entity);
            for (key, value) in keys.iter().zip(self.entity_of(source, rows.name)) {
                row_conditions.push(format!("{key} = {value}"));
            }
            row_conditions.extend(self.only(target, row));
        }
        let upserts = counts.iter().map(|count| Upsert {
            counter: &count.counter,
            existing: self.database.quoted(&count.counter),
            added: self.added_by_row(count),
        });
        RowAddition {
            to: self.upserted(target, upserts.collect()),
            new_row,
            assignments,
            row_conditions,
            conditions,
            counts,
        }
    }

    /// Returns what a row adds to every counter that a source has a weight for.
    fn counter_values(
        &self,
        target: &Target,
        source: &Source,
        rows: &RowsToCount<'_>,
    ) -> Vec<CounterValue> {
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
        counts
    }

    /// Returns SQL for what an upsert adds to the existing row: `1`, or `excluded.stars`.
    fn added_by_row(&self, count: &CounterValue) -> String {
        // When SQLite renames the table, it also renames `excluded` in triggers.
        if self.database == SQLITE || is_one(&count.value) {
            count.value.clone()
        } else {
            self.inserted(&count.counter)
        }
    }
}

/// Returns the condition that a row adds something. A row with the weight 1 always does, and needs
/// no condition.
fn adds_something(source: &Source, counts: &[CounterValue]) -> Option<String> {
    if source.has_weight_one() {
        return None;
    }
    let changes = counts.iter().map(|count| is_not_zero(&count.value));
    let changes: Vec<_> = changes.collect();
    Some(match &*changes {
        [change] => change.clone(),
        _ => format!("({})", any_of(changes)),
    })
}

/// A condition that a sum isn't 0, whatever its sign: `SUM(stars) <> 0` for `-SUM(stars)`.
fn is_not_zero(sum: &str) -> String {
    format!("{} <> 0", sum.trim_start_matches('-'))
}

/// A condition that one of these is true: `SUM(likes) <> 0 OR SUM(stars) <> 0`. A long one has a
/// line for each.
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

/// Whether a value is 1 or -1: what a row adds, or takes off, if it has no weight.
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
