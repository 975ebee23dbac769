//! Triggers that count rows on PostgreSQL: one a statement, over all rows that it changed. Each has
//! a function of its own. It runs with the rights of its owner, so that whoever writes rows needs
//! no right on the counters, and depends on nothing that another role can change: all names have
//! their schema, and its search path has only the server's own.

mod body;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;

use super::counting::Counting;
use super::definition::Existing;
use super::functions::{COMMENT, Event, comment_text, function_name, name_of, once};
use super::plan::{Gone, Plan, Which};
use super::trigger::Trigger;
use crate::catalogue::Table;
use crate::database::POSTGRES;
use crate::layout::DEFINITION_GOES_ON;
use crate::template::render;
use body::{NEW, OLD, Version, body, earlier_body};

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let rows = &counting.rows;
    let mut columns = rows.columns.iter();
    // The rows of a statement do not have columns that are computed when they are read.
    if let Some(column) = columns.find(|one| one.not_stored && counting.uses(&one.name)) {
        bail!(
            "{rows}.{} is a virtual generated column, which a trigger cannot read: make it STORED",
            column.name
        );
    }
    let mut events = vec![Event::Insert];
    if counting.has_updates() {
        events.push(Event::Update);
    }
    if counting.keeps_deleted() {
        if counting.has_updates() && rows.primary_key.is_empty() {
            bail!(
                "{rows} has no primary key, by which deleted = \"kept\" tells a row that an update moves from one \
                 that stays"
            );
        }
    } else {
        events.extend([Event::Delete, Event::Truncate]);
    }
    let mut earlier = Vec::new();
    for version in [Version::OneFunction, Version::Unguarded] {
        earlier.push(earlier_body(counting, version)?);
    }
    let mut triggers = Vec::new();
    for event in events {
        triggers.push(trigger(counting, event, &earlier)?);
    }
    if rows.partitioned {
        triggers.push(no_merge(counting)?);
    }
    Ok(triggers)
}

/// The trigger of an event, and its function, which has the same name.
fn trigger(counting: &Counting, event: Event, earlier: &[String]) -> Result<Trigger> {
    let name = name_of(counting, event);
    let quoted = POSTGRES.quoted(&name);
    let table = POSTGRES.table_name(&counting.rows);
    let (when, rows): (&str, &[&str]) = match event {
        Event::Insert => ("AFTER", &[NEW]),
        Event::Update => ("AFTER", &[OLD, NEW]),
        Event::Delete => ("AFTER", &[OLD]),
        Event::Truncate => ("BEFORE", &[]),
    };
    let referencing = rows.iter().map(|rows| match *rows {
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
        table: (counting.rows.in_schema.clone(), counting.rows.name.clone()),
        name,
        event: format!("{when} {} {}", event.name(), rows.join(" ")),
        function: Some(function(counting, event, &body)?),
        body,
        same: earlier.to_vec(),
    })
}

/// Creates the function of an event.
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
    let numbers =
        std::iter::once(String::new()).chain((2..).map(|number: usize| number.to_string()));
    let mut quotes = numbers.map(|number| format!("${tag}{number}$"));
    // One of them is not in the text, which has an end.
    let quote = quotes
        .find(|quote| !text.contains(quote))
        .unwrap_or_default();
    format!("{quote}{text}{quote}")
}

/// The statements that create triggers, and drop others before.
pub fn up(plans: &[Plan], gone: &[Gone]) -> Result<String> {
    let rows = plans.iter().map(|plan| &plan.counting.rows);
    // The tables of entities come first, as in a program that writes an entity, and then its rows.
    let counting = plans.iter().map(|plan| &plan.counting);
    let now = counting.filter(|counting| counting.definition.existing == Existing::Now);
    let targets = now.flat_map(|counting| &counting.targets);
    let columns = targets.filter(|target| target.slots.is_none());
    let gone_rows = || gone.iter().filter_map(|gone| gone.rows.as_ref());
    let locked = columns.map(|target| &target.table).chain(rows);
    // Where triggers count already, each statement locks its own table first.
    let locks = locks(gone_rows().chain(locked), gone_rows());
    let owned = plans.iter().flat_map(|plan| {
        let targets = plan.counting.targets.iter().map(|target| &target.table);
        [&plan.counting.rows].into_iter().chain(targets)
    });
    let owned = owned.map(|table| {
        let name = POSTGRES.literal(&POSTGRES.table_name(table));
        format!("{name}::regclass")
    });
    let drops = gone.iter();
    let drops = drops.map(|gone| gone.drops(Which::All) + &gone.drop_definition);
    let created = plans.iter().map(Plan::values).collect::<Result<Vec<_>>>()?;
    let values = json!({
        "owned": once(owned),
        "locks": locks,
        "drops": drops.collect::<Vec<_>>(),
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
fn locks<'t>(
    tables: impl Iterator<Item = &'t Table>,
    dropped: impl Iterator<Item = &'t Table>,
) -> Vec<Lock> {
    let dropped: Vec<_> = dropped.collect();
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
        table: (counting.rows.in_schema.clone(), counting.rows.name.clone()),
        name,
        event: "RULE".to_owned(),
        ..Trigger::default()
    })
}
