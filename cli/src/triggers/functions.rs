//! The events of triggers, and the functions of PostgreSQL.

use serde::Serialize;

use super::counting::Counting;
use crate::database::POSTGRES;
use crate::template::wrapped;

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

/// That name in SQL, with its schema if the definition names that.
pub fn function_name(counting: &Counting, event: Event) -> String {
    POSTGRES.quoted_in(counting.rows.schema.as_deref(), &name_of(counting, event))
}

/// The statement that drops these functions, which are in this schema, or in the first one of the
/// user's path. `cascades` is whether it drops their triggers, too.
pub fn drop_functions(schema: Option<&str>, names: &[String], cascades: bool) -> String {
    if names.is_empty() {
        return String::new();
    }
    let functions = names.iter();
    let functions: Vec<_> = functions
        .map(|name| POSTGRES.quoted_in(schema, name) + "()")
        .collect();
    let cascade = if cascades { " CASCADE" } else { "" };
    format!(
        "DROP FUNCTION IF EXISTS {}{cascade};\n",
        wrapped(&functions, "\n    ")
    )
}
