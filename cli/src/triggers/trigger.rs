//! A trigger, and what it needs.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::{Bool, Nullable, Text};
use serde::Serialize;

use crate::connection::AnyConnection;
use crate::sql::sql;

/// A trigger as it should be.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Trigger {
    pub name: String,
    /// The schema and the name of the table it belongs to.
    pub table: (String, String),
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
#[derive(Debug, Clone, diesel::Queryable)]
pub struct LiveTrigger {
    pub table: (String, String),
    pub name: String,
    pub event: String,
    pub body: String,
    /// The reason that it does not always run, if there is one.
    pub disabled: Option<String>,
    /// Its function on PostgreSQL, with its schema and in quotes.
    pub function: Option<String>,
    /// Whether every role can use its function.
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

pub fn live_triggers(conn: &mut AnyConnection) -> Result<Vec<LiveTrigger>> {
    type Types = (
        (Text, Text),
        Text,
        Text,
        Text,
        Nullable<Text>,
        Nullable<Text>,
        Bool,
    );
    let live = sql(super::sql::of(conn.database()).live).typed::<Types>();
    Ok(live.load(conn)?)
}
