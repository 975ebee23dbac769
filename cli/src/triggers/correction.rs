//! The counts that differ from their rows, and what corrects them, as values for the templates.

use serde::Serialize;

use super::counting::Counting;
use super::merged::{FoldedCounts, MergedDays, partition_by};
use super::statement::{COUNTED, KEPT, RowsToCount, Sign, SumContext};
use super::target::Target;
use super::values::{Counters, Query};

/// The slot of merged rows. On SQLite, increments use it, too.
pub const MERGED_SLOT: &str = "0";

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

/// The columns of a drift for one counter.
struct ComparedCounter {
    /// The true count, under the counter's own name.
    actual: String,
    stored: String,
    /// What the entity lacks on all days together.
    lacks: String,
}

impl Counting {
    /// Returns the query for wrong counts. It takes a union of the rows and the stored counts, and
    /// sums it up per entity. A row counts 1 and stores 0, and a stored count counts 0, so the sums
    /// are the entity's true and stored counts, even if it has only one of them.
    pub fn drift(
        &self,
        target: &Target,
        which: Which,
        merged: FoldedCounts,
        batch: Option<Batch<'_>>,
    ) -> Drift {
        let group = self.group(target);
        let counters = self.compared_counters(target);
        let kept_rows = self.kept_rows_name(target);
        let mut union = self.counted_rows(target, batch);
        union.push(self.stored_counts(target, batch));
        let mut columns = group.clone();
        let sum = |name: &String| format!("SUM({name}) AS {name}");
        columns.extend(counters.iter().map(|counter| sum(&counter.actual)));
        columns.extend(counters.iter().map(|counter| sum(&counter.stored)));
        let mut having = Vec::new();
        let mut conditions = Vec::new();
        if self.compares_totals(target, which) {
            columns.extend(self.lacking_columns(target, &counters));
            conditions.push(days_are_wrong(&counters));
        } else {
            let is_wrong = self.sums_are_wrong(&counters, which);
            // It may be an OR, and what comes next is joined to it by an AND.
            having.push(if kept_rows.is_some() {
                format!("({is_wrong})")
            } else {
                is_wrong
            });
        }
        having.extend(kept_rows.map(|name| format!("SUM({name}) > 0")));
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

    /// Returns the names of every counter's columns.
    fn compared_counters(&self, target: &Target) -> Vec<ComparedCounter> {
        let counters = target.names.iter().enumerate();
        let compared = counters.map(|(index, name)| ComparedCounter {
            actual: self.database.quoted(name),
            stored: self.stored_name(target, name),
            lacks: self.lacks_name(target, index),
        });
        compared.collect()
    }

    /// Returns columns with what an entity's counters lack on all days together:
    /// `SUM(SUM(likes) - SUM(stored_likes)) OVER (PARTITION BY article_id) AS lacks`.
    fn lacking_columns(&self, target: &Target, counters: &[ComparedCounter]) -> Vec<String> {
        let window = partition_by(&self.database.columns("", &target.entity));
        let mut columns = Vec::new();
        for ComparedCounter {
            actual,
            stored,
            lacks,
        } in counters
        {
            columns.push(format!(
                "SUM(SUM({actual}) - SUM({stored})) OVER ({window}) AS {lacks}"
            ));
        }
        columns
    }

    /// Returns the condition that a count of an entity is wrong:
    /// `SUM(likes) <> SUM(stored_likes) OR SUM(views) <> SUM(stored_views)`.
    fn sums_are_wrong(&self, counters: &[ComparedCounter], which: Which) -> String {
        let differs = if self.corrects_only_upwards(which) {
            ">"
        } else {
            "<>"
        };
        let mut are_wrong = Vec::new();
        for ComparedCounter { actual, stored, .. } in counters {
            are_wrong.push(format!("SUM({actual}) {differs} SUM({stored})"));
        }
        are_wrong.join(" OR ")
    }

    /// Whether to correct an entity's days only if its total isn't too high. If a row has moved to
    /// another day, one day is too high, and another one too low by as much.
    pub fn compares_totals(&self, target: &Target, which: Which) -> bool {
        let has_days = self.day.is_some() && target.slots.is_some();
        has_days && which == Which::NotTooHigh && !self.keeps_deleted()
    }

    /// Returns the name of the column with what an entity's counter lacks on all days together:
    /// `lacks`, or `lacks_0` for the first of several counters.
    pub fn lacks_name(&self, target: &Target, index: usize) -> String {
        let lacks = self.unused_name("lacks");
        match &*target.names {
            [_] => lacks,
            _ => format!("{lacks}_{index}"),
        }
    }

    /// Returns the name of the column that says how many days are compared as one.
    pub fn days_name(&self) -> String {
        self.unused_name("number_of_days")
    }

    /// Returns the name of the column that is 0 for rows and 1 for stored counts, if it's needed.
    /// Rows may name an entity that has no row with the counter, so that the sum of this column is
    /// 0. Then there is nothing to correct.
    fn kept_rows_name(&self, target: &Target) -> Option<String> {
        let is_needed = target.can_lack_entities();
        is_needed.then(|| self.unused_name("kept_rows"))
    }

    /// Returns the queries for the rows: one for every source, because a row can name two entities.
    fn counted_rows(&self, target: &Target, batch: Option<Batch<'_>>) -> Vec<Query> {
        let mut nothing_stored = Vec::new();
        for counter in self.compared_counters(target) {
            nothing_stored.push(format!("0 AS {}", counter.stored));
        }
        let kept_rows = self.kept_rows_name(target);
        nothing_stored.extend(kept_rows.map(|name| format!("0 AS {name}")));
        let mut queries = Vec::new();
        let counted = self.unused_name(COUNTED);
        for (uses_before, source) in target.sources.iter().enumerate() {
            let entity = self.entity_of(source, &counted);
            let join_batch = self.join_batch(target, &entity, batch, uses_before);
            let from = format!("{}{join_batch}", self.used_as(&counted, &self.rows));
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
    fn stored_counts(&self, target: &Target, batch: Option<Batch<'_>>) -> Query {
        let kept = self.unused_name(KEPT);
        let in_kept = |name: &String| format!("{kept}.{name}");
        let names = self.counter_names(target);
        let no_rows = names.iter().map(|_| "0".to_owned());
        let mut columns: Vec<_> = self.group(target).iter().map(in_kept).collect();
        columns.extend(no_rows);
        columns.extend(names.iter().map(in_kept));
        let kept_rows = self.kept_rows_name(target);
        columns.extend(kept_rows.map(|name| format!("1 AS {name}")));
        let entity = self.database.columns(&kept, &target.entity);
        // The queries of the sources come first in the statement.
        let uses_before = target.sources.len();
        let join_batch = self.join_batch(target, &entity, batch, uses_before);
        Query {
            columns,
            from: format!("{}{join_batch}", self.used_as(&kept, &target.table)),
            conditions: self.only(target, &kept),
        }
    }

    /// Returns a JOIN that keeps only the entities of the batch, after a space:
    /// ` JOIN diesel_counters_locked AS locked ON locked.id = counted.article_id`. Returns nothing
    /// if there is no batch. `uses_before` is how often the statement has used the batch before.
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
        let is_same = self.key_equals(&target.entity, "locked", entity);
        format!(" JOIN {} AS locked ON {is_same}", batch(uses_before))
    }

    /// Whether counts that are higher than their rows stay as they are. If deleted rows stay
    /// counted, such a count may be right.
    fn corrects_only_upwards(&self, which: Which) -> bool {
        self.keeps_deleted() || which == Which::NotTooHigh
    }

    /// Returns the name of the column with a counter's stored count: `stored_likes`. If that makes
    /// the name of any counter's column too long, it's the counter's index instead: `stored_0`.
    pub fn stored_name(&self, target: &Target, counter: &str) -> String {
        // PostgreSQL cuts off longer names, in bytes. The others allow longer ones.
        const LONGEST: usize = 63;
        let stored = self.unused_name("stored");
        let mut names = target.names.iter();
        let all_fit = names.all(|name| format!("{stored}_{name}").len() <= LONGEST);
        let name = if all_fit {
            format!("{stored}_{counter}")
        } else {
            let index = target.names.iter().position(|name| name == counter);
            format!("{stored}_{}", index.unwrap_or_default())
        };
        self.database.quoted(&name)
    }

    /// Returns the name of a query for wrong counts, or of a table of them.
    pub fn drift_name(&self) -> String {
        self.unused_name("drift")
    }

    /// Returns SQL for what to add to a counter of an entity that has a wrong count:
    /// `drift.likes - drift.stored_likes`.
    pub fn missing(&self, target: &Target, which: Which, index: usize) -> String {
        let drift = self.drift_name();
        let counter = &target.names[index];
        let actual = format!("{drift}.{}", self.database.quoted(counter));
        let stored = format!("{drift}.{}", self.stored_name(target, counter));
        let difference = format!("{actual} - {stored}");
        if target.names.len() == 1 {
            return difference;
        }
        // The entity may be here because of another counter, and this one too high.
        let is_corrected = if self.compares_totals(target, which) {
            format!("{drift}.{} >= 0", self.lacks_name(target, index))
        } else if self.corrects_only_upwards(which) {
            format!("{actual} > {stored}")
        } else {
            return difference;
        };
        format!("CASE WHEN {is_corrected} THEN {difference} ELSE 0 END")
    }

    /// Returns what to add to the counters of the entities with wrong counts.
    pub fn correction(&self, target: &Target, which: Which) -> Correction {
        let drift = self.drift_name();
        let missing = (0..target.names.len()).map(|index| self.missing(target, which, index));
        // A counter table gets new rows, and an ordinary table an UPDATE.
        if target.slots.is_some() {
            let counts = missing.map(|missing| self.sql.whole(missing)).collect();
            return self.rows_to_add(target, self.group(target), counts);
        }
        let table = self.database.table_name(&target.table);
        let updates = target.names.iter().zip(missing).map(|(name, missing)| {
            let missing = format!("({missing})");
            self.add_to_counter(target, name, &table, &missing, SumContext::Statement)
        });
        let mut row_conditions = vec![self.same_key(target, &table, &drift)];
        row_conditions.extend(self.only(target, &table));
        Correction {
            to: self.counters_of(target),
            columns: Vec::new(),
            order: Vec::new(),
            assignments: updates.collect(),
            row_conditions,
        }
    }

    /// Returns zeros to add to the entities' rows of 1970-01-01. That locks these rows, and keeps
    /// other corrections of the entities out.
    pub fn lock_in_slots(&self, target: &Target) -> Correction {
        let entity = self.database.columns("", &target.entity);
        let zeros = target.names.iter().map(|_| "0".to_owned());
        self.rows_to_add(target, entity, zeros.collect())
    }

    /// Returns rows to add in the slot of merged rows. `key` is the entity, and the day to add on.
    /// Without a day, that's 1970-01-01.
    fn rows_to_add(&self, target: &Target, key: Vec<String>, counts: Vec<String>) -> Correction {
        let has_day = key.len() > target.entity.len();
        // Order by number, because another column can have the same name, for example a date.
        let order = column_numbers(key.len());
        let mut columns = key;
        if !has_day {
            columns.push(self.sql.undated.to_owned());
        }
        columns.push(MERGED_SLOT.to_owned());
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

/// Returns the condition that a day's count is wrong, and its entity's total isn't too high:
/// `likes <> stored_likes AND lacks >= 0`. Several counters have an `OR` between them.
fn days_are_wrong(counters: &[ComparedCounter]) -> String {
    let mut are_wrong = Vec::new();
    for ComparedCounter {
        actual,
        stored,
        lacks,
    } in counters
    {
        are_wrong.push(format!("{actual} <> {stored} AND {lacks} >= 0"));
    }
    are_wrong.join(" OR ")
}

/// Returns the numbers of the first columns, to group or order by: `1`, `2` and so on.
pub fn column_numbers(len: usize) -> Vec<String> {
    (1..=len).map(|number| number.to_string()).collect()
}
