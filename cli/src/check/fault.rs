//! The faults that `check` finds, and the SQL that removes them.

use serde::Serialize;

use super::change::Script;

#[derive(Debug, Clone, Serialize)]
pub struct Fault {
    pub severity: Severity,
    /// A stable name.
    pub fault: &'static str,
    pub what: String,
    pub cost: String,
    pub remedy: String,
    /// The statements to run, if there are any.
    pub sql: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Counts can be wrong, or statements fail.
    Wrong,
    Slow,
    /// A guess. The table is good.
    Hint,
    /// Something to know. The table is good.
    Note,
}

impl Severity {
    pub fn is_good(self) -> bool {
        matches!(self, Severity::Hint | Severity::Note)
    }
}

/// A fault that a table can have: its name, and what it costs.
pub struct Known(pub Severity, pub &'static str, pub &'static str);

macro_rules! faults {
    ($($fault:ident = $severity:ident, $name:literal: $cost:expr;)*) => {$(
        const $fault: $crate::check::fault::Known =
            $crate::check::fault::Known($crate::check::fault::Severity::$severity, $name, $cost);
    )*};
}
pub(crate) use faults;

impl Known {
    /// The fault of a table, without a remedy.
    pub fn found(self, what: impl Into<String>) -> Fault {
        Fault {
            severity: self.0,
            fault: self.1,
            what: what.into(),
            cost: self.2.to_owned(),
            remedy: String::new(),
            sql: Vec::new(),
        }
    }
}

impl Fault {
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// The remedy is a change of the table, or a new table where the database cannot change it.
    pub fn change(mut self, remedy: &str, script: Option<Script>) -> Self {
        match script {
            Some(script) => {
                self.remedy = format!("{remedy} {}", script.locks).trim_end().to_owned();
                self.sql = vec![script.sql];
                self
            }
            None => self.remedy(
                "SQLite cannot change that: create another table with `diesel-counters generate migration`, \
                 and copy the rows.",
            ),
        }
    }
}
