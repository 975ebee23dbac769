//! The migration that creates triggers.

use anyhow::Result;

use super::counting::Counting;
use super::definition::Existing;
use super::stored;
use super::trigger::Trigger;
use crate::database::Joined;
use crate::partition::merged_slot;

pub struct Plan {
    pub counting: Counting,
    pub triggers: Vec<Trigger>,
}

impl Plan {
    pub fn new(counting: Counting) -> Result<Self> {
        let triggers = (counting.sql.triggers)(&counting)?;
        Ok(Plan { counting, triggers })
    }

    pub fn name(&self) -> &str {
        &self.counting.definition.name
    }

    /// What the migration says of it.
    pub fn heading(&self) -> String {
        let counters = self.counting.counters();
        let counters = counters.map(|(table, name)| format!("{table}.{name}"));
        let (rows, counters) = (&self.counting.rows, counters.joined(", "));
        format!("-- Counts the rows of {rows} in {counters}.\n")
    }

    pub fn create(&self) -> String {
        let triggers = self.triggers.iter();
        triggers.map(|trigger| &*trigger.create).collect()
    }

    /// Adds the difference between the rows and the counters.
    pub fn existing(&self) -> String {
        let counting = &self.counting;
        if counting.definition.existing == Existing::Later {
            let name = self.name();
            let run = format!("run `diesel-counters recount {name}`");
            return format!("-- To count the existing rows, {run}.\n");
        }
        let statements = counting.targets.iter().map(|target| {
            let drift = counting.drift(target, counting.compared(target), None);
            let merged = merged_slot(counting.database);
            counting.correct(target, &drift, &merged) + ";\n"
        });
        let adds = "adds the difference between the rows and the counters";
        format!("-- Counts the existing rows: {adds}.\n") + &statements.collect::<String>()
    }
}

/// The statements of a migration, below a comment, and those that undo it.
pub fn migration(plans: &[Plan], comment: &str) -> [String; 2] {
    let down = plans.iter().rev().map(|plan| {
        let triggers = plan.triggers.iter().rev();
        let triggers: String = triggers.map(|trigger| &*trigger.drop).collect();
        triggers + &stored::drop(&plan.counting)
    });
    let up = (plans[0].counting.sql.up)(plans);
    [comment.to_owned() + &up, down.collect()]
}
