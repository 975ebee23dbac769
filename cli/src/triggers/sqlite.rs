//! Triggers that count rows on SQLite: one a row.

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::counting::Counting;
use super::plan::Plan;
use super::statement::{Entities, Rows, in_lines};
use super::stored;
use super::target::{Source, Target};
use super::trigger::Trigger;
use crate::database::SQLITE;

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

const NEW: &str = "NEW";
const OLD: &str = "OLD";

fn after(counting: &Counting, event: &str, rows: &[&str]) -> Trigger {
    let slot = Dialect::Sqlite.connection_slot(counting.definition.slots);
    let entities = |row: &str, target: &Target, source: &Source| match row {
        _ if target.slots.is_none() => target.entities(source),
        OLD => Entities::Existing,
        // A cascade changes the row after its entity.
        _ if source.exists && event == "UPDATE" && counting.columns(source).len() > 1 => {
            Entities::ExistingOrMoved
        }
        _ => target.entities(source),
    };
    let mut body = String::new();
    for target in &counting.targets {
        for name in rows {
            for source in &target.sources {
                let rows_of = Rows {
                    name,
                    from: "",
                    minus: *name == OLD,
                    entities: entities(name, target, source),
                };
                let changed = (rows.len() > 1).then(|| counting.changed(source));
                let statement = counting.add_row(target, source, &rows_of, &slot, changed);
                body += &(in_lines(&statement, 4) + ";\n");
            }
        }
    }
    trigger(
        counting,
        &event.to_lowercase(),
        &format!("AFTER {event}"),
        "",
        &body,
    )
}

/// Refuses a row that could replace another one. SQLite runs no trigger for the row that is
/// replaced, unless `recursive_triggers` is on.
fn replace(counting: &Counting, event: &str) -> Result<Option<Trigger>> {
    let table = &counting.rows;
    let mut conditions = Vec::new();
    for index in table.indexes.iter().filter(|index| index.unique) {
        let columns: Option<Vec<_>> = index
            .columns
            .iter()
            .map(|name| table.column(name))
            .collect();
        let Some(columns) = columns else {
            bail!(
                "the unique index {} of {table} has an expression: INSERT OR REPLACE could replace a row \
                 by it, and SQLite would not count that. Use a generated column instead",
                index.name
            );
        };
        let key: Vec<_> = columns
            .iter()
            .map(|column| SQLITE.quoted(&column.name))
            .collect();
        let list = |row: &str| {
            let columns: Vec<_> = key.iter().map(|name| format!("{row}.{name}")).collect();
            columns.join(", ")
        };
        let same = columns.iter().zip(&key).map(|(column, name)| {
            let collation = column.loose_collation.as_ref();
            let collate = collation.map_or(String::new(), |name| format!(" COLLATE {name}"));
            format!("other.{name} = NEW.{name}{collate}")
        });
        let exists = format!(
            "EXISTS (SELECT 1 FROM {} AS other WHERE {})",
            SQLITE.table_name(table),
            same.collect::<Vec<_>>().join(" AND ")
        );
        conditions.push(match event {
            "UPDATE" => format!("({}) IS NOT ({}) AND {exists}", list(NEW), list(OLD)),
            _ => exists,
        });
    }
    if conditions.is_empty() {
        return Ok(None);
    }
    let when = format!(
        "WHEN ({})\n    AND (SELECT recursive_triggers FROM pragma_recursive_triggers) = 0 ",
        conditions.join("\n    OR ")
    );
    let message = format!(
        "{table} has this row, and SQLite would not count that it is replaced: run PRAGMA \
         recursive_triggers = ON on this connection"
    );
    let body = format!("    SELECT RAISE(ABORT, {});\n", SQLITE.literal(&message));
    let name = format!("replace_by_{}", event.to_lowercase());
    let head = format!("BEFORE {event}");
    Ok(Some(trigger(counting, &name, &head, &when, &body)))
}

fn trigger(counting: &Counting, what: &str, head: &str, when: &str, statements: &str) -> Trigger {
    let name = format!("{}_{what}", counting.definition.name);
    let (quoted, table) = (SQLITE.quoted(&name), SQLITE.table_name(&counting.rows));
    let body = format!("{head} ON {table} FOR EACH ROW {when}BEGIN\n{statements}END");
    Trigger {
        create: format!("CREATE TRIGGER {quoted} {body};\n"),
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table: ["main".to_owned(), counting.rows.name.clone()],
        event: String::new(),
        function: None,
        body,
        name,
    }
}

/// The migration's transaction is the only one that writes, from its first statement on.
pub fn up(plans: &[Plan]) -> String {
    let all = plans.iter().map(|plan| {
        format!(
            "{}{}\n{}\n\
             -- Counts the existing rows: adds the difference between the rows and the counters.\n{}",
            plan.heading(),
            stored::create(&plan.counting),
            plan.create(),
            plan.existing(),
        )
    });
    all.collect::<Vec<_>>().join("\n")
}

pub fn not_counted(plan: &Plan) -> Vec<String> {
    vec![format!(
        "On a connection without PRAGMA recursive_triggers = ON, an INSERT into {} that meets an \
         existing row is refused, because INSERT OR REPLACE would not be counted.",
        plan.counting.rows
    )]
}
