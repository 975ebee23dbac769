//! The migration that creates triggers.

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::plan::Plan;
use super::{mysql, postgres, sqlite, stored};

/// Orders definitions. One that counts in the table whose rows another one counts comes first: the
/// migration counts the existing rows before there are triggers.
///
/// # Errors
///
/// If there is no such order.
pub fn in_order(mut plans: Vec<Plan>) -> Result<Vec<Plan>> {
    let mut ordered: Vec<Plan> = Vec::new();
    while !plans.is_empty() {
        let is_first = |plan: &Plan| {
            let mut others = plans.iter().filter(|other| other.name() != plan.name());
            !others.any(|other| other.counting.counts_in(&plan.counting.rows))
        };
        let Some(first) = plans.iter().position(is_first) else {
            let names: Vec<_> = plans.iter().map(Plan::name).collect();
            bail!(
                "{} count in the rows of each other: write them in several migrations",
                names.join(", ")
            );
        };
        ordered.push(plans.remove(first));
    }
    Ok(ordered)
}

/// The statements of a migration, and those that undo it.
pub fn migration(plans: &[Plan]) -> [String; 2] {
    let down = plans.iter().rev().map(|plan| {
        let triggers = plan.triggers.iter().rev();
        let triggers: String = triggers.map(|trigger| &*trigger.drop).collect();
        triggers + &stored::drop(&plan.counting)
    });
    [
        match plans[0].counting.database.0 {
            Dialect::PostgreSql => postgres::up(plans),
            Dialect::MySql => mysql::up(plans),
            Dialect::Sqlite => sqlite::up(plans),
        },
        down.collect(),
    ]
}
