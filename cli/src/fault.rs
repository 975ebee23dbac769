//! The faults that `check` finds.

use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct Fault {
    pub severity: Severity,
    /// A stable name.
    pub fault: &'static str,
    pub what: String,
    pub cost: &'static str,
    pub remedy: String,
    pub sql: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Counts can be wrong, or statements fail.
    Wrong,
    Slow,
    /// Something to know. The table is good.
    Note,
}

macro_rules! severities {
    ($($name:ident $severity:ident)*) => {$(
        pub fn $name(fault: &'static str, what: impl Into<String>, cost: &'static str) -> Fault {
            let (severity, what) = (Severity::$severity, what.into());
            let (remedy, sql) = Default::default();
            Fault { severity, fault, what, cost, remedy, sql }
        }
    )*};
}
severities! { wrong Wrong slow Slow note Note }

impl Fault {
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    pub fn run(mut self, sql: impl Into<Option<String>>) -> Self {
        self.sql.extend(sql.into());
        self
    }
}
