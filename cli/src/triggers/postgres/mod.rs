//! Triggers that count rows on PostgreSQL: one a statement, over all rows that it changed. Each has
//! a function of its own, which runs with the rights of whoever writes the rows. It finds its tables
//! in the schemas of the session that created it, whatever the path of the writer is.

mod body;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;

use super::counting::Counting;
use super::existing::Names;
use super::functions::{Event, function_name, name_of};
use super::plan::{Gone, NO_MERGE, Plan, by_plan};
use super::trigger::{Trigger, TriggerTable, drop_statement};
use crate::catalogue::{Column, Table};
use crate::database::{Joined, POSTGRES};
use crate::template::render;
use body::{NEW, OLD, body};

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let rows = &counting.rows;
    // The rows of a statement do not have columns that are computed when they are read.
    let is_missing = |column: &&Column| column.not_stored && counting.uses(&column.name);
    if let Some(column) = rows.columns.iter().find(is_missing) {
        bail!(
            "{rows}.{} is a virtual generated column, which a trigger cannot read: make it STORED",
            column.name
        );
    }
    // An update that changes nothing of what a row adds needs no trigger.
    let mut events = vec![Event::Insert];
    if counting.has_updates() {
        events.push(Event::Update);
    }
    if !counting.keeps_deleted() {
        events.extend([Event::Delete, Event::Truncate]);
    }
    let mut triggers = Vec::new();
    for event in events {
        triggers.push(trigger(counting, event)?);
    }
    if rows.partitioned {
        triggers.push(no_merge(counting)?);
    }
    Ok(triggers)
}

/// The trigger of an event, and its function, which has the same name.
fn trigger(counting: &Counting, event: Event) -> Result<Trigger> {
    let name = name_of(counting, event);
    let quoted = POSTGRES.quoted(&name);
    let table = POSTGRES.table_name(&counting.rows);
    // A TRUNCATE has no transition tables: its trigger reads the table itself, before it is empty.
    let old = counting.free(OLD);
    let new = counting.free(NEW);
    let (when, transition_tables) = match event {
        Event::Insert => ("AFTER", vec![("NEW", &new)]),
        Event::Update => ("AFTER", vec![("OLD", &old), ("NEW", &new)]),
        Event::Delete => ("AFTER", vec![("OLD", &old)]),
        Event::Truncate => ("BEFORE", vec![]),
    };
    let referencing = transition_tables.iter();
    let referencing = referencing.map(|(which, name)| format!("{which} TABLE AS {name}"));
    let names = transition_tables
        .iter()
        .map(|(_, name)| &***name)
        .joined(" ");
    let values = json!({
        "name": quoted,
        "when": when,
        "event": event,
        "table": table,
        "referencing": referencing.collect::<Vec<_>>(),
        "function": function_name(counting, event),
    });
    let body = body(counting, event)?;
    Ok(Trigger {
        create: render("postgres/trigger.sql", values)?,
        drop: drop_statement(&name, Some(&counting.rows), false, POSTGRES),
        table: TriggerTable::of(&counting.rows),
        name,
        event: format!("{when} {} {names}", event.name()),
        function: Some(function(counting, event, &body)?),
        body,
        ..Trigger::default()
    })
}

/// Creates the function of an event.
fn function(counting: &Counting, event: Event, body: &str) -> Result<String> {
    let values = json!({
        "name": function_name(counting, event),
        "body": dollar_quoted(&format!("\n{}", body.trim_end())),
    });
    render("postgres/function.sql", values)
}

/// A text in dollar quotes, which have a tag if the text has `$$`.
fn dollar_quoted(text: &str) -> String {
    let mut quote = "$$".to_owned();
    let mut number = 1;
    // It ends: the text has an end.
    while text.contains(&quote) {
        quote = format!("$counting{number}$");
        number += 1;
    }
    format!("{quote}{text} {quote}")
}

/// The statements that create triggers, and drop others before.
pub fn up(plans: &[Plan], gone: &[Gone]) -> Result<String> {
    let dropped: Vec<&Table> = gone.iter().filter_map(|gone| gone.rows.as_ref()).collect();
    // Where triggers count already, each statement locks its own table first.
    let mut locked = dropped.clone();
    // The tables of entities come next, as in a program that writes an entity, and then its rows.
    let corrected = plans
        .iter()
        .filter(|plan| !plan.steps(Names::Short).is_empty());
    let targets = corrected.flat_map(|plan| &plan.counting.targets);
    let in_columns = targets.filter(|target| target.slots.is_none());
    locked.extend(in_columns.map(|target| &target.table));
    locked.extend(plans.iter().map(|plan| &plan.counting.rows));
    locked.extend(plans.iter().flat_map(Plan::emptied));
    let (first, by_plan) = by_plan(gone, plans);
    let drops: Vec<_> = first.iter().map(|gone| &gone.drops).collect();
    let created: Vec<_> = plans
        .iter()
        .zip(&by_plan)
        .map(|(plan, replaced)| plan.values(Names::Short, replaced))
        .collect();
    let mut countings = plans.iter().map(|plan| &plan.counting);
    let values = json!({
        "locks": locks(&referring_first(locked, &dropped), &dropped),
        "has_drops": !gone.is_empty(),
        "drops": drops,
        "plans": created,
        "uses_slots": countings.any(Counting::uses_slots),
    });
    render("postgres/up.sql", values)
}

/// A statement locks its table, and then those that its foreign keys refer to. This waits for nobody
/// but for the lock of a trigger that is dropped.
fn referring_first<'t>(mut tables: Vec<&'t Table>, dropped: &[&Table]) -> Vec<&'t Table> {
    let refers_to = |table: &Table, other: &Table| {
        let mut parents = table.columns.iter().flat_map(Column::parents);
        dropped.iter().any(|one| one.is(other)) && parents.any(|parent| other.is_parent(parent))
    };
    let mut ordered: Vec<&Table> = Vec::new();
    while !tables.is_empty() {
        let is_free = |table: &&Table| {
            let mut others = tables.iter().filter(|other| !other.is(table));
            !others.any(|other| refers_to(other, table))
        };
        // Tables that refer to each other have no order.
        let place = tables.iter().position(is_free).unwrap_or_default();
        ordered.push(tables.remove(place));
    }
    ordered
}

/// Tables that are locked in one mode.
#[derive(Serialize)]
struct Lock {
    mode: &'static str,
    tables: Vec<String>,
}

/// The locks of these tables, in their order. A statement that drops triggers locks their table
/// against readers, too: it would deadlock with one of them if it had another lock before.
fn locks(tables: &[&Table], dropped: &[&Table]) -> Vec<Lock> {
    let mut locks: Vec<Lock> = Vec::new();
    for table in tables {
        let name = POSTGRES.table_name(table);
        if locks.iter().any(|lock| lock.tables.contains(&name)) {
            continue;
        }
        let mode = if dropped.iter().any(|dropped| dropped.is(table)) {
            "ACCESS EXCLUSIVE"
        } else {
            "SHARE ROW EXCLUSIVE"
        };
        match locks.last_mut().filter(|last| last.mode == mode) {
            Some(last) => last.tables.push(name),
            None => locks.push(Lock {
                mode,
                tables: vec![name],
            }),
        }
    }
    locks
}

/// The server gives triggers of a partitioned table other rows than those that a MERGE wrote. It
/// refuses a MERGE into a table that has a rule.
fn no_merge(counting: &Counting) -> Result<Trigger> {
    let name = format!("{}{NO_MERGE}", counting.definition.name);
    let quoted = POSTGRES.quoted(&name);
    let table = POSTGRES.table_name(&counting.rows);
    Ok(Trigger {
        create: render(
            "postgres/rule.sql",
            json!({ "name": quoted, "table": table }),
        )?,
        drop: drop_statement(&name, Some(&counting.rows), true, POSTGRES),
        table: TriggerTable::of(&counting.rows),
        name,
        event: "RULE".to_owned(),
        ..Trigger::default()
    })
}
