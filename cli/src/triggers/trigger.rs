//! A trigger, and what it needs.

use anyhow::Result;
use diesel::sql_types::{Nullable, Text};
use diesel::{QueryableByName, RunQueryDsl};
use serde::Serialize;

use super::recount::Line;
use super::sql::trigger_sql;
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::{Database, POSTGRES, SQLITE};
use crate::sql::sql;

/// The table that a trigger is on.
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
    /// Returns the table of the rows that triggers count.
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
    /// When it runs, for example `AFTER INSERT`.
    pub event: String,
    pub body: String,
    /// Other ways in which the database may write this body.
    pub same: Vec<String>,
    /// The statement that creates the function it calls, if it has no statements of its own.
    pub function: Option<String>,
    /// A comment that answers what a reader of the migration would ask.
    pub comment: String,
    pub create: String,
    pub drop: String,
}

/// Writes the statement that drops a trigger or a rule. On PostgreSQL, it disappears with its
/// table.
pub fn drop_statement(name: &str, of: Option<&Table>, is_rule: bool, database: Database) -> String {
    let name = database.quoted(name);
    if database != POSTGRES {
        return format!("DROP TRIGGER IF EXISTS {name};\n");
    }
    let kind = if is_rule { "RULE" } else { "TRIGGER" };
    let Some(table) = of.map(|table| POSTGRES.table_name(table)) else {
        return String::new();
    };
    format!("DROP {kind} IF EXISTS {name} ON {table};\n")
}

/// A trigger as it is in the database.
#[derive(Debug, Clone, QueryableByName)]
pub struct LiveTrigger {
    #[diesel(embed)]
    pub table: TriggerTable,
    #[diesel(sql_type = Text)]
    #[diesel(column_name = trigger_name)]
    pub name: String,
    /// As in [`Trigger::event`]. On PostgreSQL, this is followed by anything else that can be
    /// changed about the trigger or its function. On SQLite, everything is in the body.
    #[diesel(sql_type = Text)]
    pub event: String,
    #[diesel(sql_type = Text)]
    pub body: String,
    /// Why it doesn't always run, if that's so.
    #[diesel(sql_type = Nullable<Text>)]
    pub disabled: Option<String>,
    /// The function that it calls, only on PostgreSQL. It's quoted and has its schema.
    #[diesel(sql_type = Nullable<Text>)]
    #[diesel(column_name = function_name)]
    pub function: Option<String>,
}

/// Reads a row of the query for all triggers.
impl From<Line> for LiveTrigger {
    fn from(Line(texts): Line) -> Self {
        let mut texts = texts.into_iter();
        let mut next = || texts.next().flatten();
        let mut text = || next().unwrap_or_default();
        LiveTrigger {
            table: TriggerTable {
                schema: text(),
                name: text(),
            },
            name: text(),
            event: text(),
            body: text(),
            disabled: next(),
            function: next(),
        }
    }
}

impl LiveTrigger {
    /// Whether it does the same, whatever its name.
    pub fn is_like(&self, trigger: &Trigger) -> bool {
        let mut bodies = [&trigger.body].into_iter().chain(&trigger.same);
        let is_event = self
            .event
            .split_whitespace()
            .eq(trigger.event.split_whitespace());
        is_event && bodies.any(|body| are_same(&self.body, body))
    }
}

/// Whether two texts are the same SQL. They may break lines in other places, where they have
/// spaces. Other spaces must match, because they may be in a literal: MySQL's catalogue has
/// literals without their escapes, so you can't tell where one ends. Quotes around names may
/// differ, because SQLite adds them when a table is renamed.
fn are_same(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(without_quotes);
    let (one, other) = (&*one, &*other);
    let ones = words_and_spaces(one);
    let others = words_and_spaces(other);
    let mut pairs = ones.iter().zip(&others);
    ones.len() == others.len() && pairs.all(|(one, other)| one == other || is_broken(one, other))
}

/// Returns the SQL with quotes only around names that need them.
fn without_quotes(sql: &str) -> String {
    let mut pieces = sql.split('"');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    let mut is_inside = true;
    for piece in pieces {
        if is_inside {
            plain += &SQLITE.quoted(piece);
        } else {
            plain += piece;
        }
        is_inside = !is_inside;
    }
    plain
}

/// Whether two pieces are both spaces, and at least one breaks the line.
fn is_broken(one: &str, other: &str) -> bool {
    let are_spaces = one.trim().is_empty() && other.trim().is_empty();
    are_spaces && (one.contains('\n') || other.contains('\n'))
}

/// Splits SQL into words and the spaces between them. Ignores a final semicolon, which MySQL keeps
/// for some bodies.
fn words_and_spaces(sql: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = sql.trim().trim_end_matches(';').trim_end();
    while !rest.is_empty() {
        let is_space = rest.starts_with(char::is_whitespace);
        let end = rest.find(|c: char| c.is_whitespace() != is_space);
        let (piece, behind) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

/// Returns all triggers in the database, by table. On MySQL, those of an event are in the order in
/// which they run. Elsewhere they are sorted by name.
pub fn live_triggers(conn: &mut AnyConnection) -> Result<Vec<LiveTrigger>> {
    let live = sql(trigger_sql(conn.database()).live);
    Ok(live.load(conn)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_broken_at_spaces_and_a_literal_has_its_own() {
        let sql = "SET a = 'b  c' WHERE d;";
        for same in [
            "SET a = 'b  c' WHERE d",
            "\n  SET a = 'b  c'\r\n    WHERE d ;\n",
            "SET a\n= 'b  c'\nWHERE d",
        ] {
            assert!(are_same(sql, same) && are_same(same, sql), "{same}");
        }
        for other in [
            "SET a = 'b c' WHERE d",
            "SET a = 'b  c' WHERE",
            "SET a = 'b  c'WHERE d",
        ] {
            assert!(!are_same(sql, other) && !are_same(other, sql), "{other}");
        }
    }
}
