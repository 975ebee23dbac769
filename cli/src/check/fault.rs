//! What can be wrong with a table.

use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Fault {
    pub severity: Severity,
    /// A word that stays the same.
    pub fault: &'static str,
    pub what: String,
    pub cost: String,
    pub remedy: String,
    /// What to run, where that is possible.
    pub sql: Vec<String>,
    /// SQLite cannot change it in a table that is there.
    #[serde(skip)]
    pub needs_rebuild: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Counts can be wrong, or statements fail.
    Wrong,
    Slow,
    /// A guess, which is no fault yet.
    Hint,
    /// Good, with something to know.
    Note,
}

impl Fault {
    pub fn wrong(fault: &'static str, what: impl Into<String>, cost: impl Into<String>) -> Self {
        Fault {
            severity: Severity::Wrong,
            fault,
            what: what.into(),
            cost: cost.into(),
            remedy: String::new(),
            sql: Vec::new(),
            needs_rebuild: false,
        }
    }

    pub fn slow(fault: &'static str, what: impl Into<String>, cost: impl Into<String>) -> Self {
        Fault {
            severity: Severity::Slow,
            ..Fault::wrong(fault, what, cost)
        }
    }

    pub fn hint(fault: &'static str, what: impl Into<String>, cost: impl Into<String>) -> Self {
        Fault {
            severity: Severity::Hint,
            ..Fault::wrong(fault, what, cost)
        }
    }

    pub fn note(fault: &'static str, what: impl Into<String>, cost: impl Into<String>) -> Self {
        Fault {
            severity: Severity::Note,
            ..Fault::wrong(fault, what, cost)
        }
    }

    pub fn is_good(&self) -> bool {
        matches!(self.severity, Severity::Hint | Severity::Note)
    }

    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    pub fn sql(mut self, statement: impl Into<String>) -> Self {
        self.sql.push(statement.into());
        self
    }

    pub fn rebuild(mut self) -> Self {
        self.remedy = "Make the table anew: see below.".into();
        self.needs_rebuild = true;
        self
    }
}
