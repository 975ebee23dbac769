//! The events of triggers, and their functions on PostgreSQL.

use serde::Serialize;

use super::counting::Counting;
use crate::database::POSTGRES;
use crate::template::wrapped;

/// An event that a trigger runs for.
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

    /// Its name as in the names of triggers.
    pub fn lower(self) -> String {
        self.name().to_lowercase()
    }
}

/// The name of an event's function and of its trigger.
pub fn name_of(counting: &Counting, event: Event) -> String {
    format!("{}_{}", counting.definition.name, event.lower())
}

/// The name of the trigger on MySQL that locks rows before an event.
pub fn name_of_lock(counting: &Counting, event: Event) -> String {
    format!("{}_lock_{}", counting.definition.name, event.lower())
}

/// Writes the function's name in SQL, with a schema if the definition names one.
pub fn function_name(counting: &Counting, event: Event) -> String {
    POSTGRES.quoted_in(counting.rows.schema.as_deref(), &name_of(counting, event))
}

/// The statement that drops these functions. They are in this schema, or in the first one of the
/// user's search path. `cascades` says whether to drop their triggers, too.
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
