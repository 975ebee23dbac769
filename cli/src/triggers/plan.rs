//! The migration that creates triggers.

use anyhow::Result;
use serde::Serialize;

use super::correction::{Correction, Drift};
use super::counting::Counting;
use super::definition::Existing;
use super::stored;
use super::trigger::Trigger;
use super::{mysql, postgres, sqlite};
use crate::database::{MYSQL, POSTGRES};
use crate::layout::broken;
use crate::partition::merged_slot;

pub struct Plan {
    pub counting: Counting,
    pub triggers: Vec<Trigger>,
}

/// What a migration writes of a plan.
#[derive(Serialize)]
pub struct PlanValues<'p> {
    /// For the heading.
    rows: String,
    counters: Vec<String>,
    /// The statements that store the definition, where no function has it.
    view: String,
    /// The functions that the triggers call.
    functions: Vec<&'p str>,
    triggers: Vec<&'p Trigger>,
    existing: ExistingRows<'p>,
}

/// The rows that exist before the triggers.
#[derive(Serialize)]
struct ExistingRows<'p> {
    name: &'p str,
    is_later: bool,
    corrections: Vec<OfTarget>,
}

/// What corrects the counts of one table.
#[derive(Serialize)]
struct OfTarget {
    drift: Drift,
    correction: Correction,
}

/// The triggers of a definition. It is an error if triggers of this database could not count the rows.
pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    match counting.database {
        POSTGRES => postgres::triggers(counting),
        MYSQL => mysql::triggers(counting),
        _ => sqlite::triggers(counting),
    }
}

impl Plan {
    pub fn new(counting: Counting) -> Result<Self> {
        let triggers = triggers(&counting)?;
        Ok(Plan { counting, triggers })
    }

    pub fn name(&self) -> &str {
        &self.counting.definition.name
    }

    pub fn values(&self) -> Result<PlanValues<'_>> {
        let counting = &self.counting;
        let counters = counting.counters();
        let mut functions: Vec<&str> = Vec::new();
        for function in self
            .triggers
            .iter()
            .filter_map(|one| one.function.as_deref())
        {
            if !functions.contains(&function) {
                functions.push(function);
            }
        }
        let merged = merged_slot(counting.database);
        let corrections = counting.targets.iter().map(|target| OfTarget {
            drift: counting.drift(target, counting.compared(target), None),
            correction: counting.correction(target, &merged),
        });
        Ok(PlanValues {
            rows: counting.rows.to_string(),
            counters: counters
                .map(|(table, name)| format!("{table}.{name}"))
                .collect(),
            view: match counting.database {
                POSTGRES => String::new(),
                _ => stored::create(counting)?,
            },
            functions,
            triggers: self.triggers.iter().collect(),
            existing: ExistingRows {
                name: self.name(),
                is_later: counting.definition.existing == Existing::Later,
                corrections: corrections.collect(),
            },
        })
    }
}

/// The statements of a migration, below a comment, and those that undo it.
pub fn migration(plans: &[Plan], comment: &str) -> Result<[String; 2]> {
    let down = plans.iter().rev().map(|plan| {
        let triggers = plan.triggers.iter().rev();
        let triggers: String = triggers.map(|trigger| &*trigger.drop).collect();
        triggers + &stored::drop(&plan.counting)
    });
    let up = match plans[0].counting.database {
        POSTGRES => postgres::up(plans)?,
        MYSQL => mysql::up(plans)?,
        _ => sqlite::up(plans)?,
    };
    Ok([
        broken(&(comment.to_owned() + &up)),
        broken(&down.collect::<String>()),
    ])
}
