//! What fills the holes of the templates: names in quotes, expressions, and lists of them. A
//! template has the statement around them.

use serde::Serialize;

use super::counting::Counting;
use super::statement::{Place, Rows, named};
use super::target::{Source, Target};
use crate::database::{Joined, MYSQL, POSTGRES, SQLITE};

/// A table that is counted in.
#[derive(Debug, Clone, Serialize)]
pub struct Counters {
    pub table: String,
    /// Whether it is a counter table. Otherwise it has one row for each entity.
    pub in_slots: bool,
    /// The primary key of a counter table: the entity, the day and the slot.
    pub key: Vec<String>,
    /// The counters that a statement adds to.
    pub names: Vec<String>,
    /// What an upsert sets them to in a row that is there, such as `likes = kept.likes +
    /// excluded.likes`.
    pub assignments: Vec<String>,
}

/// Rows that count.
#[derive(Debug, Clone, Serialize)]
pub struct Query {
    /// Their entity, their own day if they have one, and what they add to each counter.
    pub columns: Vec<String>,
    pub from: String,
    pub conditions: Vec<String>,
}

/// The sums of rows by entity and day, as rows to add to the counters. The entities are in order,
/// so that two statements that share a slot do not deadlock.
#[derive(Debug, Clone, Serialize)]
pub struct Sums {
    pub columns: Vec<String>,
    /// The rows, from several tables or by several columns that name an entity.
    pub union: Vec<Query>,
    /// The table of the rows and their conditions, if there is one query only. Its columns are
    /// summed up directly.
    pub from: String,
    pub conditions: Vec<String>,
    pub group: Vec<String>,
    pub having: Vec<String>,
    pub order: Vec<String>,
}

/// Sums that are added to a table, as one upsert or to the row of each entity.
#[derive(Debug, Clone, Serialize)]
pub struct Addition {
    pub to: Counters,
    pub sums: Sums,
    /// What an ordinary column is set to.
    pub assignments: Vec<String>,
    /// The condition of the row of an ordinary table.
    pub row_conditions: Vec<String>,
}

/// What the old or the new row of a trigger adds to a table.
#[derive(Debug, Clone, Serialize)]
pub struct RowAddition {
    pub to: Counters,
    /// The row of a counter table.
    pub new_row: Vec<String>,
    /// What the columns of an ordinary table are set to.
    pub assignments: Vec<String>,
    /// It adds nothing unless all are true. In an ordinary table, these are conditions of the row
    /// that has the counters.
    pub conditions: Vec<String>,
    /// What the row adds to each counter that it counts in.
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
    /// A table, and the counters in it.
    pub fn counters_of(&self, target: &Target) -> Counters {
        let new = |_: usize, name: &str| match self.database {
            MYSQL => format!("VALUES({name})"),
            _ => format!("excluded.{name}"),
        };
        self.some_counters_of(target, &target.names, new)
    }

    /// Some counters of a table. `new` is what an upsert adds to a row that is there: the value of
    /// a counter, of which it has the place in `names` and the name in quotes.
    fn some_counters_of(
        &self,
        target: &Target,
        names: &[String],
        new: impl Fn(usize, &str) -> String,
    ) -> Counters {
        let table = self.database.table_name(&target.table);
        // The name of the row that is there, in an upsert. On SQLite it needs none: the new row has
        // a name of its own.
        let old = match self.database {
            POSTGRES => "kept.".to_owned(),
            MYSQL => format!("{table}."),
            _ => String::new(),
        };
        let quoted: Vec<_> = names
            .iter()
            .map(|name| self.database.quoted(name))
            .collect();
        let updates = quoted.iter().enumerate().map(|(place, name)| {
            let old_value = format!("{old}{name}");
            self.sql.update(name, &old_value, &new(place, name))
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

    /// A query of rows. `more` are columns of its own.
    pub fn rows_of(
        &self,
        target: &Target,
        source: &Source,
        rows: &Rows<'_>,
        more: &[String],
    ) -> Query {
        // Values and names are in the same order: the key, and then the counters.
        let mut values = self.key(target, source, rows);
        values.extend(self.counts(source, rows));
        let mut names = self.group(target);
        names.extend(self.counter_names(target));
        let columns = values.into_iter().zip(&names).map(|(value, name)| {
            // A column that has this name needs no other one.
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

    /// The sums of a union of rows. Without a slot there are only the key and the counts, with
    /// their names.
    pub fn sums_of(
        &self,
        target: &Target,
        union: Vec<Query>,
        slot: Option<&str>,
        more: &[String],
        order: Vec<String>,
    ) -> Sums {
        let group = self.group(target);
        let names = self.counter_names(target);
        let mut sums: Vec<_> = names
            .iter()
            .map(|name| self.sql.sum.replace("{}", name))
            .collect();
        if slot.is_none() {
            sums = named(sums, &names);
        }
        // An update that changes nothing of an entity writes nothing.
        let changes = names.iter().map(|name| format!("SUM({name}) <> 0"));
        let mut having = vec![any(changes.collect(), !more.is_empty())];
        having.extend_from_slice(more);
        Sums {
            columns: self.row_of_sums(group.clone(), slot, sums),
            union,
            from: String::new(),
            conditions: Vec::new(),
            having,
            group,
            order,
        }
    }

    /// The columns of a row to add to the counters: the key, with the day and the slot of a counter
    /// table, and the sums. `row` has the entity, and the rows' own day if they have one.
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

    /// What an old or a new row adds. `slot` is SQL of the slot of the connection, and `more`
    /// conditions of the trigger's own.
    pub fn row_addition(
        &self,
        target: &Target,
        source: &Source,
        rows: &Rows<'_>,
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
        let mut conditions = Vec::new();
        if target.slots.is_none() {
            let keys = self.database.columns("", &target.entity);
            for (key, value) in keys.iter().zip(&entity) {
                conditions.push(format!("{key} = {value}"));
            }
            conditions.extend(self.only(target, ""));
        }
        conditions.extend(self.conditions(target, source, rows));
        // A row with the weight 1 always adds something. Others may add 0, and need no row then.
        if !source.has_one() {
            let changes = counts.iter().map(|count| format!("{} <> 0", count.value));
            conditions.push(format!("({})", changes.joined(" OR ")));
        }
        conditions.extend(more);
        let names: Vec<_> = counts.iter().map(|count| count.counter.clone()).collect();
        let to = self.some_counters_of(target, &names, |place, name| match self.database {
            MYSQL => format!("VALUES({name})"),
            // When SQLite renames the table, it changes `excluded` in triggers to the name of the
            // table.
            SQLITE => counts[place].value.clone(),
            _ => format!("excluded.{name}"),
        });
        let mut new_row = entity;
        new_row.push(self.day_of(rows.name));
        new_row.push(slot.to_owned());
        new_row.extend(counts.iter().map(|count| count.value.clone()));
        let mut assignments = Vec::new();
        if target.slots.is_none() {
            assignments.extend(counts.iter().map(|CounterValue { counter, value }| {
                self.set(target, counter, "", value, Place::Trigger)
            }));
        }
        RowAddition {
            to,
            new_row,
            assignments,
            conditions,
            counts,
        }
    }
}

/// A condition that is true if one of these is. It has parentheses if it `is_with_others`, which
/// are joined to it by AND.
pub fn any(conditions: Vec<String>, is_with_others: bool) -> String {
    let is_one = conditions.len() == 1;
    let any = conditions.join(" OR ");
    if is_one || !is_with_others {
        any
    } else {
        format!("({any})")
    }
}
