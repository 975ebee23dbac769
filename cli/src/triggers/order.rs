//! The order in which triggers lock rows. If two transactions lock rows of two tables in different
//! orders, they can deadlock.

use std::collections::VecDeque;

use anyhow::{Error, Result, anyhow, bail};

use super::counting::Counting;
use super::functions::{Event, name_of, name_of_lock};
use super::references::{are_counted, by_parent};
use super::target::Target;
use crate::catalogue::Table;
use crate::database::{Joined, MYSQL, POSTGRES};

/// Puts definitions in the order in which a migration creates them and counts their existing rows.
/// A column must be counted before another definition uses it as a weight. Apart from that, their
/// order stays.
pub fn order_of_creation(mut rest: Vec<Counting>) -> Result<Vec<Counting>> {
    let mut ordered = Vec::new();
    while !rest.is_empty() {
        let uses_none_of_rest = |counting: &Counting| {
            let mut others = rest.iter();
            others.all(|other| used_counter(counting, other).is_none())
        };
        match rest.iter().position(uses_none_of_rest) {
            Some(index) => ordered.push(rest.remove(index)),
            None => return Err(circle_error(&rest)),
        }
    }
    Ok(ordered)
}

/// Returns the error for definitions of which every one uses a counter of another one.
fn circle_error(countings: &[Counting]) -> Error {
    let first = &countings[0];
    for other in countings {
        if let Some((table, counter)) = used_counter(first, other) {
            return anyhow!(
                "{} uses {table}.{counter}, in which {} counts, and counts in a column that it \
                 uses, or that others use before it: none of them can be counted first",
                first.definition.name,
                other.definition.name
            );
        }
    }
    anyhow!("definitions without an order")
}

/// Returns a counter of another definition whose value changes what this definition counts, for
/// example because it's the weight.
fn used_counter<'c>(counting: &Counting, other: &'c Counting) -> Option<(&'c Table, &'c str)> {
    if counting.definition.name == other.definition.name {
        return None;
    }
    let mut counters = other.counters();
    counters.find(|(table, counter)| counting.rows.is(table) && counting.uses(counter))
}

/// A statement locks a row of the first table, and then one of the second.
struct LockedBefore<'c> {
    first: &'c Table,
    second: &'c Table,
    /// The table that the statement writes.
    rows: &'c Table,
}

/// Returns the tables in the order in which these definitions' triggers lock rows, including the
/// tables of the counted rows. Fails if there is no such order, or if a trigger on MySQL would
/// change its own table.
pub fn locking_order<'c>(all: &[&'c Counting]) -> Result<Vec<&'c Table>> {
    for counting in all.iter().filter(|counting| counting.database == MYSQL) {
        refuse_own_table(counting, all)?;
    }
    let mut tables: Vec<&Table> = Vec::new();
    let mut known: Vec<LockedBefore> = Vec::new();
    for counting in all {
        for event in [Event::Insert, Event::Update, Event::Delete] {
            let rows = &counting.rows;
            let statement = Write {
                rows,
                event,
                changed: None,
            };
            let being_written = [];
            let mut locked = Vec::new();
            add_locked(statement, all, &being_written, &mut locked);
            // Each table is locked after all of those before it.
            for (index, second) in locked.iter().enumerate() {
                for first in &locked[..index] {
                    let step = LockedBefore {
                        first,
                        second,
                        rows,
                    };
                    refuse_deadlock(&step, &known)?;
                    known.push(step);
                }
                push_once(second, &mut tables);
            }
        }
    }
    Ok(sorted_tables(tables, &known))
}

/// Fails if other statements already lead from the second table to the first.
fn refuse_deadlock(step: &LockedBefore<'_>, known: &[LockedBefore<'_>]) -> Result<()> {
    let LockedBefore {
        first,
        second,
        rows,
    } = step;
    if let Some(way_back) = path(second, first, known) {
        let other = way_back[0].rows;
        let tables = way_back.iter().map(|step| step.second.to_string());
        let names = tables.joined(" before ");
        bail!(
            "a row of {rows} locks a row of {first} before one of {second}, and a row \
             of {other} locks {second} before {names}: two transactions could wait for \
             each other. Write the counts in the same order in all definitions. On \
             PostgreSQL, the triggers of a table run in the order of their names"
        );
    }
    Ok(())
}

/// Sorts tables so that each comes before those that are locked after it.
fn sorted_tables<'c>(mut tables: Vec<&'c Table>, known: &[LockedBefore<'c>]) -> Vec<&'c Table> {
    let mut sorted: Vec<&Table> = Vec::new();
    while !tables.is_empty() {
        let is_first = |table: &&Table| {
            let mut others = tables.iter();
            !others.any(|other| path(other, table, known).is_some())
        };
        // There always is one, because no table comes before itself.
        let index = tables.iter().position(is_first).unwrap_or_default();
        sorted.push(tables.remove(index));
    }
    sorted
}

/// A statement that writes rows: a program's, or a trigger's.
#[derive(Clone, Copy)]
struct Write<'c> {
    rows: &'c Table,
    event: Event,
    /// The columns that an update changes. `None` if it can change any, and for other events.
    changed: Option<&'c [String]>,
}

/// Adds the tables whose rows a statement locks, each once. If the statement is a trigger's,
/// `being_written` has the tables that are being written. Slots are left out, because connections
/// lock different ones.
fn add_locked<'c>(
    statement: Write<'c>,
    all: &[&'c Counting],
    being_written: &[&'c Table],
    locked: &mut Vec<&'c Table>,
) {
    let Write { rows, event, .. } = statement;
    push_once(rows, locked);
    // The triggers of a table that is already being written run again, but lock the same tables.
    if contains(being_written, rows) {
        return;
    }
    let being_written = &[being_written, &[rows]].concat();
    let mut run: Vec<&'c Counting> = all.to_vec();
    run.retain(|counting| counting.rows.is(rows));
    let database = run.first().map(|counting| counting.database);
    if database == Some(POSTGRES) {
        // PostgreSQL runs the triggers of an event in the order of their names.
        run.sort_by_key(|counting| name_of(counting, event));
    }
    if database == Some(MYSQL) {
        // All BEFORE triggers run before all AFTER triggers, both in the order in which they were
        // created.
        run.sort_by_key(|counting| counting.trigger_index(&name_of_lock(counting, event)));
        for counting in &run {
            for target in counting.locked_before() {
                if is_changed(counting, target, statement) {
                    push_once(&target.table, locked);
                }
            }
        }
        run.sort_by_key(|counting| counting.trigger_index(&name_of(counting, event)));
    }
    for counting in run {
        for target in &counting.targets {
            if target.slots.is_none() && is_changed(counting, target, statement) {
                add_locked_by_count(target, all, being_written, locked);
            }
        }
    }
}

/// Whether a statement can change what its rows add to a target.
fn is_changed(counting: &Counting, target: &Target, statement: Write<'_>) -> bool {
    let Some(changed) = statement.changed else {
        return true;
    };
    target.sources.iter().any(|source| {
        let counted = counting.columns(source);
        changed.iter().any(|name| counted.contains(&&**name))
    })
}

/// Adds the tables whose rows are locked when a trigger counts in a target. A counter table also
/// gets new rows.
fn add_locked_by_count<'c>(
    target: &'c Target,
    all: &[&'c Counting],
    being_written: &[&'c Table],
    locked: &mut Vec<&'c Table>,
) {
    let (event, changed) = match target.slots {
        Some(_) => (Event::Insert, None),
        None => (Event::Update, Some(&*target.names)),
    };
    let statement = Write {
        rows: &target.table,
        event,
        changed,
    };
    add_locked(statement, all, being_written, locked);
}

/// Returns the tables that change when a trigger counts in a target: its own, and those that the
/// triggers of this table change in turn.
fn changed_with<'c>(target: &'c Target, all: &[&'c Counting]) -> Vec<&'c Table> {
    let being_written = [];
    let mut changed = Vec::new();
    add_locked_by_count(target, all, &being_written, &mut changed);
    changed
}

/// Refuses a trigger that would change its own table. That happens if two foreign keys refer to one
/// table, as in a table of friends, or through the triggers of the counters that it changes.
pub fn refuse_own_table(counting: &Counting, all: &[&Counting]) -> Result<()> {
    for references in by_parent(counting)? {
        // All of them refer to the same table.
        let parent = references[0].parent;
        let is_counted = |target: &&Target| are_counted(counting, target, &references);
        for target in counting.targets.iter().filter(is_counted) {
            let mut changed = changed_with(target, all).into_iter();
            if let Some(own) = changed.find(|table| table.is_parent(parent)) {
                let rows = &counting.rows;
                let table = &target.table;
                let counters = target.names.join(", ");
                bail!(
                    "MySQL and MariaDB could not delete any row of {own}: its trigger would take \
                     the rows of {rows} that refer to it off {table}.{counters}, and this would change \
                     {own} itself. Instead of in {own}, count in a counter table, or in columns of \
                     a table of their own"
                );
            }
        }
    }
    Ok(())
}

/// Whether a list has this table. Tables are compared by their names.
fn contains(tables: &[&Table], table: &Table) -> bool {
    tables.iter().any(|other| other.is(table))
}

/// Adds a table to a list that doesn't have it yet.
fn push_once<'c>(table: &'c Table, tables: &mut Vec<&'c Table>) {
    if !contains(tables, table) {
        tables.push(table);
    }
}

/// Returns the shortest way from a table to one that is locked after it, if there is one. Every
/// step begins where the last one ends.
fn path<'b, 'c>(
    from: &'c Table,
    to: &Table,
    known: &'b [LockedBefore<'c>],
) -> Option<Vec<&'b LockedBefore<'c>>> {
    let mut ways = VecDeque::from([(from, Vec::new())]);
    let mut seen = vec![from];
    while let Some((table, way)) = ways.pop_front() {
        for step in known.iter().filter(|step| step.first.is(table)) {
            let longer_way = [&*way, &[step]].concat();
            if step.second.is(to) {
                return Some(longer_way);
            }
            if !contains(&seen, step.second) {
                seen.push(step.second);
                ways.push_back((step.second, longer_way));
            }
        }
    }
    None
}
