//! The foreign keys of the rows that change counts without a trigger: MySQL and MariaDB run none
//! for rows that a foreign key deletes or changes.

use anyhow::{Result, bail};

use super::counting::Counting;
use super::target::Target;
use crate::catalogue::{Column, Parent};

/// A foreign key of the rows.
#[derive(Clone, Copy)]
pub struct Reference<'c> {
    pub column: &'c Column,
    /// What it refers to.
    pub parent: &'c Parent,
}

/// Returns the foreign keys that change counts, grouped by the table that they refer to.
pub fn by_parent(counting: &Counting) -> Result<Vec<Vec<Reference<'_>>>> {
    let mut by_parent: Vec<Vec<Reference<'_>>> = Vec::new();
    let columns = counting.rows.columns.iter();
    let pairs = columns.flat_map(|column| column.parents().map(move |parent| (column, parent)));
    for (column, parent) in pairs {
        if !is_needed(counting, column, parent)? {
            continue;
        }
        let reference = Reference { column, parent };
        let mut others = by_parent.iter_mut();
        match others.find(|references| references[0].parent.table == parent.table) {
            Some(references) => references.push(reference),
            None => by_parent.push(vec![reference]),
        }
    }
    Ok(by_parent)
}

/// Whether a count depends on what a column's foreign key does.
fn is_needed(counting: &Counting, column: &Column, parent: &Parent) -> Result<bool> {
    let rows = &counting.rows;
    let name = &column.name;
    let on_delete = &parent.on_delete;
    let on_update = &parent.on_update;
    if counting.uses(name) && parent.updates() {
        bail!(
            "{rows}.{name} has ON UPDATE {on_update}. MySQL and MariaDB run no triggers for the \
             rows that it changes, so they would not be counted. Remove ON UPDATE {on_update} first"
        );
    }
    // A virtual column can depend on the column that the foreign key changes.
    let sets_null = parent.deletes() && !parent.cascades();
    let changes_rows = parent.updates() || sets_null;
    let is_virtual = |one: &&Column| changes_rows && one.not_stored && counting.uses(&one.name);
    let mut columns = rows.columns.iter();
    if let Some(Column { name: computed, .. }) = columns.find(is_virtual) {
        bail!(
            "{rows}.{computed} is a virtual generated column, and the foreign key of {name} \
             changes rows. MySQL and MariaDB run no triggers for these rows, so they would not be \
             counted. Remove the ON DELETE and ON UPDATE of {name} first"
        );
    }
    if counting.keeps_deleted() {
        let mut expressions = counting.expressions();
        let is_used = expressions.any(|(_, one)| one.columns().any(|used| used == name));
        if sets_null && is_used {
            bail!(
                "{rows}.{name} has ON DELETE {on_delete}, and a condition or a weight has {name}. \
                 MySQL and MariaDB run no triggers for the rows that it changes, so they would not \
                 be counted. Remove ON DELETE {on_delete} first"
            );
        }
        // What is deleted stays in the counts.
        return Ok(false);
    }
    let is_counted = |target| are_counted(counting, target, &[Reference { column, parent }]);
    if !parent.deletes() || !counting.targets.iter().any(is_counted) {
        return Ok(false);
    }
    let refers_to = if parent.in_schema != rows.in_schema {
        // A trigger can only be in the same database as its table.
        format!("another database, {}", parent.in_schema)
    } else if parent.table == rows.name {
        // A trigger can't change the table that a row is being deleted from.
        format!("{rows} itself")
    } else {
        return Ok(true);
    };
    bail!(
        "{rows}.{name} has ON DELETE {on_delete} and refers to {refers_to}. MySQL and MariaDB run \
         no triggers for the rows that it changes, so they would not be counted. Remove ON DELETE \
         {on_delete} first, and change these rows before you delete the row that they refer to"
    );
}

/// Whether a target's counts change when one of these foreign keys deletes rows or sets its column
/// to NULL.
pub fn are_counted(counting: &Counting, target: &Target, references: &[Reference<'_>]) -> bool {
    references.iter().any(|Reference { column, parent }| {
        // A SET NULL only changes what a row adds if that depends on the column itself.
        (counting.uses(&column.name) || parent.cascades()) && !goes_with(target, column, parent)
    })
}

/// Whether these rows' counts are deleted with their entity.
fn goes_with(target: &Target, column: &Column, parent: &Parent) -> bool {
    target.parents().any(|(index, of_counters)| {
        let mut sources = target.sources.iter();
        sources.all(|source| source.entity[index] == *column)
            && of_counters.cascades()
            && parent.is_same(&of_counters)
    })
}
