//! The events of triggers, and the functions of PostgreSQL.

use serde::Serialize;

use super::counting::Counting;
use super::definition::Functions;
use crate::database::{Joined, POSTGRES};

/// An event of a trigger.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Event {
    Insert,
    Update,
    Delete,
    Truncate,
}

impl Event {
    pub fn name(self) -> &'static str {
        match self {
            Event::Insert => "INSERT",
            Event::Update => "UPDATE",
            Event::Delete => "DELETE",
            Event::Truncate => "TRUNCATE",
        }
    }

    /// As in the names of triggers.
    pub fn lower(self) -> String {
        self.name().to_lowercase()
    }
}

/// The name of the function of an event, and of its trigger.
pub fn name_of(counting: &Counting, event: Event) -> String {
    format!("{}_{}", counting.definition.name, event.lower())
}

/// The name of the trigger of MySQL that locks rows before an event.
pub fn name_of_lock(counting: &Counting, event: Event) -> String {
    format!("{}_lock_{}", counting.definition.name, event.lower())
}

/// What the comment on a function begins with that has the definition.
pub const COMMENT: &str = "diesel_counters: ";

/// Whether this function of a definition has the definition in its comment and its text.
pub fn has_definition(function: &str, definition: &str) -> bool {
    function.strip_suffix("_insert") == Some(definition)
}

/// That name, with its schema and in quotes.
pub fn function_name(counting: &Counting, event: Event) -> String {
    POSTGRES.quoted_in(Some(&counting.rows.in_schema), &name_of(counting, event))
}

/// The text of the comment that stores the definition.
pub fn comment_text(counting: &Counting) -> String {
    POSTGRES.literal_of_lines(&(COMMENT.to_owned() + &counting.definition.json()))
}

/// Stores the definition in place of the one that is there.
pub fn comment(counting: &Counting) -> String {
    let name = match counting.definition.functions {
        Functions::One => {
            POSTGRES.quoted_in(Some(&counting.rows.in_schema), &counting.definition.name)
        }
        Functions::ByEvent | Functions::Both => function_name(counting, Event::Insert),
    };
    let comment = comment_text(counting);
    format!("COMMENT ON FUNCTION {name}() IS {comment};\n")
}

/// The statement that drops these functions in this schema.
pub fn drop_functions(schema: &str, names: &[String]) -> String {
    if names.is_empty() {
        return String::new();
    }
    let functions = names
        .iter()
        .map(|name| POSTGRES.quoted_in(Some(schema), name) + "()");
    format!("DROP FUNCTION IF EXISTS {};\n", functions.joined(", "))
}

/// Each name once, in their order.
pub fn once(all: impl Iterator<Item = String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
