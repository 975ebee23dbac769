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

impl Reference<'_> {
    /// Whether it sets its column to NULL, or to its default, when the row that it refers to is
    /// deleted.
    fn sets_null(self) -> bool {
        self.parent.deletes() && !self.parent.cascades()
    }
}

/// Returns the foreign keys that change counts, grouped by the table that they refer to.
pub fn by_parent(counting: &Counting) -> Result<Vec<Vec<Reference<'_>>>> {
    let mut groups: Vec<Vec<Reference<'_>>> = Vec::new();
    for column in &counting.rows.columns {
        for parent in column.parents() {
            let reference = Reference { column, parent };
            if !changes_counts(counting, reference)? {
                continue;
            }
            let mut known = groups.iter_mut();
            match known.find(|group| group[0].parent.table == parent.table) {
                Some(group) => group.push(reference),
                None => groups.push(vec![reference]),
            }
        }
    }
    Ok(groups)
}

/// Whether a foreign key changes counts. Fails if triggers can't count what it changes.
fn changes_counts(counting: &Counting, reference: Reference<'_>) -> Result<bool> {
    refuse_on_update(counting, reference)?;
    refuse_virtual_columns(counting, reference)?;
    if counting.keeps_deleted() {
        refuse_set_null(counting, reference)?;
        // Deleted rows stay in the counts.
        return Ok(false);
    }
    let is_counted = |target| are_counted(counting, target, &[reference]);
    if !reference.parent.deletes() || !counting.targets.iter().any(is_counted) {
        return Ok(false);
    }
    refuse_parent_without_trigger(counting, reference)?;
    Ok(true)
}

/// Refuses an ON UPDATE that changes a column that counts.
fn refuse_on_update(counting: &Counting, reference: Reference<'_>) -> Result<()> {
    let Reference { column, parent } = reference;
    if counting.uses(&column.name) && parent.updates() {
        let rows = &counting.rows;
        let name = &column.name;
        let on_update = &parent.on_update;
        bail!(
            "{rows}.{name} has ON UPDATE {on_update}. MySQL and MariaDB run no triggers for the \
             rows that it changes, so they would not be counted. Remove ON UPDATE {on_update} first"
        );
    }
    Ok(())
}

/// Refuses a virtual column that counts if a foreign key changes rows, because it can depend on the
/// column that changes.
fn refuse_virtual_columns(counting: &Counting, reference: Reference<'_>) -> Result<()> {
    let changes_rows = reference.parent.updates() || reference.sets_null();
    let is_virtual = |column: &&Column| column.not_stored && counting.uses(&column.name);
    let rows = &counting.rows;
    let mut columns = rows.columns.iter();
    if let Some(computed) = columns.find(is_virtual)
        && changes_rows
    {
        let computed = &computed.name;
        let name = &reference.column.name;
        bail!(
            "{rows}.{computed} is a virtual generated column, and the foreign key of {name} \
             changes rows. MySQL and MariaDB run no triggers for these rows, so they would not be \
             counted. Remove the ON DELETE and ON UPDATE of {name} first"
        );
    }
    Ok(())
}

/// Refuses an ON DELETE that sets a column of a condition or a weight to NULL, if deleted rows stay
/// in the counts.
fn refuse_set_null(counting: &Counting, reference: Reference<'_>) -> Result<()> {
    let name = &reference.column.name;
    let mut expressions = counting.expressions();
    let is_used = expressions.any(|(_, expression)| {
        let mut columns = expression.columns();
        columns.any(|used| used == name)
    });
    if reference.sets_null() && is_used {
        let rows = &counting.rows;
        let on_delete = &reference.parent.on_delete;
        bail!(
            "{rows}.{name} has ON DELETE {on_delete}, and a condition or a weight has {name}. \
             MySQL and MariaDB run no triggers for the rows that it changes, so they would not \
             be counted. Remove ON DELETE {on_delete} first"
        );
    }
    Ok(())
}

/// Refuses an ON DELETE if no trigger on the table that it refers to can count the rows.
fn refuse_parent_without_trigger(counting: &Counting, reference: Reference<'_>) -> Result<()> {
    let Reference { column, parent } = reference;
    let rows = &counting.rows;
    let refers_to = if parent.in_schema != rows.in_schema {
        // A trigger can only be in the same database as its table.
        format!("another database, {}", parent.in_schema)
    } else if parent.table == rows.name {
        // A trigger can't change the table that a row is being deleted from.
        format!("{rows} itself")
    } else {
        return Ok(());
    };
    let name = &column.name;
    let on_delete = &parent.on_delete;
    bail!(
        "{rows}.{name} has ON DELETE {on_delete} and refers to {refers_to}. MySQL and MariaDB run \
         no triggers for the rows that it changes, so they would not be counted. Remove ON DELETE \
         {on_delete} first, and change these rows before you delete the row that they refer to"
    );
}

/// Whether a target's counts change when one of these foreign keys deletes rows or sets its column
/// to NULL.
pub fn are_counted(counting: &Counting, target: &Target, references: &[Reference<'_>]) -> bool {
    references.iter().any(|reference| {
        // A SET NULL only changes what a row adds if that depends on the column itself.
        let changes_rows = counting.uses(&reference.column.name) || reference.parent.cascades();
        changes_rows && !deletes_counts(*reference, target)
    })
}

/// Whether a foreign key of the rows refers to their entity, and the counts are deleted together
/// with that.
fn deletes_counts(reference: Reference<'_>, target: &Target) -> bool {
    target.parents().any(|(number, parent_of_counts)| {
        let mut sources = target.sources.iter();
        let names_entity = sources.all(|source| source.entity[number] == *reference.column);
        names_entity && parent_of_counts.cascades() && reference.parent.is_same(&parent_of_counts)
    })
}
