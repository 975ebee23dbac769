//! Names a trigger and writes its statements.

use anyhow::Result;
use serde_json::json;

use crate::database::SQLITE;
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::trigger::{Trigger, TriggerTable, drop_trigger};

/// Makes a trigger on the table of the rows. `suffix` is the end of its name, `event` is for
/// example `AFTER INSERT`, and `rendered` is what follows the table.
pub fn trigger(counting: &Counting, suffix: &str, event: &str, rendered: &str) -> Result<Trigger> {
    let name = format!("{}_{suffix}", counting.definition.name);
    let quoted = SQLITE.quoted(&name);
    let table = SQLITE.table_name(&counting.rows);
    let body = rendered.trim_end();
    let values = json!({ "name": quoted, "event": event, "table": table, "body": body });
    Ok(Trigger {
        create: render("sqlite/trigger.sql", values)?,
        drop: drop_trigger(&name, Some(&counting.rows), SQLITE),
        table: TriggerTable {
            schema: "main".to_owned(),
            name: counting.rows.name.clone(),
        },
        body: format!("{event} ON {table}{body}"),
        name,
        ..Trigger::default()
    })
}
