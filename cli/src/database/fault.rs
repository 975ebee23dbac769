//! The faults that `check` finds, and the SQL that removes them.

use serde::Serialize;

use crate::catalogue::{Column, Index};

#[derive(Debug, Serialize)]
pub struct Fault {
    pub severity: Severity,
    /// A stable name.
    pub fault: &'static str,
    pub what: String,
    pub cost: String,
    pub remedy: String,
    /// The statements to run, if there are any.
    pub sql: Vec<String>,
    #[serde(skip)]
    pub needs_rebuild: bool,
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
        pub(crate) const $fault: $crate::database::Known =
            $crate::database::Known($crate::database::Severity::$severity, $name, $cost);
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
            needs_rebuild: false,
        }
    }
}

impl Fault {
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// The remedy is a change of the table, or a rebuild where the database cannot change it.
    pub fn change(mut self, remedy: &str, script: Option<Script>) -> Self {
        self.needs_rebuild = script.is_none();
        match script {
            Some(script) => {
                self.remedy = format!("{remedy} {}", script.locks).trim_end().to_owned();
                self.sql = vec![script.sql];
                self
            }
            None => self.remedy("Rebuild the table: see below."),
        }
    }
}

/// A change of a table.
pub enum Change<'a> {
    /// Sets these properties of a column.
    Column {
        column: &'a Column,
        sql_type: Option<&'a str>,
        default: Option<&'a str>,
        not_null: bool,
    },
    /// Adds a primary key after other changes, which are those of an `ALTER TABLE`.
    PrimaryKey(String),
    DropIndex(&'a Index),
}

impl<'a> Change<'a> {
    pub fn sql_type(column: &'a Column, sql_type: &'a str) -> Self {
        Change::Column {
            column,
            sql_type: Some(sql_type),
            default: None,
            not_null: false,
        }
    }
}

/// The SQL of a change.
pub struct Script {
    pub sql: String,
    /// What it blocks while it runs.
    pub locks: &'static str,
}

/// The SQL of a table that replaces another one.
#[derive(Default, Serialize)]
pub struct Rebuild {
    /// Empty if something else has to be corrected first.
    #[serde(rename = "rebuild")]
    pub sql: Vec<String>,
    #[serde(rename = "rebuild_note")]
    pub note: Option<String>,
}

/// The uses of `REPLACE INTO` for a table.
pub struct Replaces {
    /// A sentence for each.
    pub found: Vec<String>,
    /// The clause to use instead.
    pub upsert: &'static str,
    /// What else to do if there are any.
    pub remedy: &'static str,
}
