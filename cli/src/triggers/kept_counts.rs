//! Counts that a migration or a recount leaves as they are, although they differ from the rows.

use anyhow::{Context, Result};
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use serde_json::json;

use super::correction::{Drift, Which};
use super::counting::Counting;
use super::definition::{Deleted, Existing};
use super::difference::Difference;
use super::merged::FoldedCounts;
use super::plan::Plan;
use super::starts::{Counter, Start, is_counted};
use super::target::Target;
use crate::connection::AnyConnection;
use crate::output::thousands;
use crate::sql::sql;
use crate::template::render;

impl Plan {
    /// For every counter that no earlier definition counted in, says how many entities keep a count
    /// that differs from their rows, and by how much.
    pub fn kept_count_notes(&self, conn: &mut AnyConnection) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for Counter { target, start } in &self.counters {
            // Compare all counters: this fails if the database refuses one of their expressions.
            let kept = self.counting.find_kept(target, Kept::NotZero, conn)?;
            let is_new = !matches!(start, Start::Counted(_));
            if is_new && self.existing == Existing::Missing {
                notes.extend(kept.map(|kept| self.kept_count_note(target, &kept)));
            }
        }
        Ok(notes)
    }

    /// Says which counts of a counter the migration keeps, and how to count only the rows instead.
    fn kept_count_note(&self, target: &Target, kept: &KeptCounts) -> String {
        let counter = target.only_counter_name();
        let rows = &self.counting.rows;
        let KeptCounts {
            entities,
            difference,
        } = kept;
        let differs = match &**entities {
            "1" => "the count of 1 entity differs from its rows".to_owned(),
            _ => format!("the counts of {entities} entities differ from their rows"),
        };
        let advice = match self.counting.definition.deleted {
            Deleted::TakenOff => {
                " If they are older than the rows, leave them: with deleted = \"kept\", rows that are \
                 deleted later stay counted, too"
            }
            Deleted::Kept => "",
        };
        format!(
            "in {counter}, {differs} in {rows}, by {difference} in total, and the migration \
             keeps them. To count the rows only, remove this migration and generate it with --existing \
             rows.{advice}"
        )
    }
}

impl Difference {
    /// Says which counters of changed definitions are higher than their rows although nothing
    /// counts in them any more, and no other counter starts from their counts.
    pub fn left_behind(&self, conn: &mut AnyConnection) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        let new = self.new.iter().map(|plan| &plan.counting);
        let all_after: Vec<_> = self.stay.iter().chain(new).collect();
        for old in &self.restored {
            let Some(changed) = self.new.iter().find(|plan| plan.name() == old.name()) else {
                continue;
            };
            for Counter { target, .. } in &old.counters {
                let is_still_counted = is_counted(target, all_after.iter().copied());
                if is_still_counted || starts_from(changed, target) {
                    continue;
                }
                let kept = old.counting.find_kept(target, Kept::HigherThanRows, conn)?;
                if let Some(KeptCounts { difference, .. }) = kept {
                    let counter = target.only_counter_name();
                    notes.push(format!(
                        "{counter} is {difference} higher than its rows, and no other counter takes \
                         that over"
                    ));
                }
            }
        }
        Ok(notes)
    }
}

/// Whether one of the plan's counters starts from the counts of this old counter.
fn starts_from(plan: &Plan, old: &Target) -> bool {
    let counters = plan.counters.iter();
    let mut old_counters = counters.filter_map(|counter| counter.start.old_counter());
    old_counters
        .any(|counter| counter.target.table.is(&old.table) && counter.target.names == old.names)
}

/// Counts that differ from their rows, as they are printed.
struct KeptCounts {
    entities: String,
    difference: String,
}

/// Which counts are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    NotZero,
    HigherThanRows,
}

impl Counting {
    /// Returns how many counts in a target's only counter differ from the rows, and by how much, if
    /// any do.
    fn find_kept(
        &self,
        target: &Target,
        kept: Kept,
        conn: &mut AnyConnection,
    ) -> Result<Option<KeptCounts>> {
        let of_all_entities = &[];
        let query = sql(self.kept_counts_query(target, kept, of_all_entities)?);
        // The difference is NULL if no entity has such a count.
        let found = query.typed::<(Text, Nullable<Text>)>().get_result(conn);
        let (entities, difference): (String, Option<String>) =
            found.with_context(|| target.only_counter_name())?;
        Ok(difference.map(|difference| KeptCounts {
            entities: with_commas(&entities),
            difference: with_commas(&difference),
        }))
    }

    /// Returns the query for the counts that are kept. For every counter, its result has the number
    /// of entities and the difference from their rows, as texts. `entity` is the key of the only
    /// entity to look at. If it's empty, the query looks at all of them.
    pub fn kept_counts_query(
        &self,
        target: &Target,
        kept: Kept,
        entity: &[String],
    ) -> Result<String> {
        let drift = self.entity_drift(target);
        let mut columns = Vec::new();
        for name in &target.names {
            let actual = format!("{}.{}", drift.name, self.database.quoted(name));
            let stored = format!("{}.{}", drift.name, self.stored_name(target, name));
            let is_kept = match kept {
                Kept::NotZero => format!("{stored} <> 0 AND {stored} <> {actual}"),
                Kept::HigherThanRows => format!("{stored} > {actual}"),
            };
            let number = format!("COUNT(CASE WHEN {is_kept} THEN 1 END)");
            let difference = format!("SUM(CASE WHEN {is_kept} THEN ABS({actual} - {stored}) END)");
            columns.extend([number, difference].map(|column| self.database.text(&column)));
        }
        let conditions = match entity {
            [] => Vec::new(),
            entity => vec![self.key_equals(&target.entity, &drift.name, entity)],
        };
        let values = json!({
            "columns": columns,
            "conditions": conditions,
            "entity_drift": drift,
        });
        render("kept_counts.sql", values)
    }

    /// Returns the entities' wrong counts, on all days together.
    fn entity_drift(&self, target: &Target) -> Drift {
        let batch = None;
        let mut drift = self.drift(target, Which::All, FoldedCounts::Return, batch);
        // Both lists begin with the entity's key, and then have the day if rows have one.
        let day = target.entity.len()..drift.group.len();
        drift.columns.drain(day.clone());
        drift.group.drain(day);
        drift
    }
}

/// Returns a whole number as digits only: `12` for `12.0000`, which is how MySQL may write it.
pub fn without_decimals(number: &str) -> String {
    let whole = number.split('.').next().unwrap_or_default();
    whole.to_owned()
}

/// Returns a number from the database as it's printed: `1,234` for `1234`.
fn with_commas(number: &str) -> String {
    let whole = without_decimals(number);
    whole.parse().map_or(whole, thousands)
}
