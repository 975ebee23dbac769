//! Triggers that count rows on SQLite. They run once per row.

mod policies;
mod replace;
mod trigger;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::counting::Counting;
use super::existing::Names;
use super::functions::Event;
use super::plan::{Gone, Plan, by_plan};
use super::statement::{Entities, NEW, OLD, OVERFLOW, RowsToCount};
use super::target::{Source, Target};
use super::trigger::Trigger;
use super::values::RowAddition;
use crate::template::render;
use policies::{CountCheck, refuse_checked, refuse_silent_failures, uncounted};
use replace::replace;
use trigger::trigger;

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    for target in &counting.targets {
        refuse_silent_failures(target)?;
    }
    // If no update can change what a row adds, there is no need for an update trigger.
    let mut triggers = vec![after(counting, Event::Insert, &[NEW])?];
    if counting.has_updates() {
        triggers.push(after(counting, Event::Update, &[OLD, NEW])?);
    }
    // A row that is replaced also stays in the counts.
    if counting.keeps_deleted() {
        return Ok(triggers);
    }
    triggers.push(after(counting, Event::Delete, &[OLD])?);
    for event in [Event::Insert, Event::Update] {
        triggers.extend(replace(counting, event)?);
    }
    Ok(triggers)
}

/// What a row adds, and what refuses the row if it wouldn't be counted.
#[derive(Serialize)]
struct Counted {
    #[serde(flatten)]
    row: RowAddition,
    checks: Vec<CountCheck>,
    uncounted_message: String,
}

fn after(counting: &Counting, event: Event, rows: &[&str]) -> Result<Trigger> {
    let mut all = Vec::new();
    for target in &counting.targets {
        for row in rows {
            for source in &target.sources {
                all.push(counted(counting, target, source, row, event)?);
            }
        }
    }
    // Conditions that all of them share become conditions of the trigger.
    let mut conditions = all.iter().map(|one| &one.row.conditions);
    let first = conditions.next().cloned().unwrap_or_default();
    let rest: Vec<_> = conditions.cloned().collect();
    let is_shared = |condition: &String| rest.iter().all(|other| other.contains(condition));
    let when: Vec<_> = first.into_iter().filter(is_shared).collect();
    for one in &mut all {
        one.row
            .conditions
            .retain(|condition| !when.contains(condition));
    }
    let comment = match (event, &*counting.targets) {
        (Event::Delete, [target]) if target.slots.is_some() => counting.why_existing(target),
        _ => String::new(),
    };
    let values = json!({ "when": when, "comment": comment, "additions": all });
    let body = render("sqlite/after.sql", values)?;
    trigger(
        counting,
        &event.lower(),
        &format!("AFTER {}", event.name()),
        &body,
    )
}

fn counted(
    counting: &Counting,
    target: &Target,
    source: &Source,
    row_name: &str,
    event: Event,
) -> Result<Counted> {
    let is_update = event == Event::Update;
    let entities = match row_name {
        _ if target.slots.is_none() => target.entities(source),
        // A cascade deletes the row after its entity.
        OLD => Entities::Existing,
        // A foreign key changes the row after its entity is gone, or because the entity has moved.
        _ if source.exists && is_update && is_changed_by_foreign_key(counting, source) => {
            Entities::ExistingOrMoved
        }
        _ => target.entities(source),
    };
    let mut more = Vec::new();
    if is_update {
        more.push(counting.changed(target, source));
    }
    if is_update && row_name == OLD && counting.keeps_deleted() {
        more.extend(counting.stays(source, NEW, OLD));
    }
    let rows = RowsToCount::row(row_name, entities);
    let row = counting.row_addition(target, source, &rows, "0", more);
    Ok(Counted {
        checks: refuse_checked(counting, target, &row)?,
        uncounted_message: uncounted(target),
        row,
    })
}

/// Whether a foreign key sets a column that decides what a row adds, for example when its parent is
/// deleted.
fn is_changed_by_foreign_key(counting: &Counting, source: &Source) -> bool {
    let used = counting.columns(source);
    let is_entity = |name: &str| source.entity.iter().any(|column| column.name == name);
    let mut columns = counting.rows.columns.iter();
    columns.any(|column| {
        let mut parents = column.parents();
        used.contains(&&*column.name)
            && !is_entity(&column.name)
            && parents.any(|parent| parent.deletes() && !parent.cascades())
    })
}

/// Writes the statements that create triggers, after dropping others.
pub fn up(plans: &[Plan], gone: &[Gone]) -> Result<String> {
    let (first, by_plan) = by_plan(gone, plans);
    let drops: Vec<_> = first.iter().map(|gone| &gone.drops).collect();
    let created: Vec<_> = plans
        .iter()
        .zip(&by_plan)
        .map(|(plan, replaced)| plan.values(Names::Short, replaced))
        .collect();
    let triggers = plans.iter().flat_map(|plan| &plan.triggers);
    let mut bodies = triggers.map(|trigger| &trigger.body);
    let can_overflow = bodies.any(|body| body.contains(OVERFLOW));
    let values = json!({ "drops": drops, "plans": created, "can_overflow": can_overflow });
    render("sqlite/up.sql", values)
}
