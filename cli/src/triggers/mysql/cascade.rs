//! Triggers of the tables that rows refer to: what foreign keys delete and change.

use anyhow::{Result, bail};
use serde_json::json;

use super::trigger;
use crate::catalogue::{Column, Parent};
use crate::database::MYSQL;
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::order::changed_with;
use crate::triggers::statement::{Place, Rows, Sign};
use crate::triggers::target::Target;
use crate::triggers::trigger::Trigger;
use crate::triggers::values::{Addition, Query};

/// MySQL and MariaDB run no triggers for the rows that a foreign key deletes or sets to NULL. A
/// trigger of the table that it refers to takes them off before. Another one adds those again that
/// are as they were: a REPLACE can keep them.
pub fn cascades(counting: &Counting) -> Result<Vec<Trigger>> {
    refuse_own_table(counting, &[counting])?;
    let mut triggers = Vec::new();
    for columns in &parents(counting)? {
        let (column, parent) = columns[0];
        for (what, event) in [("of", "BEFORE DELETE"), ("after", "AFTER DELETE")] {
            let what = format!("{what}_{}", column.name);
            let body = cascade(counting, columns, event)?;
            triggers.push(trigger(counting, &what, event, &parent.table, &body)?);
        }
    }
    Ok(triggers)
}

/// The foreign keys that change counts, by the table that they refer to.
fn parents(counting: &Counting) -> Result<Vec<Vec<(&Column, &Parent)>>> {
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

/// Refuses a trigger that would change its own table: by two foreign keys to one table, as of friends, or by
/// the triggers of the counters that it changes.
pub fn refuse_own_table(counting: &Counting, all: &[&Counting]) -> Result<()> {
    for columns in parents(counting)? {
        let is_counted = |target: &&Target| are_counted(counting, target, &columns);
        for target in counting.targets.iter().filter(is_counted) {
            let mut changed = changed_with(target, all).into_iter();
            if let Some(own) = changed.find(|table| table.is_of(columns[0].1)) {
                let [rows, table] = [&counting.rows, &target.table];
                let counters = target.names.join(", ");
                bail!(
                    "MySQL and MariaDB could delete no row of {own}: its trigger would take the rows of {rows} \
                     that refer to it off {table}.{counters}, and this would change {own} itself. Instead of in \
                     {own}, count in a counter table, or in columns of a table of their own"
                );
            }
        }
    }
    Ok(())
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

/// Whether a target's counts change when one of these foreign keys deletes rows or sets its column to
/// NULL.
fn are_counted(counting: &Counting, target: &Target, columns: &[(&Column, &Parent)]) -> bool {
    columns.iter().any(|(column, parent)| {
        // A SET NULL changes what a row adds only by the column itself.
        (counting.uses(&column.name) || parent.cascades()) && !goes_with(target, column, parent)
    })
}

/// Takes off the rows that refer to a row of the parent table, and adds them as the foreign keys
/// leave them; or after it is deleted, the other way round.
fn cascade(counting: &Counting, columns: &[(&Column, &Parent)], event: &str) -> Result<String> {
    let slot = super::connection_slot(counting.definition.slots);
    let refers = |(column, parent): &(&Column, &Parent)| {
        let name = MYSQL.quoted(&column.name);
        let key = MYSQL.quoted(&parent.column);
        format!("{name} <=> OLD.{key}")
    };
    let refer: Vec<_> = columns.iter().map(refers).collect();
    let (deleted, changed): (Vec<_>, Vec<_>) =
        columns.iter().partition(|(_, parent)| parent.cascades());
    // The columns of a row as the foreign keys leave them.
    let becomes = counting.rows.columns.iter().map(|column| {
        let name = MYSQL.quoted(&column.name);
        let mut changed = changed.iter();
        match changed.find(|(changed, _)| changed.name == column.name) {
            Some((_, parent)) => {
                let key = MYSQL.quoted(&parent.column);
                format!("NULLIF({name}, OLD.{key}) AS {name}")
            }
            None => name,
        }
    });
    let becomes: Vec<_> = becomes.collect();
    let referring = |columns: &[String], deleted: &[String]| -> Result<String> {
        let table = MYSQL.table_name(&counting.rows);
        let values = json!({
            "columns": columns,
            "table": table,
            "refer": refer,
            "deleted": deleted,
        });
        let rows = render("mysql/referring.sql", values)?;
        Ok(rows.trim_end().to_owned())
    };
    let all_columns = ["*".to_owned()];
    let deleted: Vec<_> = deleted.iter().map(refers).collect();
    let were = referring(&all_columns, &[])?;
    let are = referring(&becomes, &deleted)?;
    let (before, after) = match event {
        "BEFORE DELETE" => (Sign::Minus, Sign::Plus),
        _ => (Sign::Plus, Sign::Minus),
    };
    let mut additions = Vec::new();
    let targets = counting.targets.iter();
    for target in targets.filter(|target| are_counted(counting, target, columns)) {
        let mut union: Vec<Query> = Vec::new();
        for source in &target.sources {
            let mut add = |from: &str, sign: Sign| {
                let rows = Rows {
                    name: "counted",
                    from,
                    sign,
                    entities: target.entities(source),
                };
                union.push(counting.rows_of(target, source, &rows, &[]));
            };
            add(&were, before);
            if !changed.is_empty() {
                add(&are, after);
            }
        }
        let in_slots = target.slots.is_some();
        let order = counting.group(target);
        let table = MYSQL.table_name(&target.table);
        let mut updates = Vec::new();
        let mut is_row = Vec::new();
        if !in_slots {
            updates.extend(target.names.iter().map(|counter| {
                let value = MYSQL.column("moved", counter);
                counting.set(target, counter, &table, &value, Place::Statement)
            }));
            is_row.push(counting.same_key(target, &table, "moved"));
            is_row.extend(counting.only(target, &table));
        }
        additions.push(Addition {
            to: counting.counters_of(target),
            sums: counting.sums_of(target, union, in_slots.then_some(&*slot), &[], order),
            updates,
            is_row,
        });
    }
    render("mysql/cascade.sql", json!({ "additions": additions }))
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
