//! A definition with its triggers, as a migration creates them.

use std::sync::Arc;

use anyhow::Result;
use diesel_counters::__private::{CountedTable, StoredTriggers};

use super::counting::Counting;
use super::stored::COLUMN;
use super::target::Target;
use super::trigger::Trigger;

/// A definition with its triggers.
pub struct Plan {
    pub counting: Counting,
    pub triggers: Vec<Trigger>,
    /// Creates the view of the definition.
    pub definition: String,
}

impl Plan {
    pub fn new(counting: Counting, triggers: Vec<Trigger>) -> Result<Self> {
        let database = counting.database;
        let or_replace = if counting.sql.keeps_half {
            "OR REPLACE "
        } else {
            ""
        };
        let stored = StoredTriggers {
            definition: serde_json::to_value(&counting.definition)?,
            targets: counting
                .targets
                .iter()
                .map(|target| Arc::new(stored(target, &counting)))
                .collect(),
        };
        let stored = serde_json::to_string(&stored)?;
        Ok(Plan {
            triggers,
            definition: format!(
                "CREATE {or_replace}VIEW {} AS SELECT {} AS {COLUMN};\n",
                database.quoted(&counting.definition.name),
                database.literal(&stored),
            ),
            counting,
        })
    }

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

    /// The statements that create what has this event, or any other.
    pub fn create(&self, is: impl Fn(&Trigger) -> bool) -> String {
        let triggers = self.triggers.iter().filter(|trigger| is(trigger));
        triggers.map(|trigger| &*trigger.create).collect()
    }

    /// Adds the difference between the rows and the counters.
    pub fn existing(&self) -> String {
        let counting = &self.counting;
        let statements = counting
            .targets
            .iter()
            .map(|target| counting.correct(target) + ";\n");
        statements.collect()
    }
}

/// What a recount reads in the database.
fn stored(target: &Target, counting: &Counting) -> CountedTable {
    let slots = target.slots.as_ref();
    CountedTable {
        view: target.drift.clone(),
        schema: target.table.schema.clone(),
        table: target.table.name.clone(),
        key: target.entity.iter().map(|key| key.name.clone()).collect(),
        slots: slots.map(|slots| slots.each_ref().map(|column| column.name.clone())),
        by_day: counting.day.is_some() && slots.is_some(),
        counters: target.names.clone(),
    }
}
