//! A trigger with its name.

use anyhow::Result;
use serde_json::json;

use crate::database::SQLITE;
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::trigger::{Trigger, TriggerTable};

/// A trigger of this text, but for its name, of which `what` is the end.
pub fn trigger(counting: &Counting, what: &str, rendered: &str) -> Result<Trigger> {
    let name = format!("{}_{what}", counting.definition.name);
    let quoted = SQLITE.quoted(&name);
    let body = rendered.trim_end();
    let values = json!({ "name": quoted, "body": body });
    Ok(Trigger {
        create: render("sqlite/trigger.sql", values)?,
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table: TriggerTable {
            schema: "main".to_owned(),
            name: counting.rows.name.clone(),
        },
        body: body.to_owned(),
        name,
        ..Trigger::default()
    })
}
