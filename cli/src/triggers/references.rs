//! The foreign keys of the rows that change counts without a trigger of the rows: MySQL and MariaDB
//! run none for the rows that a foreign key deletes or changes.

use anyhow::{Result, bail};

use super::counting::Counting;
use super::target::Target;
use crate::catalogue::{Column, Parent};

/// The foreign keys that change counts, by the table that they refer to.
pub fn parents(counting: &Counting) -> Result<Vec<Vec<(&Column, &Parent)>>> {
    let mut parents: Vec<Vec<(&Column, &Parent)>> = Vec::new();
    let columns = counting.rows.columns.iter();
    for (column, parent) in columns.filter_map(|one| Some((one, one.refers_to.as_ref()?))) {
        if !is_needed(counting, column, parent)? {
            continue;
        }
        let mut others = parents.iter_mut();
        match others.find(|columns| columns[0].1.table == parent.table) {
            Some(columns) => columns.push((column, parent)),
            None => parents.push(vec![(column, parent)]),
        }
    }
    Ok(parents)
}

/// Whether a count depends on what the foreign key of a column does.
fn is_needed(counting: &Counting, column: &Column, parent: &Parent) -> Result<bool> {
    let (rows, name) = (&counting.rows, &column.name);
    let [on_delete, on_update] = [&parent.on_delete, &parent.on_update];
    if counting.uses(name) && parent.updates() {
        bail!(
            "{rows}.{name} has ON UPDATE {on_update}. MySQL and MariaDB run no triggers for the rows that it \
             changes, so they would not be counted. Remove ON UPDATE {on_update} first"
        );
    }
    let mut columns = rows.columns.iter();
    let is_changed = parent.updates() || parent.deletes() && !parent.cascades();
    let is_virtual = |one: &&Column| is_changed && one.not_stored && counting.uses(&one.name);
    if let Some(Column { name: one, .. }) = columns.find(is_virtual) {
        bail!(
            "{rows}.{one} is a virtual generated column, and the foreign key of {name} changes rows. MySQL and \
             MariaDB run no triggers for these rows, so they would not be counted. Make it STORED, or remove \
             the ON DELETE and ON UPDATE of {name} first"
        );
    }
    let is_changed = parent.deletes() && !parent.cascades();
    if counting.keeps_deleted() {
        let mut expressions = counting.expressions();
        let is_used = expressions.any(|(_, one)| one.columns().any(|used| used == name));
        if is_changed && is_used {
            bail!(
                "{rows}.{name} has ON DELETE {on_delete}, and a condition or a weight has {name}. MySQL and MariaDB \
                 run no triggers for the rows that it changes, so they would not be counted. Remove ON DELETE \
                 {on_delete} first"
            );
        }
        return Ok(false);
    }
    let is_counted = |target| are_counted(counting, target, &[(column, parent)]);
    if !parent.deletes() || !counting.targets.iter().any(is_counted) {
        return Ok(false);
    }
    let refers_to = match parent.in_schema == rows.in_schema {
        true if parent.table == rows.name => format!("{rows} itself"),
        true => return Ok(true),
        // A trigger can only be in the database of its table.
        false => format!("another database, {}", parent.in_schema),
    };
    bail!(
        "{rows}.{name} has ON DELETE {on_delete} and refers to {refers_to}. MySQL and MariaDB run no triggers \
         for the rows that it changes, so they would not be counted. Remove ON DELETE {on_delete} first, and \
         change these rows before you delete the row that they refer to"
    );
}

/// Whether a target's counts change when one of these foreign keys deletes rows or sets its column
/// to NULL.
pub fn are_counted(counting: &Counting, target: &Target, columns: &[(&Column, &Parent)]) -> bool {
    columns.iter().any(|(column, parent)| {
        // A SET NULL changes what a row adds only by the column itself.
        (counting.uses(&column.name) || parent.cascades()) && !goes_with(target, column, parent)
    })
}

/// Whether the counts of these rows are deleted with their entity.
fn goes_with(target: &Target, column: &Column, parent: &Parent) -> bool {
    let mut counters = target.parents();
    counters.any(|(i, counters)| {
        let mut sources = target.sources.iter();
        sources.all(|source| source.entity[i] == *column)
            && counters.cascades()
            && parent.is_same(&counters)
    })
}
