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

/// Writes the statement that drops a trigger. On PostgreSQL, there is none without its table: the
/// trigger disappears with it.
pub fn drop_trigger(name: &str, table: Option<&Table>, database: Database) -> String {
    let name = database.quoted(name);
    if database != POSTGRES {
        return format!("DROP TRIGGER IF EXISTS {name};\n");
    }
    let Some(table) = table else {
        return String::new();
    };
    let table = POSTGRES.table_name(table);
    format!("DROP TRIGGER IF EXISTS {name} ON {table};\n")
}

/// Writes the statement that drops a rule on PostgreSQL. There is none without its table: the rule
/// disappears with it.
pub fn drop_rule(name: &str, table: Option<&Table>) -> String {
    let Some(table) = table else {
        return String::new();
    };
    let name = POSTGRES.quoted(name);
    let table = POSTGRES.table_name(table);
    format!("DROP RULE IF EXISTS {name} ON {table};\n")
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

impl From<Line> for LiveTrigger {
    /// Reads a row of the query for all triggers. Its texts are in the order of these fields.
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
    /// Whether it does the same as this trigger, whatever their names.
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
fn are_same(first_sql: &str, second_sql: &str) -> bool {
    let [first_sql, second_sql] = [first_sql, second_sql].map(without_quotes);
    let first = words_and_spaces(&first_sql);
    let second = words_and_spaces(&second_sql);
    let mut pairs = first.iter().zip(&second);
    first.len() == second.len()
        && pairs.all(|(piece, other)| piece == other || is_line_break(piece, other))
}

/// Returns the SQL with quotes only around names that need them.
fn without_quotes(sql: &str) -> String {
    let mut plain = String::new();
    for (index, piece) in sql.split('"').enumerate() {
        let is_quoted = index % 2 == 1;
        if is_quoted {
            plain += &SQLITE.quoted(piece);
        } else {
            plain += piece;
        }
    }
    plain
}

/// Whether two pieces of SQL are both spaces, and at least one breaks the line.
fn is_line_break(piece: &str, other: &str) -> bool {
    let are_spaces = piece.trim().is_empty() && other.trim().is_empty();
    are_spaces && (piece.contains('\n') || other.contains('\n'))
}

/// Splits SQL into words and the spaces between them. Ignores a final semicolon, which MySQL keeps
/// for some bodies.
fn words_and_spaces(sql: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = sql.trim().trim_end_matches(';').trim_end();
    while !rest.is_empty() {
        let is_space = rest.starts_with(char::is_whitespace);
        let end = rest.find(|c: char| c.is_whitespace() != is_space);
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = after;
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
