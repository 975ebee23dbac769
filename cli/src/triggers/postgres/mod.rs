//! Triggers that count rows on PostgreSQL. They run once per statement, for all the rows that it
//! changed. Each has its own function, which runs with the rights of whoever writes the rows. It
//! finds its tables in the search path of the session that created it, whatever the writer's search
//! path is.

mod body;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;

use super::counting::Counting;
use super::existing::Names;
use super::functions::{Event, function_name, name_of};
use super::plan::{Gone, NO_MERGE, Plan, dropped_first, values_of_plans};
use super::trigger::{Trigger, TriggerTable, drop_rule, drop_trigger};
use crate::catalogue::{Column, Table};
use crate::database::POSTGRES;
use crate::template::render;
use body::{NEW, OLD, body};

/// Makes a definition's triggers, in the order in which they are created.
pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let rows = &counting.rows;
    // A statement's rows don't have columns that are computed when they are read.
    let is_missing = |column: &&Column| column.not_stored && counting.uses(&column.name);
    if let Some(column) = rows.columns.iter().find(is_missing) {
        bail!(
            "{rows}.{} is a virtual generated column, which a trigger cannot read: make it STORED",
            column.name
        );
    }
    // If no update can change what a row adds, there is no need for an update trigger.
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

/// Makes an event's trigger and its function, which have the same name.
fn trigger(counting: &Counting, event: Event) -> Result<Trigger> {
    let name = name_of(counting, event);
    let quoted = POSTGRES.quoted(&name);
    let table = POSTGRES.table_name(&counting.rows);
    let old = counting.unused_name(OLD);
    let new = counting.unused_name(NEW);
    let (when, transition_tables) = match event {
        Event::Insert => ("AFTER", vec![("NEW", &new)]),
        Event::Update => ("AFTER", vec![("OLD", &old), ("NEW", &new)]),
        Event::Delete => ("AFTER", vec![("OLD", &old)]),
        // A TRUNCATE has no transition tables, so its trigger reads the table itself before it's
        // emptied.
        Event::Truncate => ("BEFORE", vec![]),
    };
    let mut referencing = Vec::new();
    let mut names = Vec::new();
    for (old_or_new, name) in transition_tables {
        referencing.push(format!("{old_or_new} TABLE AS {name}"));
        names.push(name.clone());
    }
    let values = json!({
        "name": quoted,
        "when": when,
        "event": event,
        "table": table,
        "referencing": referencing,
        "function": function_name(counting, event),
    });
    let body = body(counting, event)?;
    Ok(Trigger {
        create: render("postgres/trigger.sql", values)?,
        drop: drop_trigger(&name, Some(&counting.rows), POSTGRES),
        table: TriggerTable::of(&counting.rows),
        name,
        event: format!("{when} {} {}", event.name(), names.join(" ")),
        function: Some(function(counting, event, &body)?),
        body,
        ..Trigger::default()
    })
}

/// Writes the statement that creates an event's function.
fn function(counting: &Counting, event: Event, body: &str) -> Result<String> {
    let values = json!({
        "name": function_name(counting, event),
        "body": dollar_quoted(&format!("\n{}", body.trim_end())),
    });
    render("postgres/function.sql", values)
}

/// Writes a text in dollar quotes: `$$…$$`, or `$counting1$…$counting1$` if the text has `$$` in
/// it.
fn dollar_quoted(text: &str) -> String {
    let mut quote = "$$".to_owned();
    let mut number = 1;
    // This comes to an end, because a text can't contain every tag.
    while text.contains(&quote) {
        quote = format!("$counting{number}$");
        number += 1;
    }
    // The space keeps a `$` at the end of the text apart from the quote.
    format!("{quote}{text} {quote}")
}

/// Writes the statements that create triggers, after dropping others.
pub fn up(plans: &[Plan], gone: &[Gone]) -> Result<String> {
    let dropped: Vec<&Table> = gone.iter().filter_map(|gone| gone.rows.as_ref()).collect();
    let locked = referring_first(locked_tables(plans, &dropped), &dropped);
    let first = dropped_first(gone, plans);
    let drops: Vec<_> = first.iter().map(|gone| &gone.drops).collect();
    let mut countings = plans.iter().map(|plan| &plan.counting);
    let values = json!({
        "locks": locks(&locked, &dropped),
        "has_drops": !gone.is_empty(),
        "drops": drops,
        "plans": values_of_plans(plans, gone, Names::Short),
        "uses_slots": countings.any(Counting::uses_slots),
    });
    render("postgres/up.sql", values)
}

/// Returns the tables that a migration locks. `dropped` are those whose triggers it drops.
fn locked_tables<'t>(plans: &'t [Plan], dropped: &[&'t Table]) -> Vec<&'t Table> {
    // Where triggers already count, every statement locks its own table first.
    let mut locked = dropped.to_vec();
    // The entities' tables come next, in the order of a program that writes an entity and then its
    // rows.
    for plan in plans {
        let adds_to_counts = !plan.steps(Names::Short).is_empty();
        for target in &plan.counting.targets {
            if adds_to_counts && target.slots.is_none() {
                locked.push(&target.table);
            }
        }
    }
    locked.extend(plans.iter().map(|plan| &plan.counting.rows));
    locked.extend(plans.iter().flat_map(Plan::emptied));
    locked
}

/// Puts a table before those that its foreign keys refer to, because that's how a statement locks
/// them. This only matters for the strong lock on `dropped`, the tables whose triggers are dropped.
fn referring_first<'t>(mut tables: Vec<&'t Table>, dropped: &[&Table]) -> Vec<&'t Table> {
    let refers_to = |table: &Table, other: &Table| {
        let mut parents = table.columns.iter().flat_map(Column::parents);
        let is_dropped = dropped.iter().any(|dropped| dropped.is(other));
        is_dropped && parents.any(|parent| other.is_parent(parent))
    };
    let mut ordered: Vec<&Table> = Vec::new();
    while !tables.is_empty() {
        let has_no_referring = |table: &&Table| {
            let mut others = tables.iter().filter(|other| !other.is(table));
            !others.any(|other| refers_to(other, table))
        };
        // If tables refer to each other, there is no order, and the first one is as good as any.
        let index = tables.iter().position(has_no_referring).unwrap_or_default();
        ordered.push(tables.remove(index));
    }
    ordered
}

/// Tables that are locked in the same mode.
#[derive(Serialize)]
struct TableLocks {
    mode: &'static str,
    tables: Vec<String>,
}

/// Returns the locks for these tables, in order. Dropping triggers also locks out readers, and
/// would deadlock with one if the migration already had a weaker lock on the table.
fn locks(tables: &[&Table], dropped: &[&Table]) -> Vec<TableLocks> {
    let mut locks: Vec<TableLocks> = Vec::new();
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
            None => locks.push(TableLocks {
                mode,
                tables: vec![name],
            }),
        }
    }
    locks
}

/// Makes a rule that prevents MERGE, because PostgreSQL refuses a MERGE into a table with a rule.
/// On a partitioned table, triggers would see other rows than those that the MERGE wrote.
fn no_merge(counting: &Counting) -> Result<Trigger> {
    let name = format!("{}{NO_MERGE}", counting.definition.name);
    let quoted = POSTGRES.quoted(&name);
    let table = POSTGRES.table_name(&counting.rows);
    Ok(Trigger {
        create: render(
            "postgres/rule.sql",
            json!({ "name": quoted, "table": table }),
        )?,
        drop: drop_rule(&name, Some(&counting.rows)),
        table: TriggerTable::of(&counting.rows),
        name,
        event: "RULE".to_owned(),
        ..Trigger::default()
    })
}
