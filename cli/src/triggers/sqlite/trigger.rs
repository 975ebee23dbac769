//! A trigger with its name.

use anyhow::Result;
use serde_json::json;

use crate::database::SQLITE;
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::trigger::Trigger;

/// A trigger of this text, but for its name.
pub fn trigger(counting: &Counting, what: &str, body: &str) -> Result<Trigger> {
    let name = format!("{}_{what}", counting.definition.name);
    let quoted = SQLITE.quoted(&name);
    let body = body.trim_end();
    Ok(Trigger {
        create: render(
            "sqlite/trigger.sql",
            json!({ "name": quoted, "body": body }),
        )?,
        drop: format!("DROP TRIGGER IF EXISTS {quoted};\n"),
        table: ("main".to_owned(), counting.rows.name.clone()),
        body: body.to_owned(),
        name,
        ..Trigger::default()
    })
}
