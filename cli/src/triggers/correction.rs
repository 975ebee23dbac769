//! The counts that differ from their rows, and what corrects them, as values for the templates.

use serde::Serialize;

use super::counting::Counting;
use super::merged::{FoldedCounts, MergedDays};
use super::statement::{COUNTED, KEPT, RowsToCount, Sign, SumContext};
use super::target::Target;
use super::values::{Counters, Query};
use crate::database::Joined;

/// Which wrong counts to correct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    All,
    /// Only those of entities whose total isn't higher than their rows.
    NotTooHigh,
}

/// The query for wrong counts. It returns the key, the row's day if it has one, and for every
/// counter the true count and the stored one. It may also return what the entity lacks on all days
/// together.
#[derive(Debug, Clone, Serialize)]
pub struct Drift {
    pub name: String,
    pub columns: Vec<String>,
    /// The rows, and the stored counts.
    pub union: Vec<Query>,
    /// The days that a fold may have merged.
    pub merged: Option<MergedDays>,
    pub group: Vec<String>,
    pub having: Vec<String>,
    /// Conditions on what the entity lacks.
    pub conditions: Vec<String>,
}

/// Rows to add to a table's counters: what the counters lack, or zeros that only lock.
#[derive(Debug, Clone, Serialize)]
pub struct Correction {
    pub to: Counters,
    /// The rows for a counter table.
    pub columns: Vec<String>,
    pub order: Vec<String>,
    /// What the columns of an ordinary table are set to, and in which row.
    pub assignments: Vec<String>,
    pub row_conditions: Vec<String>,
}

/// Returns the name of the table with the entities to compare, for every time a query uses it.
pub type Batch<'b> = &'b dyn Fn(usize) -> String;

/// One of the two parts of a drift's union.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    CountedRows,
    StoredCounts,
}

/// A column of the union that is 1 in some rows and 0 in others. Its sum shows whether an entity
/// has such a row.
struct PresenceColumn {
    name: String,
    in_counted_rows: String,
    in_stored_counts: String,
}

/// Returns the values of these columns in one part.
fn values_of(presence_columns: &[PresenceColumn], part: Part) -> impl Iterator<Item = String> {
    presence_columns.iter().map(move |column| {
        let value = match part {
            Part::CountedRows => &column.in_counted_rows,
            Part::StoredCounts => &column.in_stored_counts,
        };
        format!("{value} AS {}", column.name)
    })
}

impl Counting {
    /// The query for wrong counts. It takes a union of the rows and the stored counts, and sums it
    /// up per entity. A row counts 1 and stores 0, and a stored count counts 0, so the sums are the
    /// entity's true and stored counts, even if it has only one of them.
    pub fn drift(
        &self,
        target: &Target,
        which: Which,
        merged: FoldedCounts,
        batch: Option<Batch<'_>>,
    ) -> Drift {
        let group = self.group(target);
        let names = self.counter_names(target);
        let stored: Vec<_> = target
            .names
            .iter()
            .map(|name| self.stored_name(target, name))
            .collect();
        let presence_columns = self.presence_columns(target);
        let mut union = self.counted_rows(target, &stored, &presence_columns, batch);
        union.push(self.stored_counts(target, &presence_columns, batch));
        let pairs = || names.iter().zip(&stored);
        let sums = names.iter().chain(&stored);
        let mut columns = group.clone();
        columns.extend(sums.map(|name| format!("SUM({name}) AS {name}")));
        let mut having = Vec::new();
        let mut conditions = Vec::new();
        if self.compares_totals(target, which) {
            let entity = group[..target.entity.len()].join(", ");
            let window = if entity.is_empty() {
                String::new()
            } else {
                format!("PARTITION BY {entity}")
            };
            for (index, (name, stored)) in pairs().enumerate() {
                let lacks = self.lacks_name(target, index);
                columns.push(format!(
                    "SUM(SUM({name}) - SUM({stored})) OVER ({window}) AS {lacks}"
                ));
            }
            let wrong = pairs().enumerate().map(|(index, (name, stored))| {
                let lacks = self.lacks_name(target, index);
                format!("{name} <> {stored} AND {lacks} >= 0")
            });
            conditions.push(wrong.joined(" OR "));
        } else {
            let is = self.is_wrong(which);
            let wrong = pairs().map(|(name, stored)| format!("SUM({name}) {is} SUM({stored})"));
            let wrong = wrong.joined(" OR ");
            having.push(if presence_columns.is_empty() {
                wrong
            } else {
                format!("({wrong})")
            });
        }
        having.extend(
            presence_columns
                .iter()
                .map(|column| format!("SUM({}) > 0", column.name)),
        );
        let merged = match merged {
            FoldedCounts::Stay => self.merged_days(target),
            FoldedCounts::Return => None,
        };
        if merged.is_some() {
            columns.push(format!("COUNT(*) AS {}", self.days_name()));
        }
        Drift {
            name: self.drift_name(),
            columns,
            union,
            merged,
            group,
            having,
            conditions,
        }
    }

    /// Whether to correct a count by what its entity lacks on all days together, because a row may
    /// have moved to another day.
    pub fn compares_totals(&self, target: &Target, which: Which) -> bool {
        let has_days = self.day.is_some() && target.slots.is_some();
        has_days && which == Which::NotTooHigh && !self.keeps_deleted()
    }

    /// The name of the column with what an entity's counter lacks on all days together.
    pub fn lacks_name(&self, target: &Target, index: usize) -> String {
        let lacks = self.unused_name("lacks");
        match &*target.names {
            [_] => lacks,
            _ => format!("{lacks}_{index}"),
        }
    }

    /// The name of the column that says how many days are compared as one.
    pub fn days_name(&self) -> String {
        self.unused_name("number_of_days")
    }

    /// Returns the columns that must be 1 in at least one of an entity's rows for its counts to be
    /// compared.
    fn presence_columns(&self, target: &Target) -> Vec<PresenceColumn> {
        let mut presence_columns = Vec::new();
        // Rows may name an entity that has no row with the counter. Then there is nothing to
        // correct.
        if target.can_lack_entities() {
            presence_columns.push(PresenceColumn {
                name: self.unused_name("kept_rows"),
                in_counted_rows: "0".to_owned(),
                in_stored_counts: "1".to_owned(),
            });
        }
        presence_columns
    }

    /// Returns a query for every way in which rows name an entity.
    fn counted_rows(
        &self,
        target: &Target,
        stored: &[String],
        presence_columns: &[PresenceColumn],
        batch: Option<Batch<'_>>,
    ) -> Vec<Query> {
        let mut nothing_stored: Vec<_> = stored.iter().map(|name| format!("0 AS {name}")).collect();
        nothing_stored.extend(values_of(presence_columns, Part::CountedRows));
        let mut queries = Vec::new();
        let counted = self.unused_name(COUNTED);
        for (index, source) in target.sources.iter().enumerate() {
            let entity = self.entity_of(source, &counted);
            let joined = self.join_batch(target, &entity, batch, index);
            let from = format!("{}{joined}", self.used_as(&counted, &self.rows));
            let rows = RowsToCount {
                name: &counted,
                from: &from,
                uses_before: 0,
                sign: Sign::Plus,
                entities: target.entities(source),
            };
            queries.push(self.rows_of(target, source, &rows, &nothing_stored));
        }
        queries
    }

    /// Returns the query for the stored counts. Its columns are in the same order as those of the
    /// rows.
    fn stored_counts(
        &self,
        target: &Target,
        presence_columns: &[PresenceColumn],
        batch: Option<Batch<'_>>,
    ) -> Query {
        let kept = self.unused_name(KEPT);
        let of_kept = |name: &String| format!("{kept}.{name}");
        let names = self.counter_names(target);
        let mut columns: Vec<_> = self.group(target).iter().map(of_kept).collect();
        columns.extend(names.iter().map(|_| "0".to_owned()));
        columns.extend(names.iter().map(of_kept));
        columns.extend(values_of(presence_columns, Part::StoredCounts));
        let entity = self.database.columns(&kept, &target.entity);
        // The sources come first in the statement.
        let joined = self.join_batch(target, &entity, batch, target.sources.len());
        Query {
            columns,
            from: format!("{}{joined}", self.used_as(&kept, &target.table)),
            conditions: self.only(target, &kept),
        }
    }

    /// Joins the entities of the batch. `uses_before` says how many times the statement has used
    /// that table before.
    fn join_batch(
        &self,
        target: &Target,
        entity: &[String],
        batch: Option<Batch<'_>>,
        uses_before: usize,
    ) -> String {
        let Some(batch) = batch else {
            return String::new();
        };
        let is_same = self.is_key(&target.entity, "locked", entity);
        format!(" JOIN {} AS locked ON {is_same}", batch(uses_before))
    }

    /// Returns how a true count compares with a wrong stored one. If deleted rows stay counted,
    /// only a count that is too low is known to be wrong.
    fn is_wrong(&self, which: Which) -> &'static str {
        if self.keeps_deleted() || which == Which::NotTooHigh {
            ">"
        } else {
            "<>"
        }
    }

    /// The name of the column with a counter's stored count, next to the true one. It contains the
    /// counter's name, or its index if that would make one of the names too long.
    pub fn stored_name(&self, target: &Target, counter: &str) -> String {
        // PostgreSQL cuts off longer names, in bytes. The others allow longer ones.
        const LONGEST: usize = 63;
        let stored = self.unused_name("stored");
        let name_of = |counter: &str| format!("{stored}_{counter}");
        let mut names = target.names.iter();
        let name = if names.all(|name| name_of(name).len() <= LONGEST) {
            name_of(counter)
        } else {
            let index = target.names.iter().position(|name| name == counter);
            name_of(&index.unwrap_or_default().to_string())
        };
        self.database.quoted(&name)
    }

    /// The name of a query for wrong counts, or of a table of them.
    pub fn drift_name(&self) -> String {
        self.unused_name("drift")
    }

    /// SQL for what to add to a counter of an entity with a wrong count.
    pub fn missing(&self, target: &Target, which: Which, index: usize) -> String {
        let drift = self.drift_name();
        let counter = &target.names[index];
        let actual = format!("{drift}.{}", self.database.quoted(counter));
        let stored = format!("{drift}.{}", self.stored_name(target, counter));
        // Only another counter of the entity may be wrong.
        let condition = if self.compares_totals(target, which) {
            format!("{drift}.{} >= 0", self.lacks_name(target, index))
        } else if self.is_wrong(which) == ">" {
            format!("{actual} > {stored}")
        } else {
            return format!("{actual} - {stored}");
        };
        if target.names.len() == 1 {
            return format!("{actual} - {stored}");
        }
        format!("CASE WHEN {condition} THEN {actual} - {stored} ELSE 0 END")
    }

    /// Adds what the counters lack.
    pub fn correction(&self, target: &Target, which: Which) -> Correction {
        let drift = self.drift_name();
        let missing = (0..target.names.len()).map(|index| self.missing(target, which, index));
        if target.slots.is_some() {
            let counts = missing.map(|missing| self.sql.whole(missing)).collect();
            return self.rows_to_add(target, self.day.is_some(), counts);
        }
        let table = self.database.table_name(&target.table);
        let updates = target.names.iter().zip(missing).map(|(name, missing)| {
            let missing = format!("({missing})");
            self.set(target, name, &table, &missing, SumContext::Statement)
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

    /// Adds 0 to the entities' rows of 1970-01-01. That locks them, as other corrections do.
    pub fn lock_in_slots(&self, target: &Target) -> Correction {
        let zeros = target.names.iter().map(|_| "0".to_owned());
        self.rows_to_add(target, false, zeros.collect())
    }

    /// Rows to add in the slot of merged rows, on their own day if they have one, or on 1970-01-01.
    fn rows_to_add(&self, target: &Target, has_own_day: bool, counts: Vec<String>) -> Correction {
        // Zeros lock the whole entity, so they leave out the rows' own day.
        let mut columns = self.group(target);
        columns.truncate(target.entity.len() + usize::from(has_own_day));
        // Order by number, because another column can have the same name, for example a date.
        let order = column_numbers(columns.len());
        if !has_own_day {
            columns.push(self.sql.undated.to_owned());
        }
        columns.push("0".to_owned());
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
pub fn column_numbers(len: usize) -> Vec<String> {
    (1..=len).map(|number| number.to_string()).collect()
}
