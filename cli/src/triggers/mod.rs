//! Triggers that count the rows of a table: a definition and the tables in, triggers out. One file a
//! database.

mod counting;
mod definition;
mod drift;
mod expression;
mod migration;
mod mysql;
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
pub use definition::{Count, Definition, Period, SLOTS};
pub use drift::Compared;
pub use expression::Expression;
pub use migration::{in_order, migration};
pub use plan::Plan;
pub use recount::{Lines, Recount, Wrong};
pub use stored::{Stored, create as stored, definitions};
pub use trigger::{LiveTrigger, Trigger, live_triggers};

/// The triggers of a definition, and what they need.
///
/// # Errors
///
/// If triggers of this database could not count the rows.
pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    match counting.database.0 {
        Dialect::PostgreSql => Ok(postgres::triggers(counting)?),
        Dialect::MySql => mysql::triggers(counting),
        Dialect::Sqlite => sqlite::triggers(counting),
    }
}

/// A definition with its triggers, for a migration.
pub fn plan(counting: Counting) -> Result<Plan> {
    let triggers = triggers(&counting)?;
    Ok(Plan { counting, triggers })
}

/// What the triggers do not count, and what to do about it.
pub fn not_counted(plan: &Plan) -> Vec<String> {
    let rows = &plan.counting.rows;
    let sources = plan
        .counting
        .targets
        .iter()
        .flat_map(|target| &target.sources);
    let columns = sources.flat_map(|source| &source.entity);
    let mut names: Vec<_> = columns
        .filter(|column| column.nullable)
        .map(|column| &*column.name)
        .collect();
    names.sort();
    names.dedup();
    let without_key = (!names.is_empty()).then(|| {
        let names = names.join(" or ");
        format!("Rows of {rows} whose {names} is NULL, for the counters of that column.")
    });
    let more = match plan.counting.database.0 {
        Dialect::PostgreSql => postgres::not_counted(plan),
        Dialect::MySql => mysql::not_counted(plan),
        Dialect::Sqlite => sqlite::not_counted(plan),
    };
    without_key.into_iter().chain(more).collect()
}
