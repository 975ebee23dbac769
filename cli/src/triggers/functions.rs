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

    /// Returns its name as in the names of triggers: `insert`.
    pub fn lower(self) -> String {
        self.name().to_lowercase()
    }
}

/// Returns the name of an event's trigger, and of its function: `count_likes_insert`.
pub fn name_of(counting: &Counting, event: Event) -> String {
    format!("{}_{}", counting.definition.name, event.lower())
}

/// Returns the name of the trigger on MySQL that locks rows before an event:
/// `count_likes_lock_insert`.
pub fn name_of_lock(counting: &Counting, event: Event) -> String {
    format!("{}_lock_{}", counting.definition.name, event.lower())
}

/// Writes the name of an event's function in SQL, with a schema if the definition names one:
/// `blog.count_likes_insert`.
pub fn function_name(counting: &Counting, event: Event) -> String {
    POSTGRES.quoted_in(counting.rows.schema.as_deref(), &name_of(counting, event))
}

/// Returns the statement that drops these functions, or nothing if there are none. Without a
/// schema, they are in the first one of the search path. `cascades` says whether to drop the
/// triggers that call them, too.
pub fn drop_functions(schema: Option<&str>, names: &[String], cascades: bool) -> String {
    if names.is_empty() {
        return String::new();
    }
    let mut functions = Vec::new();
    for name in names {
        functions.push(format!("{}()", POSTGRES.quoted_in(schema, name)));
    }
    let functions = wrapped(&functions, "\n    ");
    let cascade = if cascades { " CASCADE" } else { "" };
    format!("DROP FUNCTION IF EXISTS {functions}{cascade};\n")
}
