//! Triggers that count rows on PostgreSQL: one a statement, over all rows that it changed. Each has
//! a function of its own. It runs with the rights of its owner, so that whoever writes rows needs
//! no right on the counters, and depends on nothing that another role can change: all names have
//! their schema, and its search path has only the server's own.

mod body;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;

use super::counting::Counting;
use super::functions::{COMMENT, Event, comment_text, function_name, name_of, once};
use super::plan::{Gone, Plan};
use super::trigger::{Trigger, TriggerTable};
use crate::catalogue::{Column, Table};
use crate::database::POSTGRES;
use crate::layout::DEFINITION_GOES_ON;
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
    let (when, transition_tables): (&str, &[&str]) = match event {
        Event::Insert => ("AFTER", &[NEW]),
        Event::Update => ("AFTER", &[OLD, NEW]),
        Event::Delete => ("AFTER", &[OLD]),
        Event::Truncate => ("BEFORE", &[]),
    };
    let referencing = transition_tables.iter().map(|name| match *name {
        OLD => format!("OLD TABLE AS {OLD}"),
        _ => format!("NEW TABLE AS {NEW}"),
    });
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
        drop: format!("DROP TRIGGER IF EXISTS {quoted} ON {table};\n"),
        table: TriggerTable::of(&counting.rows),
        name,
        event: format!("{when} {} {}", event.name(), transition_tables.join(" ")),
        function: Some(function(counting, event, &body)?),
        body,
        same: Vec::new(),
    })
}

/// Creates the function of an event. That of INSERT, which each definition has, stores the
/// definition in its text and in its comment.
fn function(counting: &Counting, event: Event, body: &str) -> Result<String> {
    let has_definition = event == Event::Insert;
    let stored = if has_definition {
        let json = counting.definition.json();
        json.replace('\n', &format!("\n{DEFINITION_GOES_ON}"))
    } else {
        format!("see {}()", name_of(counting, Event::Insert))
    };
    let values = json!({
        "name": function_name(counting, event),
        "body": dollar_quoted("counting", &format!("\n-- {COMMENT}{stored}\n{body}")),
        "comment": if has_definition { comment_text(counting) } else { String::new() },
    });
    render("postgres/function.sql", values)
}

/// A text in dollar quotes. The tag is `tag`, and a number if the text has that: names of the
/// catalogue are those of others.
fn dollar_quoted(tag: &str, text: &str) -> String {
    let mut quote = format!("${tag}$");
    let mut number = 2;
    // It ends: the text has an end.
    while text.contains(&quote) {
        quote = format!("${tag}{number}$");
        number += 1;
    }
    format!("{quote}{text}{quote}")
}

/// The statements that create triggers, and drop others before.
pub fn up(plans: &[Plan], gone: &[Gone]) -> Result<String> {
    let dropped: Vec<&Table> = gone.iter().filter_map(|gone| gone.rows.as_ref()).collect();
    // Where triggers count already, each statement locks its own table first.
    let mut locked = dropped.clone();
    // The tables of entities come next, as in a program that writes an entity, and then its rows.
    let corrected = plans.iter().filter(|plan| plan.corrects_now());
    let targets = corrected.flat_map(|plan| &plan.counting.targets);
    let in_columns = targets.filter(|target| target.slots.is_none());
    locked.extend(in_columns.map(|target| &target.table));
    locked.extend(plans.iter().map(|plan| &plan.counting.rows));
    // The tables that must be those of the role that runs the migration, and those whose owners
    // must have its rights.
    let mut owned = Vec::new();
    let mut parents = Vec::new();
    for counting in plans.iter().map(|plan| &plan.counting) {
        owned.push(&counting.rows);
        for target in &counting.targets {
            owned.push(&target.table);
            parents.extend(target.parents.iter().map(|parent| &parent.table));
        }
    }
    let class = |table: &Table| {
        let name = POSTGRES.literal(&POSTGRES.table_name(table));
        format!("{name}::regclass")
    };
    let owned = once(owned.into_iter().map(class));
    let parents = once(
        parents
            .into_iter()
            .map(class)
            .filter(|one| !owned.contains(one)),
    );
    let drops: Vec<_> = gone.iter().map(Gone::drops_all).collect();
    let created = plans.iter().map(Plan::values).collect::<Result<Vec<_>>>()?;
    let values = json!({
        "owned": owned,
        "parents": parents,
        "locks": locks(&locked, &dropped),
        "drops": drops,
        "plans": created,
    });
    let body = render("postgres/up.sql", values)?;
    Ok(format!("DO {};\n", dollar_quoted("diesel_counters", &body)))
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
    let name = format!("{}_no_merge", counting.definition.name);
    let quoted = POSTGRES.quoted(&name);
    let table = POSTGRES.table_name(&counting.rows);
    Ok(Trigger {
        create: render(
            "postgres/rule.sql",
            json!({ "name": quoted, "table": table }),
        )?,
        drop: format!("DROP RULE IF EXISTS {quoted} ON {table};\n"),
        table: TriggerTable::of(&counting.rows),
        name,
        event: "RULE".to_owned(),
        ..Trigger::default()
    })
}
