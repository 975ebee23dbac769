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
use super::plan::{Gone, Plan, dropped_first, values_of_plans};
use super::statement::{Entities, NEW, OLD, OVERFLOW, RowsToCount};
use super::target::{Source, Target};
use super::trigger::Trigger;
use super::values::RowAddition;
use crate::template::render;
use policies::{CountCheck, count_checks, refuse_silent_failures, uncounted_message};
use replace::replace_trigger;
use trigger::trigger;

/// Makes a definition's triggers, in the order in which they are created.
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
        triggers.extend(replace_trigger(counting, event)?);
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

/// Makes the trigger that counts these rows after an event: `OLD`, `NEW`, or both.
fn after(counting: &Counting, event: Event, rows: &[&str]) -> Result<Trigger> {
    let mut all = Vec::new();
    for target in &counting.targets {
        for row in rows {
            for source in &target.sources {
                all.push(counted_row(counting, target, source, row, event)?);
            }
        }
    }
    let when = take_shared_conditions(&mut all);
    let comment = match (event, &*counting.targets) {
        (Event::Delete, [target]) if target.slots.is_some() => counting.why_existing(target),
        _ => String::new(),
    };
    let values = json!({ "when": when, "comment": comment, "additions": all });
    let body = render("sqlite/after.sql", values)?;
    let when = format!("AFTER {}", event.name());
    trigger(counting, &event.lower(), &when, &body)
}

/// Removes the conditions that all of these share, and returns them: they become conditions of the
/// trigger.
fn take_shared_conditions(all: &mut [Counted]) -> Vec<String> {
    let Some((first, rest)) = all.split_first() else {
        return Vec::new();
    };
    let mut shared = first.row.conditions.clone();
    for counted in rest {
        shared.retain(|condition| counted.row.conditions.contains(condition));
    }
    for counted in all {
        let conditions = &mut counted.row.conditions;
        conditions.retain(|condition| !shared.contains(condition));
    }
    shared
}

/// Returns what a row, `OLD` or `NEW`, adds to a target after an event.
fn counted_row(
    counting: &Counting,
    target: &Target,
    source: &Source,
    row_name: &str,
    event: Event,
) -> Result<Counted> {
    let mut more_conditions = Vec::new();
    if event == Event::Update {
        more_conditions.push(counting.changed(target, source));
        // Only take an old row off if it stays where it is: its new row is then added again.
        if row_name == OLD && counting.keeps_deleted() {
            more_conditions.extend(counting.stays(source, NEW, OLD));
        }
    }
    let entities = entities(counting, target, source, row_name, event);
    let rows = RowsToCount::row(row_name, entities);
    let slot = "0";
    let row = counting.row_addition(target, source, &rows, slot, more_conditions);
    Ok(Counted {
        checks: count_checks(counting, target, &row)?,
        uncounted_message: uncounted_message(target),
        row,
    })
}

/// Returns which entities' rows count after an event.
fn entities(
    counting: &Counting,
    target: &Target,
    source: &Source,
    row_name: &str,
    event: Event,
) -> Entities {
    if target.slots.is_none() {
        return target.entities(source);
    }
    // A cascade deletes the row after its entity.
    if row_name == OLD {
        return Entities::Existing;
    }
    // A foreign key changes the row after its entity is gone, or because the entity has moved.
    let is_update = event == Event::Update;
    if source.exists && is_update && is_changed_by_foreign_key(counting, source) {
        return Entities::ExistingOrMoved;
    }
    target.entities(source)
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
    let first = dropped_first(gone, plans);
    let drops: Vec<_> = first.iter().map(|gone| &gone.drops).collect();
    let mut triggers = plans.iter().flat_map(|plan| &plan.triggers);
    let can_overflow = triggers.any(|trigger| trigger.body.contains(OVERFLOW));
    let values = json!({
        "drops": drops,
        "plans": values_of_plans(plans, gone, Names::Short),
        "can_overflow": can_overflow,
    });
    render("sqlite/up.sql", values)
}
