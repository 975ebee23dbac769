//! The order in which triggers lock rows. If two transactions lock rows of two tables in different
//! orders, they can deadlock.

use std::collections::VecDeque;

use anyhow::{Context, Result, bail};

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
    while let Some(first) = rest.first() {
        let uses_none_of_rest =
            |one: &Counting| rest.iter().all(|other| used_counter(one, other).is_none());
        let Some(index) = rest.iter().position(uses_none_of_rest) else {
            // Every one of them uses another one, and so does the first.
            let name = &first.definition.name;
            let used = rest
                .iter()
                .find_map(|other| Some((used_counter(first, other)?, other)));
            let ((table, counter), other) = used.context("definitions without an order")?;
            bail!(
                "{name} uses {table}.{counter}, in which {} counts, and counts in a column that it \
                 uses, or that others use before it: none of them can be counted first",
                other.definition.name
            );
        };
        ordered.push(rest.remove(index));
    }
    Ok(ordered)
}

/// Returns a counter of another definition that this one uses.
fn used_counter<'c>(counting: &Counting, other: &'c Counting) -> Option<(&'c Table, &'c str)> {
    let is_other = counting.definition.name != other.definition.name;
    let mut counters = other.counters().filter(|_| is_other);
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
pub fn order<'c>(all: &[&'c Counting]) -> Result<Vec<&'c Table>> {
    let mut tables: Vec<&Table> = Vec::new();
    let mut before: Vec<LockedBefore> = Vec::new();
    for counting in all.iter().filter(|counting| counting.database == MYSQL) {
        refuse_own_table(counting, all)?;
    }
    let each = [Event::Insert, Event::Update, Event::Delete];
    let events = |counting: &&'c Counting| each.map(|event| (&counting.rows, event));
    for (rows, event) in all.iter().flat_map(events) {
        let mut locked = Vec::new();
        lock(rows, event, None, all, &[], &mut locked);
        for (index, second) in locked.iter().copied().enumerate() {
            for first in &locked[..index] {
                // Other statements already lead from the second table to the first.
                if let Some(others) = path(second, first, &before) {
                    let other = others[0].rows;
                    let way = others.iter().map(|before| before.second.to_string());
                    let names = way.joined(" before ");
                    bail!(
                        "a row of {rows} locks a row of {first} before one of {second}, and a row \
                         of {other} locks {second} before {names}: two transactions could wait for \
                         each other. Write the counts in the same order in all definitions. On \
                         PostgreSQL, the triggers of a table run in the order of their names"
                    );
                }
                before.push(LockedBefore {
                    first,
                    second,
                    rows,
                });
            }
            push(second, &mut tables);
        }
    }
    // Repeatedly take a table that no other table comes before.
    let mut order: Vec<&Table> = Vec::new();
    while !tables.is_empty() {
        let is_first = |table: &&Table| {
            let mut others = tables.iter();
            !others.any(|other| path(other, table, &before).is_some())
        };
        // There always is one, because no table comes before itself.
        let index = tables.iter().position(is_first).unwrap_or_default();
        order.push(tables.remove(index));
    }
    Ok(order)
}

/// Adds the tables whose rows are locked by a statement that writes `rows`, each once. `changed` is
/// what it changes in these rows. If the statement is a trigger's, `within` has the tables that are
/// being written. Slots are left out, because connections lock different ones.
fn lock<'c>(
    rows: &'c Table,
    event: Event,
    changed: Option<&[String]>,
    all: &[&'c Counting],
    within: &[&'c Table],
    locked: &mut Vec<&'c Table>,
) {
    push(rows, locked);
    // The triggers of a table that is already being written run again, but lock the same tables.
    if has(within, rows) {
        return;
    }
    let within = &[within, &[rows]].concat();
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
            let locked_before = counting.locked_before();
            for target in locked_before.filter(|target| is_changed(counting, target, changed)) {
                push(&target.table, locked);
            }
        }
        run.sort_by_key(|counting| counting.trigger_index(&name_of(counting, event)));
    }
    for counting in run {
        let in_columns = counting
            .targets
            .iter()
            .filter(|target| target.slots.is_none());
        for target in in_columns.filter(|target| is_changed(counting, target, changed)) {
            change(target, all, within, locked);
        }
    }
}

/// Whether a statement changes what a row adds. An update does if it changes one of these columns,
/// and other statements always do.
fn is_changed(counting: &Counting, target: &Target, changed: Option<&[String]>) -> bool {
    let Some(names) = changed else {
        return true;
    };
    let sources = target.sources.iter();
    let mut columns = sources.flat_map(|source| counting.columns(source));
    columns.any(|column| names.iter().any(|name| name == column))
}

/// Adds the tables whose rows are locked when a trigger counts in a target. A counter table also
/// gets new rows.
fn change<'c>(
    target: &'c Target,
    all: &[&'c Counting],
    within: &[&'c Table],
    locked: &mut Vec<&'c Table>,
) {
    match target.slots {
        Some(_) => lock(&target.table, Event::Insert, None, all, within, locked),
        None => {
            let changed = Some(&*target.names);
            lock(&target.table, Event::Update, changed, all, within, locked);
        }
    }
}

/// Returns the tables that change when a trigger counts in a target.
pub fn changed_with<'c>(target: &'c Target, all: &[&'c Counting]) -> Vec<&'c Table> {
    let mut changed = Vec::new();
    change(target, all, &[], &mut changed);
    changed
}

/// Refuses a trigger that would change its own table. That happens if two foreign keys refer to one
/// table, as in a table of friends, or through the triggers of the counters that it changes.
pub fn refuse_own_table(counting: &Counting, all: &[&Counting]) -> Result<()> {
    for references in by_parent(counting)? {
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

fn has(tables: &[&Table], table: &Table) -> bool {
    tables.iter().any(|other| other.is(table))
}

fn push<'c>(table: &'c Table, tables: &mut Vec<&'c Table>) {
    if !has(tables, table) {
        tables.push(table);
    }
}

/// Returns the shortest way from a table to one that is locked after it.
fn path<'b, 'c>(
    from: &'c Table,
    to: &Table,
    before: &'b [LockedBefore<'c>],
) -> Option<Vec<&'b LockedBefore<'c>>> {
    let mut ways = VecDeque::from([(from, Vec::new())]);
    let mut seen = vec![from];
    while let Some((table, way)) = ways.pop_front() {
        for step in before.iter().filter(|step| step.first.is(table)) {
            let longer_way = [&*way, &[step]].concat();
            if step.second.is(to) {
                return Some(longer_way);
            }
            if !has(&seen, step.second) {
                seen.push(step.second);
                ways.push_back((step.second, longer_way));
            }
        }
    }
    None
}
