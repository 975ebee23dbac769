//! Triggers of the tables that rows refer to: what foreign keys delete and change.

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::trigger::{block, trigger};
use crate::catalogue::{Column, Parent};
use crate::database::MYSQL;
use crate::triggers::counting::Counting;
use crate::triggers::statement::{Rows, in_lines};
use crate::triggers::target::Target;
use crate::triggers::trigger::Trigger;

/// MySQL and MariaDB run no triggers for the rows that a foreign key deletes or sets to NULL. A
/// trigger of the table that it refers to takes them off before. Another one adds those again that
/// are as they were: a REPLACE can keep them.
pub fn cascades(counting: &Counting) -> Result<Vec<Trigger>> {
    let mut parents: Vec<Vec<(&Column, &Parent)>> = Vec::new();
    for column in &counting.rows.columns {
        let Some(parent) = column.refers_to.as_ref() else {
            continue;
        };
        if !is_needed(counting, column, parent)? {
            continue;
        }
        let table = |parent: &Parent| (parent.in_schema.clone(), parent.table.clone());
        let mut others = parents.iter_mut();
        match others.find(|columns| table(columns[0].1) == table(parent)) {
            Some(columns) => columns.push((column, parent)),
            None => parents.push(vec![(column, parent)]),
        }
    }
    for columns in &parents {
        refuse_own_table(counting, columns)?;
    }
    let triggers = parents.iter().flat_map(|columns| {
        let (column, parent) = columns[0];
        let table = [&parent.in_schema, &parent.table].map(Clone::clone);
        [("of", "BEFORE DELETE"), ("after", "AFTER DELETE")].map(|(what, event)| {
            let name = format!("{}_{what}_{}", counting.definition.name, column.name);
            let body = cascade(counting, columns, event);
            let sql = MYSQL.quoted(&parent.table);
            trigger(name, (table.clone(), &sql), event, body)
        })
    });
    Ok(triggers.collect())
}

/// Two foreign keys to one table, as of friends: if one row is deleted, the counts of others change, and a
/// trigger of the table would change the table itself.
fn refuse_own_table(counting: &Counting, columns: &[(&Column, &Parent)]) -> Result<()> {
    let (_, parent) = columns[0];
    let table = (&parent.in_schema, &parent.table);
    let mut targets = counting.targets.iter().filter(|target| {
        let is_parent = (&target.table.in_schema, &target.table.name) == table;
        let mut columns = columns.iter();
        let is_counted =
            columns.any(|(column, parent)| is_counted(counting, target, column, parent));
        target.slots.is_none() && is_parent && is_counted
    });
    match targets.next() {
        Some(target) => bail!(
            "{} refers to {} by several columns, and counts in it: MySQL and MariaDB could delete no row of {1}, \
             because its trigger would have to change {1} itself. Count in a counter table, or in columns of \
             a table of their own",
            counting.rows,
            target.table
        ),
        None => Ok(()),
    }
}

/// Whether a count depends on what the foreign key of a column does.
fn is_needed(counting: &Counting, column: &Column, parent: &Parent) -> Result<bool> {
    let (rows, name) = (&counting.rows, &column.name);
    let mut sources = counting.targets.iter().flat_map(|target| &target.sources);
    let is_used = sources.any(|source| counting.columns(source).contains(&&**name));
    if is_used && acts(&parent.on_update) {
        bail!(
            "{rows}.{name} has ON UPDATE {}. MySQL and MariaDB run no triggers for the rows that \
             it changes, so they would not be counted. Remove ON UPDATE {0} first",
            parent.on_update
        );
    }
    let mut targets = counting.targets.iter();
    if !acts(&parent.on_delete)
        || !targets.any(|target| is_counted(counting, target, column, parent))
    {
        return Ok(false);
    }
    let refers_to = match parent.in_schema == rows.in_schema {
        true if parent.table == rows.name => format!("{rows} itself"),
        true => return Ok(true),
        // A trigger can only be in the database of its table.
        false => format!("another database, {}", parent.in_schema),
    };
    bail!(
        "{rows}.{name} has ON DELETE {} and refers to {refers_to}. MySQL and MariaDB run no \
         triggers for the rows that it changes, so they would not be counted. Remove ON DELETE \
         {0} first, and change these rows before you delete the row that they refer to",
        parent.on_delete
    );
}

/// Whether a target's counts change when the foreign key deletes rows or sets its column to NULL.
fn is_counted(counting: &Counting, target: &Target, column: &Column, parent: &Parent) -> bool {
    let mut sources = counting.targets.iter().flat_map(|target| &target.sources);
    let is_used = sources.any(|source| counting.columns(source).contains(&&*column.name));
    // A SET NULL changes what a row adds only by the column itself.
    (is_used || parent.cascades()) && !goes_with(target, column, parent)
}

/// Takes off the rows that refer to a row of the parent table, and adds them as the foreign keys
/// leave them; or after it is deleted, the other way round.
fn cascade(counting: &Counting, columns: &[(&Column, &Parent)], event: &str) -> String {
    let slot = Dialect::MySql.connection_slot(counting.definition.slots);
    let table = MYSQL.table_name(&counting.rows);
    let refers = |(column, parent): &(&Column, &Parent)| {
        let (name, key) = (MYSQL.quoted(&column.name), MYSQL.quoted(&parent.column));
        format!("{name} <=> OLD.{key}")
    };
    let all: Vec<_> = columns.iter().map(refers).collect();
    let (deleted, changed): (Vec<_>, Vec<_>) =
        columns.iter().partition(|(_, parent)| parent.cascades());
    let values = counting.rows.columns.iter().map(|column| {
        let name = MYSQL.quoted(&column.name);
        let mut changed = changed.iter();
        match changed.find(|(changed, _)| changed.name == column.name) {
            Some((_, parent)) => {
                format!(
                    "NULLIF({name}, OLD.{}) AS {name}",
                    MYSQL.quoted(&parent.column)
                )
            }
            None => name,
        }
    });
    let values = values.collect::<Vec<_>>().join(", ");
    let kept: Vec<_> = deleted
        .iter()
        .map(|one| format!(" AND NOT ({})", refers(one)))
        .collect();
    // It reads what is committed, as the foreign keys do.
    let from = |columns: &str, and: &str| {
        format!(
            "FROM (SELECT {columns} FROM {table} WHERE ({}){and} AND @@foreign_key_checks FOR UPDATE) \
             AS counted",
            all.join(" OR ")
        )
    };
    let is_before = event == "BEFORE DELETE";
    let targets = counting.targets.iter().filter(|target| {
        let mut columns = columns.iter();
        columns.any(|(column, parent)| is_counted(counting, target, column, parent))
    });
    let statements = targets.map(|target| {
        let queries = target.sources.iter().flat_map(|source| {
            let query = |from: &str, minus: bool| {
                let rows = Rows {
                    name: "counted",
                    from,
                    minus,
                    entities: target.entities(source),
                };
                counting.query(target, source, &rows, "")
            };
            let was = query(&from("*", ""), is_before);
            let becomes =
                (!changed.is_empty()).then(|| query(&from(&values, &kept.concat()), !is_before));
            [was].into_iter().chain(becomes)
        });
        let queries: Vec<_> = queries.collect();
        match target.slots {
            Some(_) => counting.add(target, &counting.sums(target, &queries, Some(&slot), &[])),
            None => {
                let sums = in_lines(&counting.sums(target, &queries, None, &[]), 4);
                let value = |counter: &str| format!("moved.{}", MYSQL.quoted(counter));
                counting.add_to_column(target, &format!("(\n{sums}\n) AS moved"), "moved", value)
            }
        }
    });
    block(&statements.collect::<Vec<_>>())
}

fn acts(action: &str) -> bool {
    ["CASCADE", "SET NULL"].contains(&action)
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
