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
    /// The counters, and what the row adds to each.
    #[serde(skip)]
    pub counts: Vec<(String, String)>,
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

    /// Some counters of a table. `new` is what an upsert adds to a row that is there.
    fn some_counters_of(
        &self,
        target: &Target,
        names: &[String],
        new: impl Fn(usize, &str) -> String,
    ) -> Counters {
        let table = self.database.table_name(&target.table);
        let old = match self.database {
            POSTGRES => "kept.".to_owned(),
            MYSQL => format!("{table}."),
            _ => String::new(),
        };
        let names: Vec<_> = names
            .iter()
            .map(|name| self.database.quoted(name))
            .collect();
        let updates = names.iter().enumerate().map(|(place, name)| {
            self.sql
                .update(name, &format!("{old}{name}"), &new(place, name))
        });
        let key = target.entity.iter().chain(target.slots.iter().flatten());
        Counters {
            in_slots: target.slots.is_some(),
            key: match target.slots {
                Some(_) => self.database.columns("", key),
                None => Vec::new(),
            },
            assignments: updates.collect(),
            table,
            names,
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
        let mut values = self.key(target, source, rows);
        values.extend(self.counts(source, rows));
        let mut names = self.group(target);
        names.extend(self.counter_names(target));
        let columns = values.into_iter().zip(&names).map(|(value, name)| {
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
        let sums = names
            .iter()
            .map(|name| self.sql.sum.replace("{}", name))
            .collect();
        let sums = if slot.is_none() {
            named(sums, &names)
        } else {
            sums
        };
        let changes = names.iter().map(|name| format!("SUM({name}) <> 0"));
        let changes = any(changes.collect(), !more.is_empty());
        Sums {
            columns: self.row_of_sums(group.clone(), slot, sums),
            union,
            from: String::new(),
            conditions: Vec::new(),
            having: [changes].into_iter().chain(more.iter().cloned()).collect(),
            group,
            order,
        }
    }

    /// The columns of a row to add to the counters.
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
        let counted = target
            .names
            .iter()
            .zip(&source.weights)
            .zip(self.counts(source, rows));
        let counted = counted.filter(|((_, weight), _)| weight.is_some());
        let counts: Vec<_> = counted
            .map(|((name, _), value)| (name.clone(), value))
            .collect();
        let entity = self.entity_of(source, rows.name);
        let mut conditions = Vec::new();
        if target.slots.is_none() {
            let keys = self.database.columns("", &target.entity);
            let is_row = keys.into_iter().zip(&entity);
            conditions.extend(is_row.map(|(key, value)| format!("{key} = {value}")));
            conditions.extend(self.only(target, ""));
        }
        conditions.extend(self.conditions(target, source, rows));
        if !source.has_one() {
            let changes = counts.iter().map(|(_, value)| format!("{value} <> 0"));
            conditions.push(format!("({})", changes.joined(" OR ")));
        }
        conditions.extend(more);
        let names: Vec<_> = counts.iter().map(|(name, _)| name.clone()).collect();
        let to = self.some_counters_of(target, &names, |place, name| match self.database {
            MYSQL => format!("VALUES({name})"),
            // When SQLite renames the table, it changes `excluded` in triggers to the name of the
            // table.
            SQLITE => counts[place].1.clone(),
            _ => format!("excluded.{name}"),
        });
        let mut values = entity;
        values.extend([self.day_of(rows.name), slot.to_owned()]);
        values.extend(counts.iter().map(|(_, value)| value.clone()));
        let updates = counts.iter().filter(|_| target.slots.is_none());
        let updates =
            updates.map(|(name, value)| self.set(target, name, "", value, Place::Trigger));
        RowAddition {
            to,
            new_row: values,
            assignments: updates.collect(),
            conditions,
            counts,
        }
    }
}

/// A condition that is true if one of these is.
pub fn any(conditions: Vec<String>, is_with_others: bool) -> String {
    let is_one = conditions.len() == 1;
    let any = conditions.join(" OR ");
    if is_one || !is_with_others {
        any
    } else {
        format!("({any})")
    }
}
