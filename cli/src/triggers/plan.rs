//! What a migration creates and drops.

use anyhow::Result;
use serde::Serialize;

use super::correction::{Compared, Correction, Drift};
use super::counting::Counting;
use super::definition::{Existing, Functions};
use super::stored;
use super::trigger::{LiveTrigger, Trigger, TriggerTable};
use crate::catalogue::Table;
use crate::database::{Database, POSTGRES};

/// Triggers to create.
#[derive(Clone)]
pub struct Plan {
    pub counting: Counting,
    pub triggers: Vec<Trigger>,
    /// The entities whose counts the migration corrects, for each target.
    pub compared: Vec<Compared>,
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

impl Plan {
    pub fn name(&self) -> &str {
        &self.counting.definition.name
    }

    /// Whether the migration counts the existing rows.
    pub fn corrects_now(&self) -> bool {
        self.counting.definition.existing == Existing::Now
    }

    /// The names of its functions on PostgreSQL: a trigger and its function have the same name.
    pub fn functions(&self) -> Vec<String> {
        let definition = &self.counting.definition;
        let mut names = Vec::new();
        if definition.functions != Functions::ByEvent {
            names.push(definition.name.clone());
        }
        if definition.functions != Functions::One {
            let with_function = self.triggers.iter().filter(|one| one.function.is_some());
            names.extend(with_function.map(|trigger| trigger.name.clone()));
        }
        names
    }

    /// The values of the template of a migration.
    pub fn values(&self) -> Result<PlanValues<'_>> {
        let counting = &self.counting;
        let counters = counting.counters();
        // Several triggers can call one function, which is created once.
        let of_triggers = self.triggers.iter();
        let mut functions: Vec<&str> = Vec::new();
        for function in of_triggers.filter_map(|trigger| trigger.function.as_deref()) {
            if !functions.contains(&function) {
                functions.push(function);
            }
        }
        let targets = counting.targets.iter().zip(&self.compared);
        let corrections = targets.map(|(target, compared)| OfTarget {
            drift: counting.drift(target, compared, None),
            correction: counting.correction(target),
        });
        Ok(PlanValues {
            rows: counting.rows.to_string(),
            counters: counters
                .map(|(table, name)| format!("{table}.{name}"))
                .collect(),
            view: match counting.database {
                // The function of the INSERT has it.
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

/// Triggers to drop.
#[derive(Clone)]
pub struct Gone {
    pub name: String,
    /// The table of the rows, if it is there.
    pub rows: Option<Table>,
    triggers: Vec<DroppedTrigger>,
    /// The statement that drops the function, or the view with the definition.
    pub drop_definition: String,
}

#[derive(Clone)]
struct DroppedTrigger {
    name: String,
    table: TriggerTable,
    drop: String,
}

impl From<&Plan> for Gone {
    fn from(plan: &Plan) -> Self {
        // In the reverse order of their creation.
        let triggers = plan.triggers.iter().rev().map(|trigger| DroppedTrigger {
            name: trigger.name.clone(),
            table: trigger.table.clone(),
            drop: trigger.drop.clone(),
        });
        Gone {
            name: plan.name().to_owned(),
            rows: Some(plan.counting.rows.clone()),
            triggers: triggers.collect(),
            drop_definition: stored::drop(
                &plan.counting.rows.in_schema,
                plan.name(),
                &plan.functions(),
                plan.counting.database,
            ),
        }
    }
}

impl Gone {
    /// Triggers whose plan cannot be made any more, and which are added. `rows` is the table of
    /// their rows, if it is still there.
    pub fn unplanned(name: &str, rows: Option<Table>) -> Self {
        Gone {
            name: name.to_owned(),
            rows,
            triggers: Vec::new(),
            drop_definition: String::new(),
        }
    }

    /// Whether a trigger is one of them.
    pub fn has(&self, live: &LiveTrigger) -> bool {
        let is_it = |one: &DroppedTrigger| one.name == live.name && one.table == live.table;
        self.triggers.iter().any(is_it)
    }

    /// Adds triggers that are there.
    pub fn add(&mut self, live: &[&LiveTrigger], database: Database) {
        for trigger in live {
            let is_same =
                |known: &DroppedTrigger| known.name == trigger.name && known.table == trigger.table;
            if self.triggers.iter().any(is_same) {
                continue;
            }
            self.triggers.push(DroppedTrigger {
                name: trigger.name.clone(),
                table: trigger.table.clone(),
                drop: trigger.drop(database),
            });
        }
    }

    /// Does not drop triggers of these names.
    pub fn keep(&mut self, names: &[String]) {
        self.triggers
            .retain(|trigger| !names.contains(&trigger.name));
    }

    /// The statements that drop everything.
    pub fn drops_all(&self) -> String {
        self.drops(Which::All) + &self.drop_definition
    }

    /// The statements that drop its triggers of this table, or of all others.
    pub fn drops(&self, which: Which) -> String {
        let rows = self.rows.as_ref().map(TriggerTable::of);
        let is_of_rows = |trigger: &&DroppedTrigger| Some(&trigger.table) == rows.as_ref();
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
        let is_rule = self.event == "RULE";
        let kind = if is_rule { "RULE" } else { "TRIGGER" };
        let table = POSTGRES.quoted_in(Some(&self.table.schema), &self.table.name);
        format!("DROP {kind} IF EXISTS {name} ON {table};\n")
    }
}
