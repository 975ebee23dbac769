//! A trigger, and what it needs.

use anyhow::Result;
use diesel::sql_types::{Bool, Nullable, Text};
use diesel::{QueryableByName, RunQueryDsl};
use serde::Serialize;

use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::sql::sql;

/// The table of a trigger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, QueryableByName)]
pub struct TriggerTable {
    #[diesel(sql_type = Text)]
    #[diesel(column_name = in_schema)]
    pub schema: String,
    #[diesel(sql_type = Text)]
    #[diesel(column_name = table_name)]
    pub name: String,
}

impl TriggerTable {
    /// The table of the rows that triggers count.
    pub fn of(rows: &Table) -> Self {
        TriggerTable {
            schema: rows.in_schema.clone(),
            name: rows.name.clone(),
        }
    }
}

/// A trigger as it should be.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Trigger {
    pub name: String,
    pub table: TriggerTable,
    /// When it runs, such as `AFTER INSERT`.
    pub event: String,
    pub body: String,
    /// Other bodies that are as good: as the database writes this one, or as an earlier version
    /// wrote it.
    pub same: Vec<String>,
    /// The statements that create the function that it calls, if it has no statements of its own.
    pub function: Option<String>,
    pub create: String,
    pub drop: String,
}

/// A trigger as it is in the database.
#[derive(Debug, Clone, QueryableByName)]
pub struct LiveTrigger {
    #[diesel(embed)]
    pub table: TriggerTable,
    #[diesel(sql_type = Text)]
    #[diesel(column_name = trigger_name)]
    pub name: String,
    /// As in [`Trigger::event`]. On PostgreSQL, what else could be changed about the trigger or its
    /// function is behind it, and on SQLite all is in the body.
    #[diesel(sql_type = Text)]
    pub event: String,
    #[diesel(sql_type = Text)]
    pub body: String,
    /// The reason that it does not always run, if there is one.
    #[diesel(sql_type = Nullable<Text>)]
    pub disabled: Option<String>,
    /// Its function on PostgreSQL, with its schema and in quotes.
    #[diesel(sql_type = Nullable<Text>)]
    #[diesel(column_name = function_name)]
    pub function: Option<String>,
    /// Whether every role can use its function.
    #[diesel(sql_type = Bool)]
    #[diesel(column_name = is_open)]
    pub open: bool,
}

impl LiveTrigger {
    /// Whether it does the same, whatever its name.
    pub fn is_like(&self, trigger: &Trigger) -> bool {
        let mut bodies = [&trigger.body].into_iter().chain(&trigger.same);
        let is_body = |body: &String| words(&self.body).eq(words(body));
        words(&self.event).eq(words(&trigger.event)) && bodies.any(is_body)
    }
}

/// The words of SQL, in which no space matters. MySQL keeps the semicolon after some bodies.
fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.trim_end_matches(';').split_whitespace()
}

/// All triggers of the database, by table. On MySQL, those of an event are in the order in which
/// they run, and elsewhere by name.
pub fn live_triggers(conn: &mut AnyConnection) -> Result<Vec<LiveTrigger>> {
    let live = sql(super::sql::of(conn.database()).live);
    Ok(live.load(conn)?)
}
