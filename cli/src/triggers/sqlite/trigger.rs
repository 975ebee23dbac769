//! Names a trigger and writes its statements.

use anyhow::Result;
use serde_json::json;

use crate::database::SQLITE;
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::trigger::{Trigger, TriggerTable, drop_statement};

/// Makes a trigger on the table of the rows. `what` is the end of its name, `event` is for example
/// `AFTER INSERT`, and `rendered` is what follows the table.
pub fn trigger(counting: &Counting, what: &str, event: &str, rendered: &str) -> Result<Trigger> {
    let name = format!("{}_{what}", counting.definition.name);
    let quoted = SQLITE.quoted(&name);
    let table = SQLITE.table_name(&counting.rows);
    let body = rendered.trim_end();
    let values = json!({ "name": quoted, "event": event, "table": table, "body": body });
    Ok(Trigger {
        create: render("sqlite/trigger.sql", values)?,
        drop: drop_statement(&name, Some(&counting.rows), false, SQLITE),
        table: TriggerTable {
            schema: "main".to_owned(),
            name: counting.rows.name.clone(),
        },
        body: format!("{event} ON {table}{body}"),
        name,
        ..Trigger::default()
    })
}
