//! Triggers that count the rows of a table.

mod counting;
mod definition;
mod expression;
mod statement;
mod stored;

pub use counting::{Counting, ParentTable, Source, Target};
pub use definition::Definition;
pub use statement::{DayOf, Entities, Rows, WRONG, in_lines};
pub use stored::{COLUMN, definitions, live_triggers};

/// A trigger, or what it should be.
#[derive(Debug, Clone)]
pub struct Trigger {
    pub name: String,
    /// The schema and the name of the table it belongs to.
    pub table: [String; 2],
    /// When it runs, such as `AFTER INSERT`.
    pub event: String,
    /// What it runs.
    pub body: String,
    /// The function that it calls, if it has no statements of its own.
    pub function: Option<Function>,
    /// The statement that creates it.
    pub create: String,
    /// The statement that drops it.
    pub drop: String,
}

/// What all triggers of a definition call on PostgreSQL.
#[derive(Debug, Clone)]
pub struct Function {
    pub create: String,
    pub drop: String,
}

/// A trigger as it is in the database.
#[derive(Debug, Clone)]
pub struct LiveTrigger {
    pub table: [String; 2],
    pub name: String,
    pub event: String,
    pub body: String,
    /// The reason that it does not run, if there is one.
    pub disabled: Option<String>,
}

impl LiveTrigger {
    /// Whether it does the same, whatever its name.
    pub fn is_like(&self, trigger: &Trigger) -> bool {
        words(&self.event).eq(words(&trigger.event)) && words(&self.body).eq(words(&trigger.body))
    }
}

/// The words of SQL, in which no space matters. MySQL keeps the semicolon after some bodies.
fn words(sql: &str) -> impl Iterator<Item = &str> {
    sql.trim_end_matches(';').split_whitespace()
}
