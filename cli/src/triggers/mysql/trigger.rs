//! Names a trigger, and chooses the slot in which it counts.

use anyhow::Result;
use diesel_counters::Dialect;
use serde_json::json;

use super::literals::as_stored;
use crate::database::MYSQL;
use crate::template::render;
use crate::triggers::counting::Counting;
use crate::triggers::trigger::{Trigger, TriggerTable, drop_trigger};

/// Makes a trigger on a table in the same database as the rows. `suffix` is the end of its name,
/// `event` is for example `AFTER INSERT`, and `rendered` is its body. That has no comment, because
/// the `mysql` client would drop it.
pub fn trigger(
    counting: &Counting,
    suffix: &str,
    event: &str,
    table: &str,
    rendered: &str,
) -> Result<Trigger> {
    let name = format!("{}_{suffix}", counting.definition.name);
    let quoted = MYSQL.quoted(&name);
    let body = rendered.trim_end();
    let values = json!({
        "name": quoted,
        "event": event,
        "table": MYSQL.quoted(table),
        "body": body,
    });
    Ok(Trigger {
        create: render("mysql/trigger.sql", values)?,
        drop: drop_trigger(&name, Some(&counting.rows), MYSQL),
        table: TriggerTable {
            schema: counting.rows.in_schema.clone(),
            name: table.to_owned(),
        },
        event: event.to_owned(),
        comment: String::new(),
        function: None,
        same: as_stored(body),
        body: body.to_owned(),
        name,
    })
}

/// SQL for the slot in which a connection counts, from 1. Slot 0 is for merged rows.
pub fn connection_slot(slots: u16) -> String {
    match slots {
        0 | 1 => "1".to_owned(),
        _ => format!("1 + {} % {slots}", Dialect::MySql.connection_number()),
    }
}
