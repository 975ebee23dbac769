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

/// Makes the triggers on the tables that the rows refer to. MySQL and MariaDB run none for rows
/// that a foreign key deletes or sets to NULL. So one of these triggers takes such rows off before
/// that. Another one adds those back that are still as they were, because a REPLACE can keep them.
pub fn cascades(counting: &Counting) -> Result<Vec<Trigger>> {
    refuse_own_table(counting, &[counting])?;
    let mut triggers = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for references in &by_parent(counting)? {
        // The triggers are named after the first of their columns.
        let Reference { column, parent } = references[0];
        let name = free_name(&column.name, &names);
        let before = cascade_body(counting, references, Moment::Before)?;
        let after = cascade_body(counting, references, Moment::After)?;
        for (suffix, event, body) in [
            (format!("of_{name}"), "BEFORE DELETE", before),
            (format!("after_{name}"), "AFTER DELETE", after),
        ] {
            triggers.push(trigger(counting, &suffix, event, &parent.table, &body)?);
        }
        names.push(name);
    }
    Ok(triggers)
}

/// Returns the name of a column, with a number if another foreign key of that column already has
/// the name: `article_id`, and then `article_id_2`.
fn free_name(column: &str, taken: &[String]) -> String {
    let mut name = column.to_owned();
    let mut number = 2;
    while taken.contains(&name) {
        name = format!("{column}_{number}");
        number += 1;
    }
    name
}

/// When the trigger on a parent table runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// Before its row is deleted and the foreign keys act.
    Before,
    After,
}

/// Writes what a trigger on the parent table runs. Before its row is deleted, the trigger takes off
/// the rows that refer to it, and adds them as the foreign keys leave them. After that, it does the
/// reverse.
fn cascade_body(
    counting: &Counting,
    references: &[Reference<'_>],
    moment: Moment,
) -> Result<String> {
    let (deleting, changing): (Vec<Reference<'_>>, Vec<Reference<'_>>) = references
        .iter()
        .partition(|reference| reference.parent.cascades());
    let (sign_before, sign_after) = match moment {
        Moment::Before => (Sign::Minus, Sign::Plus),
        Moment::After => (Sign::Plus, Sign::Minus),
    };
    let all_columns = ["*".to_owned()];
    let none_deleted = [];
    let rows_before = referring_rows(counting, references, &all_columns, &none_deleted)?;
    let mut moved = vec![MovedRows {
        from: rows_before,
        sign: sign_before,
    }];
    // If every foreign key deletes rows, none are left.
    if !changing.is_empty() {
        let columns = changed_columns(counting, &changing);
        let rows_after = referring_rows(counting, references, &columns, &deleting)?;
        moved.push(MovedRows {
            from: rows_after,
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

/// Writes a query for the rows that refer to the parent table's old row, with these columns, except
/// those that a foreign key in `deleting` deletes.
fn referring_rows(
    counting: &Counting,
    references: &[Reference<'_>],
    columns: &[String],
    deleting: &[Reference<'_>],
) -> Result<String> {
    // A column that is NULL refers to nothing: with `<=>` that's false, and not unknown.
    let refers_to_old_row = |reference: &Reference<'_>| {
        let name = MYSQL.quoted(&reference.column.name);
        let key = MYSQL.quoted(&reference.parent.column);
        format!("{name} <=> OLD.{key}")
    };
    let refer = references.iter().map(refers_to_old_row);
    let deleted = deleting.iter().map(refers_to_old_row);
    let values = json!({
        "columns": columns,
        "table": MYSQL.table_name(&counting.rows),
        "refer": refer.collect::<Vec<_>>(),
        "deleted": deleted.collect::<Vec<_>>(),
    });
    let rows = render("mysql/referring.sql", values)?;
    Ok(rows.trim_end().to_owned())
}

/// Returns the columns of a row after these foreign keys have set theirs to NULL, such as
/// `NULLIF(article_id, OLD.id) AS article_id`.
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

/// Sums up what the moved rows add to a target, or take off.
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
            let extra_columns = [];
            union.push(counting.rows_of(target, source, &rows, &extra_columns));
        }
    }
    let slots = target.slots.as_ref();
    let slot = slots.map(|_| connection_slot(counting.definition.slots));
    let changes = counting.unused_name(CHANGES);
    let table = MYSQL.table_name(&target.table);
    let mut assignments = Vec::new();
    let mut row_conditions = Vec::new();
    if target.slots.is_none() {
        assignments.extend(target.names.iter().map(|counter| {
            let value = MYSQL.column(&changes, counter);
            counting.add_to_counter(target, counter, &table, &value, SumContext::Statement)
        }));
        row_conditions.push(counting.same_key(target, &table, &changes));
        row_conditions.extend(counting.only(target, &table));
    }
    let mut sums = counting.sums_of(target, (&changes, union), slot.as_deref());
    // The union's columns have the key's names already.
    let row = "";
    sums.group.extend(counting.exact_values(target, row));
    Addition {
        to: counting.counters_of(target),
        sums,
        assignments,
        row_conditions,
    }
}
