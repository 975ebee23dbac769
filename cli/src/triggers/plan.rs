//! A definition with its triggers, as a migration creates them.

use super::counting::Counting;
use super::trigger::Trigger;

/// A definition with its triggers.
pub struct Plan {
    pub counting: Counting,
    pub triggers: Vec<Trigger>,
}

impl Plan {
    pub fn name(&self) -> &str {
        &self.counting.definition.name
    }

    /// What the migration says of it.
    pub fn heading(&self) -> String {
        let (rows, counters) = (
            &self.counting.rows,
            self.counting.counters_that(|_, _| true),
        );
        format!("-- Counts the rows of {rows} in {counters}.\n")
    }

    /// The statements that create the triggers.
    pub fn create(&self) -> String {
        let triggers = self.triggers.iter();
        triggers.map(|trigger| &*trigger.create).collect()
    }

    /// Adds the difference between the rows and the counters.
    pub fn existing(&self) -> String {
        let counting = &self.counting;
        let statements = counting.targets.iter().map(|target| {
            let drift = counting.drift(target, counting.compared(target));
            let merged = counting.database.0.merged_slot();
            counting.correct(target, &drift, &merged) + ";\n"
        });
        statements.collect()
    }
}
