//! Triggers that count rows on MySQL and MariaDB. They run once per row.

mod cascade;
mod literals;
mod trigger;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;

use super::counting::Counting;
use super::existing::Names;
use super::functions::Event;
use super::plan::{Gone, Plan, by_plan};
use super::statement::{NEW, OLD, RowsToCount};
use super::target::{Source, Target};
use super::trigger::Trigger;
use super::values::RowAddition;
use crate::catalogue::Table;
use crate::database::{MYSQL, SQL_MODE};
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
            "on MySQL and MariaDB, a trigger cannot change the table of its own row: count the \
             rows of {rows} in a counter table"
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

/// Returns what the row `row` adds, or what is taken off. `more` are extra conditions of the
/// trigger.
fn addition(
    counting: &Counting,
    target: &Target,
    source: &Source,
    row: &str,
    more: Vec<String>,
) -> RowAddition {
    let slot = connection_slot(counting.definition.slots);
    let rows = RowsToCount::row(row, target.entities(source));
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

const WHY_STILL_OLD: &str = "\
-- MariaDB also runs this for a row that UPDATE IGNORE skips: it is still stored as it was. LOCK IN SHARE MODE reads
-- what is stored, and not the snapshot.
";

const WHY_LOCKED: &str = "\
-- Locks what is counted in before a foreign key share-locks it: two sessions that both have that lock deadlock.
";

/// What an update changes about a row.
#[derive(Serialize)]
struct Change {
    /// A condition that it changes what the row adds.
    condition: String,
    /// The row's table, and conditions that the row still is what it was.
    table: String,
    still_old: Vec<String>,
    /// What takes off the old row, and what adds the new one.
    additions: [RowAddition; 2],
}

/// More conditions for an update to take the old row off.
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
            condition: counting.changed(target, source),
            table: MYSQL.table_name(&counting.rows),
            still_old: still_old(counting, source),
            additions: [old, new],
        });
    }
    let body = render("mysql/after_update.sql", json!({ "changes": changes }))?;
    let table = &counting.rows.name;
    let mut trigger = trigger(counting, "update", "AFTER UPDATE", table, &body)?;
    if !counting.rows.primary_key.is_empty() {
        trigger.comment = WHY_STILL_OLD.to_owned();
    }
    Ok(trigger)
}

/// Locks the rows that an AFTER trigger will update, in the same order before every event.
#[derive(Serialize)]
struct RowLocks {
    table: String,
    /// The condition for the entities' rows. Empty if the table has a single row.
    is_locked: String,
    /// A condition that an update changes what the row adds. Empty for other events.
    condition: String,
}

/// Writes one value as it is, and several in parentheses.
fn list(values: &[String]) -> String {
    match values {
        [one] => one.clone(),
        several => format!("({})", several.join(", ")),
    }
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
            let key = MYSQL.columns("", &target.entity);
            let entities = rows
                .iter()
                .map(|row| list(&counting.entity_of(source, row)));
            let entities: Vec<_> = entities.collect();
            locks.push(RowLocks {
                table: MYSQL.table_name(&target.table),
                is_locked: match &*entities {
                    _ if key.is_empty() => String::new(),
                    [one] => format!("{} = {one}", list(&key)),
                    several => format!("{} IN ({})", list(&key), several.join(", ")),
                },
                condition: match event {
                    // A counter table's foreign key also share-locks the row.
                    Event::Update => counting.changed_anywhere(),
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
    let mut trigger = trigger(counting, &what, &when, table, &body)?;
    if event == Event::Insert {
        trigger.comment = WHY_LOCKED.to_owned();
    }
    Ok(Some(trigger))
}

/// Conditions that a row still is what it was before an update. Without a primary key, there's no
/// way to tell.
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
        if rows.primary_key.iter().any(|key| key == name) && !is_loose(rows, name) {
            continue;
        }
        let [mut same, mut old] = ["same", OLD].map(|row| MYSQL.column(row, name));
        if is_loose(rows, name) {
            same = format!("CAST({same} AS BINARY)");
            old = format!("CAST({old} AS BINARY)");
        }
        conditions.push(MYSQL.are_same(&same, &old));
    }
    conditions
}

/// Whether this column's collation treats different texts as equal.
fn is_loose(rows: &Table, name: &str) -> bool {
    let column = rows.column(name);
    column.is_some_and(|column| column.loose_collation.is_some())
}

/// Returns the tables that the migration locks, with every alias that its statements use: LOCK
/// TABLES refuses statements that use any other.
fn locked(plans: &[Plan], gone: &[Gone], names: Names) -> Vec<String> {
    // Nobody may count while existing rows are being counted, and triggers may only be created and
    // dropped while their tables are locked.
    let mut write: Vec<String> = Vec::new();
    let mut read = Vec::new();
    for plan in plans {
        let counting = &plan.counting;
        write.push(MYSQL.table_name(&counting.rows));
        let of_triggers = plan.triggers.iter().map(|trigger| &trigger.table.name);
        write.extend(of_triggers.map(|name| MYSQL.quoted(name)));
        write.extend(
            counting
                .targets
                .iter()
                .map(|target| MYSQL.table_name(&target.table)),
        );
        let steps = plan.steps(names);
        let statements = steps.iter().flat_map(|step| &step.statements);
        read.extend(statements.flat_map(|statement| statement.reads.clone()));
        write.extend(plan.emptied().map(|table| MYSQL.table_name(table)));
    }
    for one in gone {
        write.extend(one.rows.as_ref().map(|rows| MYSQL.table_name(rows)));
        write.extend(one.tables.iter().map(|name| MYSQL.quoted(name)));
    }
    let mut locked: Vec<String> = Vec::new();
    let writes = write.iter().map(|table| format!("{table} WRITE"));
    let reads = read.iter().filter(|table| !write.contains(table));
    for lock in writes.chain(reads.map(|table| format!("{table} READ"))) {
        if !locked.contains(&lock) {
            locked.push(lock);
        }
    }
    locked
}

pub fn up(plans: &[Plan], gone: &[Gone]) -> Result<String> {
    let is_one = plans.len() == 1 && plans[0].counting.targets.len() == 1;
    let names = if is_one && gone.is_empty() {
        Names::Short
    } else {
        Names::WithTable
    };
    let (first, by_plan) = by_plan(gone, plans);
    // LOCK TABLES doesn't know a table that has been renamed, so drop its triggers without a lock.
    let (locked_first, unlocked): (Vec<&Gone>, Vec<&Gone>) =
        first.into_iter().partition(|gone| gone.rows.is_some());
    let drops_of =
        |gone: &[&Gone]| -> Vec<String> { gone.iter().map(|gone| gone.drops.clone()).collect() };
    let all_drops: String = gone.iter().map(|gone| &*gone.drops).collect();
    let created: Vec<_> = plans
        .iter()
        .zip(&by_plan)
        .map(|(plan, replaced)| plan.values(names, replaced))
        .collect();
    let values = json!({
        "sql_mode": SQL_MODE,
        "adds_differences": plans.iter().any(Plan::adds_difference),
        "plans": created,
        "names": plans.iter().map(Plan::name).collect::<Vec<_>>(),
        "locked": locked(plans, gone, names),
        "unlocked_drops": drops_of(&unlocked),
        "drops": drops_of(&locked_first),
        "all_drops": all_drops,
    });
    render("mysql/up.sql", values)
}
