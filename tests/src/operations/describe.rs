//! What an operation says about itself.

use chrono::NaiveDate;
use diesel_counters::Period;
use proptest::strategy::Strategy;

use super::Operation;
use crate::map::{Days, Expected, Map, Place, Returned};
use crate::tables::{Entity, Table};

/// An operation with its parameters.
pub trait Describe: Sized {
    /// How often the operation comes up in the test against a map, next to others.
    const WEIGHT: u32 = 1;

    /// Makes up parameters.
    fn random() -> impl Strategy<Value = Self> + 'static;

    /// What the operation does to the map, and what it returns. After an error, the map is not used.
    fn apply(&self, map: &mut Map, place: Place<'_>) -> Expected<Returned>;

    /// What runs beside others in every order of their statements.
    fn scripts() -> Vec<Script> {
        Vec::new()
    }

    /// What the checker reads while others write: sums of views and comments. Each row of what is
    /// returned has the entity, and the day if it is not all of them. A read of anything else has
    /// none, but can have scripts.
    fn reads(_: &Asked) -> Vec<Self> {
        Vec::new()
    }

    /// Whether it begins transactions, and is refused in one.
    fn begins_transactions(&self) -> bool {
        false
    }

    /// Whether it reads, and then writes what it has read in other transactions or with another
    /// snapshot. Then the enumerator compares less strictly.
    fn is_in_parts(&self) -> bool {
        false
    }

    /// The period into which it merges days.
    fn merges_days_into(&self) -> Option<Period> {
        None
    }
}

/// What a connection of the enumerator runs. It works on article 1, and maybe on article 2.
#[derive(Debug, Clone, Copy)]
pub struct Script {
    pub name: &'static str,
    /// A line of the help.
    pub does: &'static str,
    pub table: Table,
    /// Makes the operation. Each connection has a number of its own: 1, 10, 100. So a sum says
    /// which connections have counted.
    pub operation: fn(i64) -> Operation,
}

/// What a read of the checker is about.
#[derive(Debug, Clone)]
pub struct Asked {
    pub of: Entity,
    pub all: Vec<Entity>,
    pub on: NaiveDate,
    pub days: Days,
    pub limit: i64,
}

/// An expression that runs statements, which are a file of `tests/sql`.
pub struct Example<Conn> {
    /// The name of the file.
    pub name: &'static str,
    pub expression: &'static str,
    pub run: fn(&mut Conn),
}

/// The examples of an operation.
pub trait Examples<Conn> {
    fn examples() -> Vec<Example<Conn>>;
}
