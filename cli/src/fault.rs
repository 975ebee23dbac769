//! The faults that `check` finds.

use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct Fault {
    pub severity: Severity,
    /// A name that stays the same across versions.
    pub fault: &'static str,
    /// A sentence that says what is wrong.
    pub what: String,
    /// What it leads to.
    pub cost: &'static str,
    /// What to do about it.
    pub remedy: String,
    /// The SQL of the remedy.
    pub sql: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Counts can be wrong, or statements fail.
    Wrong,
    Slow,
    /// Worth knowing, but the table is fine.
    Note,
}

/// The faults of a table, of `counters.toml`, or of the database.
pub struct TableFaults {
    pub table: String,
    pub faults: Vec<Fault>,
}

/// Makes a fault that lets counts be wrong, or statements fail. `fault` is its name in JSON, and
/// `cost` says what it leads to.
pub fn wrong(fault: &'static str, what: impl Into<String>, cost: &'static str) -> Fault {
    Fault::new(Severity::Wrong, fault, what.into(), cost)
}

/// Makes a fault that only costs time.
pub fn slow(fault: &'static str, what: impl Into<String>, cost: &'static str) -> Fault {
    Fault::new(Severity::Slow, fault, what.into(), cost)
}

/// Makes a note, which is worth knowing but isn't a fault.
pub fn note(fault: &'static str, what: impl Into<String>, cost: &'static str) -> Fault {
    Fault::new(Severity::Note, fault, what.into(), cost)
}

impl Fault {
    fn new(severity: Severity, fault: &'static str, what: String, cost: &'static str) -> Self {
        Fault {
            severity,
            fault,
            what,
            cost,
            remedy: String::new(),
            sql: Vec::new(),
        }
    }

    /// Says what to do about it.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Adds a statement to the SQL of its remedy, if there is one.
    pub fn run(mut self, sql: impl Into<Option<String>>) -> Self {
        self.sql.extend(sql.into());
        self
    }
}
