//! Triggers that count rows on SQLite: one a row.

use anyhow::{Result, bail};

use super::counting::Counting;
use super::plan::Plan;
use super::statement::{Entities, NEW, OLD, Rows, statements};
use super::stored;
use super::target::{Source, Target};
use super::trigger::Trigger;
use crate::database::{Joined, SQLITE};

pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    let mut triggers = vec![after(counting, "INSERT", &[NEW])];
    let has_updates = counting.has_updates();
    triggers.extend(has_updates.then(|| after(counting, "UPDATE", &[OLD, NEW])));
    triggers.push(after(counting, "DELETE", &[OLD]));
    for event in ["INSERT", "UPDATE"] {
        triggers.extend(replace(counting, event)?);
    }
    Ok(triggers)
}

fn after(counting: &Counting, event: &str, rows: &[&str]) -> Trigger {
    let slot = "0".to_owned();
    let entities = |row: &str, target: &Target, source: &Source| match row {
        _ if target.slots.is_none() => target.entities(source),
        OLD => Entities::Existing,
        // A cascade changes the row after its entity.
        _ if source.exists && event == "UPDATE" && counting.columns(source).len() > 1 => {
            Entities::ExistingOrMoved
        }
        _ => target.entities(source),
    };
    let mut all = Vec::new();
    for target in &counting.targets {
        for name in rows {
            for source in &target.sources {
                let row = Rows::row(name, entities(name, target, source));
                let changed = (rows.len() > 1).then(|| counting.changed(source));
                all.push(counting.add_row(target, source, &row, &slot, changed));
            }
        }
    }
    let head = format!("AFTER {event}");
    trigger(counting, &event.to_lowercase(), &head, "", all)
}

/// Refuses a row that could replace another one. SQLite runs no trigger for the row that is
/// replaced, unless `recursive_triggers` is on.
fn replace(counting: &Counting, event: &str) -> Result<Option<Trigger>> {
    let table = &counting.rows;
    let mut conditions = Vec::new();
    for index in table.indexes.iter().filter(|index| index.unique) {
        let columns = index.columns.iter().map(|name| table.column(name));
        let Some(columns) = columns.collect::<Option<Vec<_>>>() else {
            let name = &index.name;
            bail!(
                "the unique index {name} of {table} has an expression: INSERT OR REPLACE could replace a row by \
                 it, and SQLite would not count that. Use a generated column instead"
            );
        };
        let list = |row: &str| SQLITE.columns(row, columns.iter().copied());
        let same = list("other").into_iter().zip(list(NEW)).zip(&columns);
        let same = same.map(|((other, new), column)| match &column.loose_collation {
            Some(collation) => format!("{other} = {new} COLLATE {collation}"),
            None => format!("{other} = {new}"),
        });
        let (name, same) = (SQLITE.table_name(table), same.joined(" AND "));
        let exists = format!("EXISTS (SELECT 1 FROM {name} AS other WHERE {same})");
        let [new, old] = [NEW, OLD].map(|row| list(row).join(", "));
        conditions.push(match event {
            "UPDATE" => format!("({new}) IS NOT ({old}) AND {exists}"),
            _ => exists,
        });
    }
    if conditions.is_empty() {
        return Ok(None);
    }
    let off = "(SELECT recursive_triggers FROM pragma_recursive_triggers) = 0";
    let when = format!("WHEN ({})\n    AND {off} ", conditions.join("\n    OR "));
    let message = format!(
        "{table} has this row, and SQLite would not count that it is replaced: run PRAGMA \
         recursive_triggers = ON on this connection"
    );
    let raise = format!("SELECT RAISE(ABORT, {})", SQLITE.literal(&message));
    let name = format!("replace_by_{}", event.to_lowercase());
    let head = format!("BEFORE {event}");
    Ok(Some(trigger(counting, &name, &head, &when, vec![raise])))
}

fn trigger(counting: &Counting, what: &str, head: &str, when: &str, all: Vec<String>) -> Trigger {
    let name = format!("{}_{what}", counting.definition.name);
    let (quoted, table) = (SQLITE.quoted(&name), SQLITE.table_name(&counting.rows));
    let all = statements(all, 4);
    let body = format!("{head} ON {table} FOR EACH ROW {when}BEGIN\n{all}END");
    Trigger {
        create: format!("CREATE TRIGGER {quoted} {body};\n"),
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table: ("main".to_owned(), counting.rows.name.clone()),
        body,
        name,
        ..Trigger::default()
    }
}

/// The migration's transaction is the only one that writes, from its first statement on.
pub fn up(plans: &[Plan]) -> String {
    let all = plans.iter().map(|plan| {
        let heading = plan.heading() + &stored::create(&plan.counting);
        [heading, plan.create(), plan.existing()].join("\n")
    });
    all.joined("\n")
}
