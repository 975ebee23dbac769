//! Triggers that count rows on MySQL and MariaDB: one a row.

mod cascade;
mod literals;
mod trigger;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;

use super::counting::Counting;
use super::functions::Event;
use super::plan::{Gone, Plan, Which};
use super::statement::{NEW, OLD, Rows, numbered};
use super::target::{Source, Target};
use super::trigger::Trigger;
use super::values::RowAddition;
use crate::catalogue::Table;
use crate::database::MYSQL;
use crate::template::render;
use cascade::cascades;
use trigger::{connection_slot, trigger};

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let rows = &counting.rows;
    if rows.schema.is_some() {
        bail!(
            "{rows} is in another database, and so must its triggers be: connect to that one, and \
             name the counter table with its database"
        );
    }
    let is_own_table = |target: &Target| target.slots.is_none() && target.table.is(rows);
    if counting.targets.iter().any(is_own_table) {
        bail!(
            "a trigger of MySQL and MariaDB cannot change the table of its own row: count the rows \
             of {rows} in a counter table"
        );
    }
    // In the order in which they are created.
    let mut triggers = Vec::new();
    for event in [Event::Insert, Event::Update, Event::Delete] {
        if event == Event::Delete && counting.keeps_deleted() {
            continue;
        }
        triggers.extend(lock(counting, event)?);
    }
    triggers.push(after(counting, Event::Insert, NEW)?);
    if counting.has_updates() {
        triggers.push(after_update(counting)?);
    }
    if !counting.keeps_deleted() {
        triggers.push(after(counting, Event::Delete, OLD)?);
    }
    triggers.extend(cascades(counting)?);
    Ok(triggers)
}

/// What the row `row` adds, or what is taken off. `more` are conditions of the trigger's own.
fn addition(
    counting: &Counting,
    target: &Target,
    source: &Source,
    row: &str,
    more: Vec<String>,
) -> RowAddition {
    let slot = connection_slot(counting.definition.slots);
    let rows = Rows::row(row, target.entities(source));
    counting.row_addition(target, source, &rows, &slot, more)
}

fn after(counting: &Counting, event: Event, row: &str) -> Result<Trigger> {
    let mut additions = Vec::new();
    for (target, source) in counting.sources() {
        additions.push(addition(counting, target, source, row, Vec::new()));
    }
    let body = render("mysql/after.sql", json!({ "additions": additions }))?;
    let table = &counting.rows.name;
    let when = format!("AFTER {}", event.name());
    trigger(counting, &event.lower(), &when, table, &body)
}

/// What an update changes of a row.
#[derive(Serialize)]
struct Change {
    /// Whether it changes what the row adds.
    condition: String,
    /// The table of the row, and the conditions of the row as it was.
    table: String,
    still_old: Vec<String>,
    /// What takes off the old row, and what adds the new one.
    additions: [RowAddition; 2],
}

/// More conditions under which an update takes the old row off.
fn stays(counting: &Counting, source: &Source) -> Vec<String> {
    if counting.keeps_deleted() {
        counting.stays(source, NEW, OLD)
    } else {
        Vec::new()
    }
}

fn after_update(counting: &Counting) -> Result<Trigger> {
    let mut changes = Vec::new();
    for (target, source) in counting.sources() {
        let old = addition(counting, target, source, OLD, stays(counting, source));
        let new = addition(counting, target, source, NEW, Vec::new());
        changes.push(Change {
            condition: counting.changed(source),
            table: MYSQL.table_name(&counting.rows),
            still_old: still_old(counting, source),
            additions: [old, new],
        });
    }
    let body = render("mysql/after_update.sql", json!({ "changes": changes }))?;
    let table = &counting.rows.name;
    trigger(counting, "update", "AFTER UPDATE", table, &body)
}

/// Locks the rows that an AFTER trigger will update, in the same order before each event.
#[derive(Serialize)]
struct Lock {
    table: String,
    key: Vec<String>,
    /// The entities of the old and the new row.
    entities: Vec<String>,
    /// Whether an update changes what the row adds. Empty before other events.
    condition: String,
}

fn lock(counting: &Counting, event: Event) -> Result<Option<Trigger>> {
    let rows: &[&str] = match event {
        Event::Insert => &[NEW],
        Event::Update => &[OLD, NEW],
        _ => &[OLD],
    };
    let mut locks = Vec::new();
    for target in counting.locked_before() {
        for source in &target.sources {
            let entity = |row: &&str| format!("({})", counting.entity_of(source, row).join(", "));
            locks.push(Lock {
                table: MYSQL.table_name(&target.table),
                key: MYSQL.columns("", &target.entity),
                entities: rows.iter().map(entity).collect(),
                condition: match event {
                    Event::Update => counting.changed(source),
                    _ => String::new(),
                },
            });
        }
    }
    if locks.is_empty() {
        return Ok(None);
    }
    let body = render("mysql/before.sql", json!({ "locks": locks }))?;
    let what = format!("lock_{}", event.lower());
    let when = format!("BEFORE {}", event.name());
    let table = &counting.rows.name;
    trigger(counting, &what, &when, table, &body).map(Some)
}

/// The conditions of a row that is what it was before an update. Without a primary key, none can
/// tell.
fn still_old(counting: &Counting, source: &Source) -> Vec<String> {
    let rows = &counting.rows;
    if rows.primary_key.is_empty() {
        return Vec::new();
    }
    let mut conditions = Vec::new();
    for name in &rows.primary_key {
        let same = MYSQL.column("same", name);
        let old = MYSQL.column(OLD, name);
        conditions.push(format!("{same} = {old}"));
    }
    for name in counting.columns(source) {
        let same = MYSQL.column("same", name);
        let old = MYSQL.column(OLD, name);
        conditions.push(format!("CAST({same} AS BINARY) <=> CAST({old} AS BINARY)"));
    }
    conditions
}

/// The tables that the migration locks, under each name that its statements use: LOCK TABLES
/// refuses a statement over any other one.
fn locked(plans: &[Plan], gone: &[Gone]) -> Vec<String> {
    let mut tables = Vec::new();
    // Nobody counts while existing rows are counted, so the rows and the counters are locked
    // against writers. What queries read of them, they read under another name.
    let write = |table: &Table| MYSQL.table_name(table) + " WRITE";
    for counting in plans.iter().map(|plan| &plan.counting) {
        let read = |used_as: &str, table: &Table| counting.used_as(used_as, table) + " READ";
        tables.push(write(&counting.rows));
        for target in &counting.targets {
            tables.extend([write(&target.table), read("kept", &target.table)]);
            for place in 0..target.sources.len() {
                tables.push(read(&numbered("counted", place), &counting.rows));
                let parents = target.parents.iter().map(|parent| &parent.table);
                tables.extend(parents.map(|parent| read(&numbered("parent", place), parent)));
            }
        }
    }
    let gone_rows = gone.iter().filter_map(|gone| gone.rows.as_ref());
    tables.extend(gone_rows.map(write));
    tables.sort();
    tables.dedup();
    tables
}

pub fn up(plans: &[Plan], gone: &[Gone]) -> Result<String> {
    let is_created = |gone: &&Gone| plans.iter().any(|plan| plan.name() == gone.name);
    let drops = |which| -> Vec<String> { gone.iter().map(|gone| gone.drops(which)).collect() };
    // The view of a definition that is created again is replaced.
    let only_dropped = gone.iter().filter(|gone| !is_created(gone));
    let dropped_definitions = only_dropped.map(|gone| &gone.drop_definition);
    let created = plans.iter().map(Plan::values).collect::<Result<Vec<_>>>()?;
    let values = json!({
        "plans": created,
        "locked": locked(plans, gone),
        "drops_of_others": drops(Which::OfOthers),
        "drops_of_rows": drops(Which::OfRows),
        "dropped_definitions": dropped_definitions.collect::<Vec<_>>(),
    });
    render("mysql/up.sql", values)
}
