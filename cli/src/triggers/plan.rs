//! What a migration creates and drops.

use serde::Serialize;

use super::counting::Counting;
use super::definition::Existing;
use super::existing::{Names, Step};
use super::functions::drop_functions;
use super::snapshot::MadeTrigger;
use super::starts::{Counter, Start};
use super::trigger::{Trigger, drop_rule, drop_trigger};
use crate::catalogue::{Table, table};
use crate::connection::AnyConnection;
use crate::database::POSTGRES;

/// Triggers to create.
#[derive(Clone)]
pub struct Plan {
    pub counting: Counting,
    pub triggers: Vec<Trigger>,
    pub existing: Existing,
    /// In the order of the targets and their names.
    pub counters: Vec<Counter>,
}

/// What a migration's template needs from a plan.
#[derive(Serialize)]
pub struct PlanValues<'p> {
    /// The statements that drop what it replaces.
    drops: Vec<&'p str>,
    /// For the heading.
    rows: String,
    counters: Vec<String>,
    /// The functions that the triggers call.
    functions: Vec<&'p str>,
    triggers: Vec<&'p Trigger>,
    existing: ExistingRows<'p>,
}

/// The statements that count the rows that exist before the triggers.
#[derive(Serialize)]
struct ExistingRows<'p> {
    name: &'p str,
    is_later: bool,
    steps: Vec<Step>,
}

impl Plan {
    /// Returns the definition's name.
    pub fn name(&self) -> &str {
        &self.counting.definition.name
    }

    /// Returns the counters in counter tables that no definition has counted in before.
    pub fn new_in_slots(&self) -> Vec<String> {
        let is_new = |counter: &&Counter| {
            counter.target.slots.is_some() && !matches!(counter.start, Start::Counted(_))
        };
        let new = self.counters.iter().filter(is_new);
        new.map(|counter| counter.target.only_counter_name())
            .collect()
    }

    /// Whether it adds to existing counts, so that running it twice would add twice.
    pub fn adds_difference(&self) -> bool {
        let mut counters = self.counters.iter();
        let is_counted = counters.any(|counter| matches!(counter.start, Start::Counted(_)));
        is_counted && self.existing == Existing::Missing
    }

    /// Returns the counter tables whose counts it moves back to a column.
    pub fn emptied(&self) -> impl Iterator<Item = &Table> {
        let counters = self.counters.iter();
        counters.filter_map(|counter| match &counter.start {
            Start::InSlots(old_counter) => Some(&old_counter.target.table),
            _ => None,
        })
    }

    /// Whether these triggers are dropped only when the plan's own are created, because the plan
    /// starts from what they count. They must count until then: one counter can be another one's
    /// weight.
    fn replaces(&self, gone: &Gone) -> bool {
        let counters = self.counters.iter();
        let mut old_counters = counters.filter_map(|counter| counter.start.old_counter());
        gone.name == self.name()
            || old_counters.any(|old| old.counting.definition.name == gone.name)
    }

    /// Returns the statements that create the functions of its triggers. Several triggers can call
    /// the same function, which is created only once.
    fn functions(&self) -> Vec<&str> {
        let mut functions: Vec<&str> = Vec::new();
        let triggers = self.triggers.iter();
        for function in triggers.filter_map(|trigger| trigger.function.as_deref()) {
            if !functions.contains(&function) {
                functions.push(function);
            }
        }
        functions
    }

    /// Returns the values for a migration's template. `names` says how its queries name tables, and
    /// `replaced` is dropped right before.
    fn values<'p>(&'p self, names: Names, replaced: &[&'p Gone]) -> PlanValues<'p> {
        let counting = &self.counting;
        let counters = counting.counters();
        PlanValues {
            drops: replaced.iter().map(|gone| &*gone.drops).collect(),
            rows: counting.rows.to_string(),
            counters: counters
                .map(|(table, name)| format!("{table}.{name}"))
                .collect(),
            functions: self.functions(),
            triggers: self.triggers.iter().collect(),
            existing: ExistingRows {
                name: self.name(),
                is_later: self.existing == Existing::Later,
                steps: self.steps(names),
            },
        }
    }
}

/// Triggers to drop.
#[derive(Clone)]
pub struct Gone {
    pub name: String,
    /// The table of the rows, if it exists.
    pub rows: Option<Table>,
    /// The tables that its triggers are on.
    pub tables: Vec<String>,
    /// The statements that drop everything.
    pub drops: String,
}

impl From<&Plan> for Gone {
    /// Returns what drops everything that a plan creates.
    fn from(plan: &Plan) -> Self {
        let rows = &plan.counting.rows;
        let mut tables = Vec::new();
        let mut drops = String::new();
        let mut functions = Vec::new();
        // Drop them in the reverse order.
        for trigger in plan.triggers.iter().rev() {
            tables.push(trigger.table.name.clone());
            drops += &trigger.drop;
            // A function has the name of its trigger.
            if trigger.function.is_some() {
                functions.push(trigger.name.clone());
            }
        }
        // The triggers are dropped by then.
        let cascades = false;
        drops += &drop_functions(rows.schema.as_deref(), &functions, cascades);
        Gone {
            name: plan.name().to_owned(),
            rows: Some(rows.clone()),
            tables,
            drops,
        }
    }
}

impl Gone {
    /// Returns what drops the triggers that a migration has made for a definition. `name` is the
    /// definition's name, and `rows` the name of the table whose rows it counts.
    pub fn new(name: &str, rows: &str, made: &[MadeTrigger], conn: &mut AnyConnection) -> Self {
        let database = conn.database();
        let rows_table = table(conn, rows).ok();
        let mut tables = Vec::new();
        let mut drops = String::new();
        let mut functions = Vec::new();
        for MadeTrigger {
            trigger,
            table: table_name,
            ..
        } in made.iter().rev()
        {
            let found = if table_name == rows {
                rows_table.clone()
            } else {
                table(conn, table_name).ok()
            };
            if let Some(found) = &found {
                tables.push(found.name.clone());
            }
            if trigger.ends_with(NO_MERGE) {
                drops += &drop_rule(trigger, found.as_ref());
                continue;
            }
            drops += &drop_trigger(trigger, found.as_ref(), database);
            // A function has the name of its trigger.
            if database == POSTGRES {
                functions.push(trigger.clone());
            }
        }
        let schema = rows.rsplit_once('.').map(|(schema, _)| schema);
        // If the table isn't found, it may have been renamed. Then it still has its triggers, and
        // they are dropped with their functions.
        let cascades = rows_table.is_none();
        drops += &drop_functions(schema, &functions, cascades);
        Gone {
            name: name.to_owned(),
            rows: rows_table,
            tables,
            drops,
        }
    }
}

/// The end of the name of the rule that prevents MERGE on PostgreSQL.
pub const NO_MERGE: &str = "_no_merge";

/// Returns the triggers that a migration drops first, because no plan replaces them.
pub fn dropped_first<'g>(gone: &'g [Gone], plans: &[Plan]) -> Vec<&'g Gone> {
    let is_replaced = |gone: &Gone| plans.iter().any(|plan| plan.replaces(gone));
    gone.iter().filter(|gone| !is_replaced(gone)).collect()
}

/// Returns every plan's values for a migration's template. `names` says how its queries name
/// tables. If several plans replace the same triggers, the first of them drops these.
pub fn values_of_plans<'p>(
    plans: &'p [Plan],
    gone: &'p [Gone],
    names: Names,
) -> Vec<PlanValues<'p>> {
    let mut replaced: Vec<Vec<&Gone>> = vec![Vec::new(); plans.len()];
    for gone in gone {
        if let Some(index) = plans.iter().position(|plan| plan.replaces(gone)) {
            replaced[index].push(gone);
        }
    }
    let pairs = plans.iter().zip(&replaced);
    pairs
        .map(|(plan, replaced)| plan.values(names, replaced))
        .collect()
}
