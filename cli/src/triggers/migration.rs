//! The migration that creates triggers.

use anyhow::{Result, bail};
use diesel_counters::Dialect;

use super::plan::Plan;
use super::trigger::{FUNCTION, Trigger, VIEW};
use super::{mysql, postgres, sqlite};

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
    let drops = |plan: &Plan, is: &dyn Fn(&Trigger) -> bool| -> String {
        let triggers = plan.triggers.iter().rev().filter(|trigger| is(trigger));
        triggers.map(|trigger| &*trigger.drop).collect()
    };
    let all = plans.iter().rev().map(|plan| {
        let mut functions = plan
            .triggers
            .iter()
            .filter_map(|trigger| trigger.function.as_ref());
        let function = functions.next().map_or("", |function| &function.drop);
        let view = plan.counting.database.quoted(plan.name());
        format!(
            "{}{function}{}DROP VIEW IF EXISTS {view};\n",
            drops(plan, &|trigger| ![VIEW, FUNCTION]
                .contains(&&*trigger.event)),
            drops(plan, &|trigger| trigger.event == VIEW),
        )
    });
    let mut last = plans
        .iter()
        .map(|plan| drops(plan, &|trigger| trigger.event == FUNCTION));
    let last = last.find(|drop| !drop.is_empty()).unwrap_or_default();
    [
        match plans[0].counting.database.0 {
            Dialect::PostgreSql => postgres::up(plans),
            Dialect::MySql => mysql::up(plans),
            Dialect::Sqlite => sqlite::up(plans),
        },
        all.collect::<String>() + &last,
    ]
}
