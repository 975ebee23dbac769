//! Triggers that count rows on SQLite: one a row.

mod policies;
mod replace;
mod trigger;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::counting::Counting;
use super::functions::Event;
use super::plan::{Gone, Plan};
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
    // An update that changes nothing of what a row adds needs no trigger.
    let mut triggers = vec![after(counting, Event::Insert, &[NEW])?];
    if counting.has_updates() {
        triggers.push(after(counting, Event::Update, &[OLD, NEW])?);
    }
    // A row that is replaced stays in the counts, too.
    if counting.keeps_deleted() {
        return Ok(triggers);
    }
    triggers.push(after(counting, Event::Delete, &[OLD])?);
    for event in [Event::Insert, Event::Update] {
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
    /// That of an earlier version.
    #[serde(skip)]
    earlier_uncounted: String,
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
    let table = SQLITE.table_name(&counting.rows);
    let body = |rows: &[Counted]| {
        let values = json!({ "event": event, "table": table, "additions": rows });
        render("sqlite/after.sql", values)
    };
    let mut after = trigger(counting, &event.lower(), &body(&all)?)?;
    // The texts that earlier versions wrote are as good: `check` compares with them, too.
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
    row_name: &str,
    event: Event,
) -> Result<Counted> {
    let is_update = event == Event::Update;
    let entities = match row_name {
        _ if target.slots.is_none() => target.entities(source),
        // A cascade deletes the row after its entity.
        OLD => Entities::Existing,
        // A cascade changes the row after its entity. Where the entity is all that decides what the
        // row adds, the new row is one that was moved.
        _ if source.exists && is_update && counting.columns(source).len() > 1 => {
            Entities::ExistingOrMoved
        }
        _ => target.entities(source),
    };
    let mut more = Vec::new();
    if is_update {
        more.push(counting.changed(source));
    }
    if is_update && row_name == OLD && counting.keeps_deleted() {
        more.extend(counting.stays(source, NEW, OLD));
    }
    let rows = Rows::row(row_name, entities);
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
    let drops: Vec<_> = gone.iter().map(Gone::drops_all).collect();
    let created = plans.iter().map(Plan::values).collect::<Result<Vec<_>>>()?;
    let values = json!({ "drops": drops, "plans": created });
    render("sqlite/up.sql", values)
}
