//! Triggers in the database, and their definitions. Each definition is in a view of its own, which
//! stays when the table of the rows is dropped and created again, and its triggers are lost.

use anyhow::{Context, Result};
use diesel::RunQueryDsl;
use diesel::sql_types::{Nullable, Text};

use super::{Definition, LiveTrigger};
use crate::connection::AnyConnection;
use crate::sql::sql;

/// The only column of such a view.
pub const COLUMN: &str = "diesel_counters_trigger";

/// The definitions of all triggers, by name.
pub fn definitions(conn: &mut AnyConnection) -> Result<Vec<Definition>> {
    let database = conn.database();
    let views = sql(database.facts().trigger.views)
        .bind(COLUMN)
        .sql(" ORDER BY 1, 2");
    let views: Vec<(String, String)> = views.typed::<(Text, Text)>().load(conn)?;
    let read = |(schema, view): (String, String)| {
        let view = database.quoted_in(Some(&schema), &view);
        let text = format!(
            "SELECT {} FROM {view}",
            database.facts().text.replace("{}", COLUMN)
        );
        let text: String = sql(text).typed::<Text>().get_result(conn)?;
        let cannot = || format!("cannot read the definition of triggers in {view}: {text}");
        serde_json::from_str(&text).with_context(cannot)
    };
    views.into_iter().map(read).collect()
}

/// All triggers, of all tables.
pub fn live_triggers(conn: &mut AnyConnection) -> Result<Vec<LiveTrigger>> {
    type Row = (String, String, String, String, String, Option<String>);
    let live = sql(conn.database().facts().trigger.live);
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
