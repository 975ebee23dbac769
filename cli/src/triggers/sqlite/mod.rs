//! Triggers that count rows on SQLite: one a row.

mod policies;
mod replace;
mod trigger;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::counting::Counting;
use super::plan::{Gone, Plan, Which};
use super::statement::{Entities, NEW, OLD, Rows};
use super::target::{Source, Target};
use super::trigger::Trigger;
use super::values::RowAddition;
use crate::database::SQLITE;
use crate::template::render;
use policies::{Check, earlier_uncounted, refuse_checked, refuse_silent_failures, uncounted};
use replace::replace;
use trigger::trigger;

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    for target in &counting.targets {
        refuse_silent_failures(target)?;
    }
    let mut triggers = vec![after(counting, "INSERT", &[NEW])?];
    if counting.has_updates() {
        triggers.push(after(counting, "UPDATE", &[OLD, NEW])?);
    }
    if counting.keeps_deleted() {
        return Ok(triggers);
    }
    triggers.push(after(counting, "DELETE", &[OLD])?);
    for event in ["INSERT", "UPDATE"] {
        triggers.extend(replace(counting, event)?);
    }
    Ok(triggers)
}

/// What a row adds, and what refuses it if it would not be counted.
#[derive(Serialize)]
struct Counted {
    #[serde(flatten)]
    row: RowAddition,
    checks: Vec<Check>,
    /// The message for a row that was not counted, as a literal.
    uncounted_message: String,
    #[serde(skip)]
    earlier_uncounted: String,
}

fn after(counting: &Counting, event: &str, rows: &[&str]) -> Result<Trigger> {
    let mut all = Vec::new();
    for target in &counting.targets {
        for row in rows {
            for source in &target.sources {
                all.push(counted(counting, target, source, row, event)?);
            }
        }
    }
    let what = event.to_lowercase();
    let table = SQLITE.table_name(&counting.rows);
    let body = |rows: &[Counted]| {
        let values = json!({ "event": event, "table": table, "additions": rows });
        render("sqlite/after.sql", values)
    };
    let mut after = trigger(counting, &what, &body(&all)?)?;
    for counted in &mut all {
        counted.uncounted_message = std::mem::take(&mut counted.earlier_uncounted);
    }
    after.same.push(body(&all)?);
    if all.iter().all(|counted| counted.checks.is_empty()) {
        // An earlier version does not look whether a row was counted. It was, unless a trigger of
        // the program refused it.
        for counted in &mut all {
            counted.uncounted_message.clear();
        }
        after.same.push(body(&all)?);
    }
    Ok(after)
}

fn counted(
    counting: &Counting,
    target: &Target,
    source: &Source,
    row: &str,
    event: &str,
) -> Result<Counted> {
    let is_update = event == "UPDATE";
    let entities = match row {
        _ if target.slots.is_none() => target.entities(source),
        OLD => Entities::Existing,
        // A cascade changes the row after its entity.
        _ if source.exists && is_update && counting.columns(source).len() > 1 => {
            Entities::ExistingOrMoved
        }
        _ => target.entities(source),
    };
    let mut more = Vec::new();
    if is_update {
        more.push(counting.changed(source));
    }
    if is_update && row == OLD && counting.keeps_deleted() {
        more.extend(counting.stays(source, NEW, OLD));
    }
    let rows = Rows::row(row, entities);
    let row = counting.row_addition(target, source, &rows, "0", more);
    Ok(Counted {
        checks: refuse_checked(counting, target, &row)?,
        uncounted_message: uncounted(target, &row),
        earlier_uncounted: earlier_uncounted(target, &row),
        row,
    })
}

/// The statements that create triggers, and drop others before.
pub fn up(plans: &[Plan], gone: &[Gone]) -> Result<String> {
    let drops = gone.iter();
    let drops = drops.map(|gone| gone.drops(Which::All) + &gone.drop_definition);
    let created = plans.iter().map(Plan::values).collect::<Result<Vec<_>>>()?;
    let values = json!({ "drops": drops.collect::<Vec<_>>(), "plans": created });
    render("sqlite/up.sql", values)
}
