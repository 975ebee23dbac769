//! What a migration creates and drops.

use anyhow::Result;
use serde::Serialize;

use super::counting::Counting;
use super::definition::Existing;
use super::existing::Names;
use super::statement::COUNTED;
use super::stored;
use super::trigger::{LiveTrigger, Trigger, TriggerTable};
use super::values::Addition;
use crate::catalogue::Table;
use crate::database::{Database, POSTGRES};

/// Triggers to create.
#[derive(Clone)]
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

/// What counts the rows that are there before the triggers.
#[derive(Serialize)]
struct ExistingRows<'p> {
    name: &'p str,
    is_later: bool,
    /// What the sums of an entity are called.
    all_rows: String,
    additions: Vec<Addition>,
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
        let with_function = self.triggers.iter().filter(|one| one.function.is_some());
        with_function.map(|trigger| trigger.name.clone()).collect()
    }

    /// The values of the template of a migration. `names` are those of its queries.
    pub fn values(&self, names: Names) -> Result<PlanValues<'_>> {
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
                all_rows: counting.free(COUNTED),
                additions: counting.existing(names),
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
                plan.counting.rows.schema.as_deref(),
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
                drop: trigger.drop(self.rows.as_ref(), database),
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
        self.drops() + &self.drop_definition
    }

    /// The statements that drop its triggers.
    pub fn drops(&self) -> String {
        self.triggers.iter().map(|trigger| &*trigger.drop).collect()
    }

    /// The tables of its triggers.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        self.triggers.iter().map(|trigger| &*trigger.table.name)
    }
}

impl LiveTrigger {
    /// `rows` is the table of the definition's rows.
    fn drop(&self, rows: Option<&Table>, database: Database) -> String {
        let name = database.quoted(&self.name);
        if database != POSTGRES {
            return format!("DROP TRIGGER IF EXISTS {name};\n");
        }
        let is_rule = self.event == "RULE";
        let kind = if is_rule { "RULE" } else { "TRIGGER" };
        let table = match rows {
            Some(rows) if TriggerTable::of(rows) == self.table => POSTGRES.table_name(rows),
            _ => POSTGRES.quoted_in(Some(&self.table.schema), &self.table.name),
        };
        format!("DROP {kind} IF EXISTS {name} ON {table};\n")
    }
}
