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
    /// that differs from their rows, and by how much. This compares all counters, and so fails if
    /// the database refuses one of the definition's expressions.
    pub fn kept_counts(&self, conn: &mut AnyConnection) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        for Counter { target, start } in &self.counters {
            let kept = self.counting.kept_in(target, Kept::NotZero, conn)?;
            let is_new = !matches!(start, Start::Counted(_));
            if let Some(kept) = kept.filter(|_| is_new && self.existing == Existing::Missing) {
                notes.push(self.kept(target, &kept));
            }
        }
        Ok(notes)
    }

    fn kept(&self, target: &Target, kept: &KeptCounts) -> String {
        let Target { table, names, .. } = target;
        let (counter, rows) = (&names[0], &self.counting.rows);
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
            "in {table}.{counter}, {differs} in {rows}, by {difference} in total, and the migration \
             keeps them. To count the rows only, remove this migration and generate it with --existing \
             rows.{advice}"
        )
    }
}

impl Difference {
    /// Says which counters have more than their rows, if no counter that counts these rows from now
    /// on takes that over.
    pub fn left_behind(&self, conn: &mut AnyConnection) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        let new = self.new.iter().map(|plan| &plan.counting);
        let after: Vec<_> = self.stay.iter().chain(new).collect();
        for old in &self.restored {
            let mut same = self.new.iter().filter(|plan| plan.name() == old.name());
            let Some(plan) = same.next() else {
                continue;
            };
            for Counter { target, .. } in &old.counters {
                let is_taken = plan.counters.iter().any(|counter| {
                    let before = counter.start.old_counter();
                    before.is_some_and(|one| {
                        one.target.table.is(&target.table) && one.target.names == target.names
                    })
                });
                if is_taken || is_counted(target, after.iter().copied()) {
                    continue;
                }
                let kept = old.counting.kept_in(target, Kept::HigherThanRows, conn)?;
                if let Some(KeptCounts { difference, .. }) = kept {
                    notes.push(format!(
                        "{}.{} is {difference} higher than its rows, and no other counter takes \
                         that over",
                        target.table, target.names[0]
                    ));
                }
            }
        }
        Ok(notes)
    }
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
    /// Returns the counts in a target's only counter that differ from the rows, if there are any.
    fn kept_in(
        &self,
        target: &Target,
        kept: Kept,
        conn: &mut AnyConnection,
    ) -> Result<Option<KeptCounts>> {
        let query = sql(self.kept_counts(target, kept, &[])?).typed::<(Text, Nullable<Text>)>();
        let found = query.get_result(conn);
        let (entities, difference): (String, Option<String>) =
            found.with_context(|| format!("{}.{}", target.table, target.names[0]))?;
        Ok(difference.map(|difference| KeptCounts {
            entities: with_commas(&entities),
            difference: with_commas(&difference),
        }))
    }

    /// The query for the counts that are kept. For every counter, it returns the number of entities
    /// and the difference from their rows, as texts. `entity` is the key of the only entity to look
    /// at.
    pub fn kept_counts(&self, target: &Target, kept: Kept, entity: &[String]) -> Result<String> {
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
            entity => vec![self.is_key(&target.entity, &drift.name, entity)],
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
        let mut drift = self.drift(target, Which::All, FoldedCounts::Return, None);
        let days = drift.group.len() - target.entity.len();
        for list in [&mut drift.columns, &mut drift.group] {
            list.drain(target.entity.len()..target.entity.len() + days);
        }
        drift
    }
}

/// Returns a whole number that the database has written. MySQL may write it with decimals.
pub fn whole(number: &str) -> String {
    let whole = number.split('.').next().unwrap_or_default();
    whole.to_owned()
}

fn with_commas(number: &str) -> String {
    let whole = whole(number);
    whole.parse().map_or(whole, thousands)
}
