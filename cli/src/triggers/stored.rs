//! Triggers in the database, and their definitions. Each definition is in a view of its own, which
//! stays when the table of the rows is dropped and created again, and its triggers are lost.

use anyhow::{Context, Result};
use diesel::RunQueryDsl;
use diesel::sql_types::{Nullable, Text};
use diesel_counters::__private::stored_triggers;

use super::definition::Definition;
use super::trigger::LiveTrigger;
use crate::connection::AnyConnection;
use crate::sql::sql;

/// The only column of such a view.
pub const COLUMN: &str = "diesel_counters_trigger";

/// The definitions of all triggers, by name.
pub fn definitions(conn: &mut AnyConnection) -> Result<Vec<Definition>> {
    let stored = stored_triggers(conn)?.into_iter();
    let read = stored.map(|stored| {
        let cannot = || {
            format!(
                "cannot read the definition of triggers {}",
                stored.definition
            )
        };
        serde_json::from_value(stored.definition.clone()).with_context(cannot)
    });
    read.collect()
}

/// All triggers, of all tables.
pub fn live_triggers(conn: &mut AnyConnection) -> Result<Vec<LiveTrigger>> {
    type Row = (String, String, String, String, String, Option<String>);
    let live = sql(super::sql::of(conn.dialect()).live);
    let rows = live.typed::<(Text, Text, Text, Text, Text, Nullable<Text>)>();
    let rows: Vec<Row> = rows.load(conn)?;
    let live = |(schema, table, name, event, body, disabled)| LiveTrigger {
        table: [schema, table],
        name,
        event,
        body,
        disabled,
    };
    Ok(rows.into_iter().map(live).collect())
}
