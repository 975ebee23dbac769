//! Triggers on the tables that rows refer to. They count what foreign keys delete and change.

use anyhow::Result;
use serde_json::json;

use super::trigger::{connection_slot, trigger};
use crate::database::MYSQL;
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::order::refuse_own_table;
use crate::triggers::references::{Reference, are_counted, by_parent};
use crate::triggers::statement::{CHANGES, COUNTED, RowsToCount, Sign, SumContext};
use crate::triggers::target::Target;
use crate::triggers::trigger::Trigger;
use crate::triggers::values::{Addition, Query};

/// MySQL and MariaDB run no triggers for rows that a foreign key deletes or sets to NULL. So a
/// trigger on the table that it refers to takes these rows off before. Another one adds those back
/// that are still as they were, because a REPLACE can keep them.
pub fn cascades(counting: &Counting) -> Result<Vec<Trigger>> {
    refuse_own_table(counting, &[counting])?;
    let mut triggers = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for references in &by_parent(counting)? {
        // The triggers are named after the first of their columns. That column may also refer to
        // another parent.
        let mut column = references[0].column.name.clone();
        for number in 2.. {
            if !names.contains(&column) {
                break;
            }
            column = format!("{}_{number}", references[0].column.name);
        }
        names.push(column.clone());
        let parent = &references[0].parent.table;
        let before = cascade(counting, references, Moment::Before)?;
        let after = cascade(counting, references, Moment::After)?;
        triggers.push(trigger(
            counting,
            &format!("of_{column}"),
            "BEFORE DELETE",
            parent,
            &before,
        )?);
        triggers.push(trigger(
            counting,
            &format!("after_{column}"),
            "AFTER DELETE",
            parent,
            &after,
        )?);
    }
    Ok(triggers)
}

/// When the trigger on a parent table runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Before its row is deleted and the foreign keys act.
    Before,
    After,
}

/// Takes off the rows that refer to a row of the parent table, and adds them as the foreign keys
/// leave them. After the row is deleted, it does the reverse.
fn cascade(counting: &Counting, references: &[Reference<'_>], moment: Moment) -> Result<String> {
    let (deleting, changing): (Vec<Reference<'_>>, Vec<Reference<'_>>) = references
        .iter()
        .partition(|reference| reference.parent.cascades());
    let (sign_before, sign_after) = match moment {
        Moment::Before => (Sign::Minus, Sign::Plus),
        Moment::After => (Sign::Plus, Sign::Minus),
    };
    let all_columns = ["*".to_owned()];
    let mut moved = vec![MovedRows {
        from: referring(counting, references, &all_columns, &[])?,
        sign: sign_before,
    }];
    // If every foreign key deletes rows, none are left.
    if !changing.is_empty() {
        let columns = changed_columns(counting, &changing);
        moved.push(MovedRows {
            from: referring(counting, references, &columns, &deleting)?,
            sign: sign_after,
        });
    }
    let targets = counting.targets.iter();
    let additions: Vec<_> = targets
        .filter(|target| are_counted(counting, target, references))
        .map(|target| addition(counting, target, &moved))
        .collect();
    render("mysql/cascade.sql", json!({ "additions": additions }))
}

/// Rows that a cascade adds or takes off.
struct MovedRows {
    /// A query that is used as a table.
    from: String,
    sign: Sign,
}

/// Returns the rows that refer to the parent table's old row, with these columns, except those that
/// a foreign key in `deleting` deletes.
fn referring(
    counting: &Counting,
    references: &[Reference<'_>],
    columns: &[String],
    deleting: &[Reference<'_>],
) -> Result<String> {
    // A column that is NULL refers to nothing: with `<=>` that's false, and not unknown.
    let refers = |reference: &Reference<'_>| {
        let name = MYSQL.quoted(&reference.column.name);
        let key = MYSQL.quoted(&reference.parent.column);
        format!("{name} <=> OLD.{key}")
    };
    let refer: Vec<_> = references.iter().map(refers).collect();
    let deleted: Vec<_> = deleting.iter().map(refers).collect();
    let values = json!({
        "columns": columns,
        "table": MYSQL.table_name(&counting.rows),
        "refer": refer,
        "deleted": deleted,
    });
    let rows = render("mysql/referring.sql", values)?;
    Ok(rows.trim_end().to_owned())
}

/// Returns the columns of a row after these foreign keys have set theirs to NULL.
fn changed_columns(counting: &Counting, changing: &[Reference<'_>]) -> Vec<String> {
    let mut columns = Vec::new();
    for column in &counting.rows.columns {
        let name = MYSQL.quoted(&column.name);
        let is_changed = |reference: &&Reference<'_>| reference.column.name == column.name;
        columns.push(match changing.iter().find(is_changed) {
            Some(reference) => {
                let key = MYSQL.quoted(&reference.parent.column);
                format!("NULLIF({name}, OLD.{key}) AS {name}")
            }
            None => name,
        });
    }
    columns
}

fn addition(counting: &Counting, target: &Target, moved: &[MovedRows]) -> Addition {
    let mut union: Vec<Query> = Vec::new();
    for source in &target.sources {
        for moved_rows in moved {
            let rows = RowsToCount {
                uses_before: 0,
                name: COUNTED,
                from: &moved_rows.from,
                sign: moved_rows.sign,
                entities: target.entities(source),
            };
            union.push(counting.rows_of(target, source, &rows, &[]));
        }
    }
    let slot = connection_slot(counting.definition.slots);
    let slot_of_target = target.slots.as_ref().map(|_| &*slot);
    let changes = counting.unused_name(CHANGES);
    let table = MYSQL.table_name(&target.table);
    let mut assignments = Vec::new();
    let mut row_conditions = Vec::new();
    if target.slots.is_none() {
        assignments.extend(target.names.iter().map(|counter| {
            let value = MYSQL.column(&changes, counter);
            counting.set(target, counter, &table, &value, SumContext::Statement)
        }));
        row_conditions.push(counting.same_key(target, &table, &changes));
        row_conditions.extend(counting.only(target, &table));
    }
    let mut sums = counting.sums_of(target, (&changes, union), slot_of_target);
    sums.group.extend(counting.exact_values(target, ""));
    Addition {
        to: counting.counters_of(target),
        sums,
        assignments,
        row_conditions,
    }
}
