//! Triggers of the tables that rows refer to: what foreign keys delete and change.

use anyhow::Result;
use serde_json::json;

use super::trigger::{connection_slot, trigger};
use crate::catalogue::{Column, Parent};
use crate::database::MYSQL;
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::order::refuse_own_table;
use crate::triggers::references::{are_counted, parents};
use crate::triggers::statement::{Place, Rows, Sign};
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

/// Takes off the rows that refer to a row of the parent table, and adds them as the foreign keys
/// leave them; or after it is deleted, the other way round.
fn cascade(counting: &Counting, columns: &[(&Column, &Parent)], event: &str) -> Result<String> {
    let slot = connection_slot(counting.definition.slots);
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
            assignments: updates,
            row_conditions: is_row,
        });
    }
    render("mysql/cascade.sql", json!({ "additions": additions }))
}
