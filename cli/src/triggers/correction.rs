//! The counts that differ from their rows, and what corrects them, as values of the templates.

use serde::Serialize;

use super::counting::Counting;
use super::statement::{Place, Rows, Sign, numbered};
use super::target::Target;
use super::values::{Counters, Query};
use crate::database::Joined;

/// The entities whose counts are compared with their rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    All,
    /// Those with a row that counts.
    WithRows,
}

/// The query of the wrong counts: the key, the day of the row if it has one, the true count of each
/// counter, and its stored count.
#[derive(Debug, Clone, Serialize)]
pub struct Drift {
    pub name: String,
    pub columns: Vec<String>,
    /// The rows, and what is stored.
    pub union: Vec<Query>,
    pub group: Vec<String>,
    pub having: Vec<String>,
}

/// Rows that are added to the counters of a table: what these lack, or zeros that lock.
#[derive(Debug, Clone, Serialize)]
pub struct Correction {
    pub to: Counters,
    /// The rows of a counter table.
    pub columns: Vec<String>,
    pub order: Vec<String>,
    /// What the columns of an ordinary table are set to, and in which row.
    pub assignments: Vec<String>,
    pub row_conditions: Vec<String>,
}

/// The name of a table of the entities to compare, for each of its uses.
pub type Batch<'b> = &'b dyn Fn(usize) -> String;

impl Counting {
    /// The entities whose counts are corrected. An ordinary column that has the rows of a condition
    /// may be kept by others for entities without such a row, unless the definition says which rows
    /// are its own.
    pub fn compared(&self, target: &Target) -> Compared {
        let is_own = target.only.is_some() || target.entity.is_empty();
        if target.slots.is_none() && self.when.is_some() && !is_own {
            Compared::WithRows
        } else {
            Compared::All
        }
    }

    pub fn drift(&self, target: &Target, compared: Compared, batch: Option<Batch<'_>>) -> Drift {
        let group = self.group(target);
        let names = self.counter_names(target);
        let stored: Vec<_> = target
            .names
            .iter()
            .map(|name| self.stored_name(name))
            .collect();
        let counted_rows = self.free("counted_rows");
        let kept_rows = self.free("kept_rows");
        // Columns that tell whether an entity has a row that counts, and a row with its counts.
        let mut marks = Vec::new();
        if compared == Compared::WithRows {
            marks.push(&counted_rows);
        }
        if target.can_lack_entities() {
            marks.push(&kept_rows);
        }
        let marked = |rows: &String| -> Vec<String> {
            let mark = |name: &&String| format!("{} AS {name}", u8::from(*name == rows));
            marks.iter().map(mark).collect()
        };
        let mut nothing_stored: Vec<_> = stored.iter().map(|name| format!("0 AS {name}")).collect();
        nothing_stored.extend(marked(&counted_rows));
        let in_batch = |place: usize, entity: &[String]| match batch {
            None => String::new(),
            Some(batch) => {
                let is_same = self.is_key(&target.entity, "locked", entity);
                format!(" JOIN {} AS locked ON {is_same}", batch(place))
            }
        };
        let mut union = Vec::new();
        for (place, source) in target.sources.iter().enumerate() {
            let used_as = numbered("counted", place);
            let name = self.database.alias(&used_as, &self.rows);
            let joined = in_batch(place, &self.entity_of(source, &name));
            let from = format!("{}{joined}", self.used_as(&used_as, &self.rows));
            let rows = Rows {
                name: &name,
                from: &from,
                sign: Sign::Plus,
                entities: target.entities(source),
            };
            union.push(self.rows_of(target, source, &rows, &nothing_stored));
        }
        let kept = self.database.alias("kept", &target.table);
        let of_kept = |name: &String| format!("{kept}.{name}");
        let mut columns: Vec<_> = group.iter().map(of_kept).collect();
        columns.extend(names.iter().map(|_| "0".to_owned()));
        columns.extend(names.iter().map(of_kept));
        columns.extend(marked(&kept_rows));
        let entity = self.database.columns(&kept, &target.entity);
        let joined = in_batch(target.sources.len(), &entity);
        union.push(Query {
            columns,
            from: format!("{}{joined}", self.used_as("kept", &target.table)),
            conditions: self.only(target, &kept),
        });
        let sums = names.iter().chain(&stored);
        let sums = sums.map(|name| format!("SUM({name}) AS {name}"));
        // The rows of a count that stays can be gone.
        let is_wrong = if self.keeps_deleted() { ">" } else { "<>" };
        let differ = names.iter().zip(&stored);
        let differ = differ
            .map(|(name, stored)| format!("SUM({name}) {is_wrong} SUM({stored})"))
            .joined(" OR ");
        let mut having = Vec::new();
        if marks.is_empty() {
            having.push(differ);
        } else {
            having.push(format!("({differ})"));
            having.extend(marks.iter().map(|name| format!("SUM({name}) > 0")));
        }
        Drift {
            name: self.drift_name(),
            columns: group.iter().cloned().chain(sums).collect(),
            union,
            group,
            having,
        }
    }

    pub fn stored_name(&self, counter: &str) -> String {
        let stored = self.free("stored");
        self.database.quoted(&format!("{stored}_{counter}"))
    }

    /// The name of a query of wrong counts, or of a table of them.
    pub fn drift_name(&self) -> String {
        self.free("drift")
    }

    /// Adds what the counters lack. `merged` is the slot of merged rows.
    pub fn correction(&self, target: &Target, merged: &str) -> Correction {
        let drift = self.drift_name();
        let missing = |counter: &String| {
            let actual = format!("{drift}.{}", self.database.quoted(counter));
            let stored = format!("{drift}.{}", self.stored_name(counter));
            let missing = format!("{actual} - {stored}");
            if self.keeps_deleted() {
                format!("CASE WHEN {actual} > {stored} THEN {missing} ELSE 0 END")
            } else {
                missing
            }
        };
        if target.slots.is_some() {
            let counts = target
                .names
                .iter()
                .map(|name| self.sql.whole(missing(name)));
            return self.rows_to_add(target, self.day.is_some(), merged, counts.collect());
        }
        let table = self.database.table_name(&target.table);
        let updates = target.names.iter().map(|name| {
            let missing = format!("({})", missing(name));
            self.set(target, name, &table, &missing, Place::Statement)
        });
        let mut is_row = vec![self.same_key(target, &table, &drift)];
        is_row.extend(self.only(target, &table));
        Correction {
            to: self.counters_of(target),
            columns: Vec::new(),
            order: Vec::new(),
            assignments: updates.collect(),
            row_conditions: is_row,
        }
    }

    /// Adds 0 to the row of 1970-01-01 of entities, and so locks them as other corrections do.
    pub fn lock_in_slots(&self, target: &Target, merged: &str) -> Correction {
        let zeros = target.names.iter().map(|_| "0".to_owned());
        self.rows_to_add(target, false, merged, zeros.collect())
    }

    /// Rows that have a day of their own, or count on 1970-01-01.
    fn rows_to_add(
        &self,
        target: &Target,
        has_own_day: bool,
        slot: &str,
        counts: Vec<String>,
    ) -> Correction {
        let mut columns = self.group(target);
        columns.truncate(target.entity.len() + usize::from(has_own_day));
        // The name of another column could be the same, such as that of a date.
        let order = places(columns.len());
        if !has_own_day {
            columns.push(self.sql.undated.to_owned());
        }
        columns.push(slot.to_owned());
        columns.extend(counts);
        Correction {
            to: self.counters_of(target),
            columns,
            order,
            assignments: Vec::new(),
            row_conditions: Vec::new(),
        }
    }
}

/// The numbers of the first columns, to group or order by.
pub fn places(len: usize) -> Vec<String> {
    (1..=len).map(|place| place.to_string()).collect()
}
