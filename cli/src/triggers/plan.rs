//! The migration that drops triggers and creates others.

use anyhow::Result;

use super::counting::Counting;
use super::definition::Existing;
use super::stored;
use super::trigger::{LiveTrigger, Trigger};
use crate::catalogue::Table;
use crate::database::{Database, Joined, POSTGRES};
use crate::partition::merged_slot;

/// Triggers to create.
#[derive(Clone)]
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

/// Triggers to drop.
#[derive(Clone)]
pub struct Gone {
    pub name: String,
    /// The tables of the triggers that are there, and among them that of the rows.
    pub rows: Option<Table>,
    triggers: Vec<DroppedTrigger>,
    /// The statement that drops the function, or the view with the definition.
    pub drop_definition: String,
}

#[derive(Clone)]
struct DroppedTrigger {
    name: String,
    table: (String, String),
    drop: String,
}

impl From<&Plan> for Gone {
    fn from(plan: &Plan) -> Self {
        let triggers = plan.triggers.iter().rev().map(|trigger| DroppedTrigger {
            name: trigger.name.clone(),
            table: trigger.table.clone(),
            drop: trigger.drop.clone(),
        });
        Gone {
            name: plan.name().to_owned(),
            rows: Some(plan.counting.rows.clone()),
            triggers: triggers.collect(),
            drop_definition: stored::drop(&plan.counting),
        }
    }
}

impl Gone {
    /// Triggers whose plan cannot be made any more. `rows` is the table of their rows, if it is still there, and
    /// `schema` the schema of their function.
    pub fn unplanned(name: &str, schema: &str, rows: Option<Table>, database: Database) -> Self {
        Gone {
            drop_definition: stored::drop_in(schema, name, database),
            name: name.to_owned(),
            triggers: Vec::new(),
            rows,
        }
    }

    /// Adds triggers that an earlier definition of this name has left behind.
    pub fn add(&mut self, live: &[&LiveTrigger], database: Database) {
        for trigger in live {
            let mut known = self.triggers.iter();
            if known.any(|known| known.name == trigger.name && known.table == trigger.table) {
                continue;
            }
            self.triggers.push(DroppedTrigger {
                name: trigger.name.clone(),
                table: trigger.table.clone(),
                drop: trigger.drop(database),
            });
        }
    }

    /// The statements that drop its triggers of this table, or of all others.
    pub fn drops(&self, which: Which) -> String {
        let is_of_rows = |trigger: &&DroppedTrigger| {
            let mut rows = self.rows.iter();
            rows.any(|rows| trigger.table == (rows.in_schema.clone(), rows.name.clone()))
        };
        let dropped = self.triggers.iter().filter(|trigger| match which {
            Which::All => true,
            Which::OfRows => is_of_rows(trigger),
            Which::OfOthers => !is_of_rows(trigger),
        });
        dropped.map(|trigger| &*trigger.drop).collect()
    }
}

/// The triggers of a definition, by their tables.
#[derive(Clone, Copy)]
pub enum Which {
    All,
    /// Those of the table of the rows.
    OfRows,
    /// Those of the tables that the rows refer to.
    OfOthers,
}

impl LiveTrigger {
    fn drop(&self, database: Database) -> String {
        let name = database.quoted(&self.name);
        if database != POSTGRES {
            return format!("DROP TRIGGER IF EXISTS {name};\n");
        }
        let kind = if self.event == "RULE" {
            "RULE"
        } else {
            "TRIGGER"
        };
        let table = POSTGRES.quoted_in(Some(&self.table.0), &self.table.1);
        format!("DROP {kind} IF EXISTS {name} ON {table};\n")
    }
}

/// The statements of a migration, below a comment: what is gone is dropped, and what is new is created.
pub fn migration(gone: &[Gone], new: &[Plan], comment: &str) -> String {
    match new.first() {
        Some(first) => comment.to_owned() + &(first.counting.sql.up)(new, gone),
        None => {
            let drops = gone.iter().rev();
            drops
                .map(|gone| gone.drops(Which::All) + &gone.drop_definition)
                .collect()
        }
    }
}
