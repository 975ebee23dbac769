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
use super::plan::{Gone, Plan, dropped_first, values_of_plans};
use super::statement::{NEW, OLD, RowsToCount};
use super::target::{Source, Target};
use super::trigger::Trigger;
use super::values::RowAddition;
use crate::catalogue::Table;
use crate::database::{MYSQL, SQL_MODE};
use crate::template::render;
use cascade::cascades;
use trigger::{connection_slot, trigger};

/// Makes a definition's triggers, in the order in which they are created.
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
    let mut triggers = Vec::new();
    triggers.extend(locking_trigger(counting, Event::Insert)?);
    triggers.extend(locking_trigger(counting, Event::Update)?);
    if !counting.keeps_deleted() {
        triggers.extend(locking_trigger(counting, Event::Delete)?);
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

/// Returns what the row `row` adds to a target, or takes off. It only does if these conditions are
/// true, too.
fn addition(
    counting: &Counting,
    target: &Target,
    source: &Source,
    row: &str,
    more_conditions: Vec<String>,
) -> RowAddition {
    let slot = connection_slot(counting.definition.slots);
    let rows = RowsToCount::row(row, target.entities(source));
    counting.row_addition(target, source, &rows, &slot, more_conditions)
}

/// Makes the trigger that counts the row `row` after an INSERT or a DELETE.
fn after(counting: &Counting, event: Event, row: &str) -> Result<Trigger> {
    let mut additions = Vec::new();
    for (target, source) in counting.sources() {
        let no_more_conditions = Vec::new();
        additions.push(addition(counting, target, source, row, no_more_conditions));
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

/// Returns the conditions under which an update takes the old row off its count. With `deleted =
/// "kept"`, a row that moves to another entity also stays in the count that it leaves, so the
/// condition is that it doesn't move.
fn stays(counting: &Counting, source: &Source) -> Vec<String> {
    if counting.keeps_deleted() {
        counting.stays(source, NEW, OLD)
    } else {
        Vec::new()
    }
}

/// Makes the trigger that takes the old row off after an UPDATE, and adds the new one.
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

/// Writes a value as it is, and several as a row: `(a, b)`.
fn row_of(values: &[String]) -> String {
    match values {
        [value] => value.clone(),
        _ => format!("({})", values.join(", ")),
    }
}

/// Makes the trigger that locks the rows of ordinary tables before an event, if it locks any.
fn locking_trigger(counting: &Counting, event: Event) -> Result<Option<Trigger>> {
    let rows: &[&str] = match event {
        Event::Insert => &[NEW],
        Event::Update => &[OLD, NEW],
        Event::Delete | Event::Truncate => &[OLD],
    };
    let mut locks = Vec::new();
    for target in counting.locked_before() {
        for source in &target.sources {
            locks.push(RowLocks {
                table: MYSQL.table_name(&target.table),
                is_locked: is_locked(counting, target, source, rows),
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
    let suffix = format!("lock_{}", event.lower());
    let when = format!("BEFORE {}", event.name());
    let table = &counting.rows.name;
    let mut trigger = trigger(counting, &suffix, &when, table, &body)?;
    if event == Event::Insert {
        trigger.comment = WHY_LOCKED.to_owned();
    }
    Ok(Some(trigger))
}

/// Returns the condition for the entities' rows that are locked, such as `id = NEW.article_id` or
/// `id IN (OLD.article_id, NEW.article_id)`. Empty if the table has a single row.
fn is_locked(counting: &Counting, target: &Target, source: &Source, rows: &[&str]) -> String {
    let key = MYSQL.columns("", &target.entity);
    if key.is_empty() {
        return String::new();
    }
    let key = row_of(&key);
    let entities = rows.iter().map(|row| counting.entity_of(source, row));
    let entities: Vec<_> = entities.map(|entity| row_of(&entity)).collect();
    match &*entities {
        [entity] => format!("{key} = {entity}"),
        _ => format!("{key} IN ({})", entities.join(", ")),
    }
}

/// Returns the conditions that the stored row, `same`, still is what it was before an update.
/// Without a primary key, there's no way to tell.
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
        let is_in_key = rows.primary_key.iter().any(|key| key == name);
        let [same, old] = ["same", OLD].map(|row| MYSQL.column(row, name));
        if is_loose(rows, name) {
            let [same, old] = [same, old].map(|value| format!("CAST({value} AS BINARY)"));
            conditions.push(MYSQL.are_same(&same, &old));
        } else if !is_in_key {
            conditions.push(MYSQL.are_same(&same, &old));
        }
    }
    conditions
}

/// Whether this column's collation treats different texts as equal.
fn is_loose(rows: &Table, name: &str) -> bool {
    let column = rows.column(name);
    column.is_some_and(|column| column.loose_collation.is_some())
}

/// Returns what LOCK TABLES locks, such as `likes WRITE` or `likes AS counted READ`. LOCK TABLES
/// refuses statements that use a table or an alias that it doesn't name.
fn table_locks(plans: &[Plan], gone: &[Gone], names: Names) -> Vec<String> {
    let written = written_tables(plans, gone);
    let mut locks: Vec<String> = Vec::new();
    let mut lock_once = |lock: String| {
        if !locks.contains(&lock) {
            locks.push(lock);
        }
    };
    for table in &written {
        lock_once(format!("{table} WRITE"));
    }
    for plan in plans {
        let statements = plan
            .steps(names)
            .into_iter()
            .flat_map(|step| step.statements);
        for table in statements.flat_map(|statement| statement.reads) {
            if !written.contains(&table) {
                lock_once(format!("{table} READ"));
            }
        }
    }
    locks
}

/// Returns the tables that nobody else may use during a migration. Nobody may count while existing
/// rows are being counted, and triggers may only be created and dropped while their tables are
/// locked.
fn written_tables(plans: &[Plan], gone: &[Gone]) -> Vec<String> {
    let mut tables = Vec::new();
    for plan in plans {
        tables.push(MYSQL.table_name(&plan.counting.rows));
        for trigger in &plan.triggers {
            tables.push(MYSQL.quoted(&trigger.table.name));
        }
        for target in &plan.counting.targets {
            tables.push(MYSQL.table_name(&target.table));
        }
        tables.extend(plan.emptied().map(|table| MYSQL.table_name(table)));
    }
    for gone in gone {
        tables.extend(gone.rows.as_ref().map(|rows| MYSQL.table_name(rows)));
        tables.extend(gone.tables.iter().map(|name| MYSQL.quoted(name)));
    }
    tables
}

/// Writes the statements that create triggers, after dropping others.
pub fn up(plans: &[Plan], gone: &[Gone]) -> Result<String> {
    let has_one_target = plans.len() == 1 && plans[0].counting.targets.len() == 1;
    let names = if has_one_target && gone.is_empty() {
        Names::Short
    } else {
        Names::WithTable
    };
    // LOCK TABLES doesn't know a table that has been renamed, so drop its triggers without a lock.
    let (locked, unlocked): (Vec<&Gone>, Vec<&Gone>) = dropped_first(gone, plans)
        .into_iter()
        .partition(|gone| gone.rows.is_some());
    let drops_of = |gone: &[&Gone]| -> Vec<String> {
        let drops = gone.iter().map(|gone| gone.drops.clone());
        drops.collect()
    };
    let all_drops: String = gone.iter().map(|gone| &*gone.drops).collect();
    let values = json!({
        "sql_mode": SQL_MODE,
        "adds_differences": plans.iter().any(Plan::adds_difference),
        "plans": values_of_plans(plans, gone, names),
        "names": plans.iter().map(Plan::name).collect::<Vec<_>>(),
        "locked": table_locks(plans, gone, names),
        "unlocked_drops": drops_of(&unlocked),
        "drops": drops_of(&locked),
        "all_drops": all_drops,
    });
    render("mysql/up.sql", values)
}
