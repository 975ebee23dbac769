//! A trigger, and what it needs.

use super::counting::Counting;

/// A trigger, or what it should be.
#[derive(Debug, Clone)]
pub struct Trigger {
    pub name: String,
    /// The schema and the name of the table it belongs to. What is no trigger has no schema, and its
    /// own name.
    pub table: [String; 2],
    /// When it runs, such as `AFTER INSERT`; or [`VIEW`] or [`FUNCTION`].
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

/// The event of what triggers need, and is no trigger.
pub const VIEW: &str = "VIEW";
pub const FUNCTION: &str = "FUNCTION";

impl Trigger {
    /// A view that triggers need.
    pub fn view(name: &str, query: &str, counting: &Counting) -> Self {
        let quoted = counting.database.quoted(name);
        let or_replace = if counting.sql.keeps_half {
            "OR REPLACE "
        } else {
            ""
        };
        Trigger {
            name: name.to_owned(),
            table: [String::new(), name.to_owned()],
            event: VIEW.to_owned(),
            body: String::new(),
            function: None,
            create: format!("CREATE {or_replace}VIEW {quoted} AS {query};\n"),
            drop: format!("DROP VIEW IF EXISTS {quoted};\n"),
        }
    }

    /// The views of the wrong counts.
    pub fn drifts(counting: &Counting) -> impl Iterator<Item = Self> {
        let targets = counting.targets.iter();
        targets.map(|target| Self::view(&target.drift, &counting.drift(target), counting))
    }
}

/// What all triggers of a definition call on PostgreSQL.
#[derive(Debug, Clone)]
pub struct Function {
    pub create: String,
    /// Nobody else can call it, and its names are those of the migration.
    pub protect: String,
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
