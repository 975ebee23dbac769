//! Triggers that count the rows of a table: a definition and the tables in, triggers out. One file a
//! database.

mod counting;
mod definition;
mod drift;
mod expression;
mod mysql;
mod order;
mod plan;
mod postgres;
mod recount;
mod sql;
mod sqlite;
mod statement;
mod stored;
mod target;
mod targets;
mod trigger;
mod upsert;

use anyhow::Result;
use diesel_counters::Dialect;

pub use counting::Counting;
pub use definition::{Count, Definition, Existing, Period};
pub use drift::Compared;
pub use expression::Expression;
pub use order::order;
pub use plan::{Plan, migration};
pub use recount::{Recount, Wrong};
pub use stored::{Stored, definitions, replace};
pub use target::Target;
pub use trigger::{LiveTrigger, Trigger, live_triggers};

/// The triggers of a definition, and what they need.
///
/// # Errors
///
/// If triggers of this database could not count the rows.
pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    match counting.database.0 {
        Dialect::PostgreSql => postgres::triggers(counting),
        Dialect::MySql => mysql::triggers(counting),
        Dialect::Sqlite => sqlite::triggers(counting),
    }
}
