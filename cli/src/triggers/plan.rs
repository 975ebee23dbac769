//! What a migration creates and drops.

use serde::Serialize;

use super::counting::Counting;
use super::definition::Existing;
use super::existing::{Names, Step};
use super::functions::drop_functions;
use super::snapshot::Made;
use super::starts::{Counter, Start};
use super::trigger::{Trigger, drop_statement};
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
    pub fn name(&self) -> &str {
        &self.counting.definition.name
    }

    /// Returns the counters in counter tables that no definition has counted in before.
    pub fn new_in_slots(&self) -> Vec<String> {
        let is_new = |counter: &&Counter| {
            counter.target.slots.is_some() && !matches!(counter.start, Start::Counted(_))
        };
        let new = self.counters.iter().filter(is_new);
        let names =
            new.map(|Counter { target, .. }| format!("{}.{}", target.table, target.names[0]));
        names.collect()
    }

    /// Whether it adds to existing counts, so that running it twice would add twice.
    pub fn adds_difference(&self) -> bool {
        let mut counters = self.counters.iter();
        let is_counted = counters.any(|counter| matches!(counter.start, Start::Counted(_)));
        is_counted && self.existing == Existing::Missing
    }

    /// Returns the counter tables whose counts it moves back to a column.
    pub fn emptied(&self) -> impl Iterator<Item = &Table> {
        self.counters.iter().filter_map(|one| match &one.start {
            Start::InSlots(before) => Some(&before.target.table),
            _ => None,
        })
    }

    /// Whether these triggers count something that this plan starts from. They must count until
    /// then, because one counter can be another one's weight.
    pub fn replaces(&self, gone: &Gone) -> bool {
        let mut before = self
            .counters
            .iter()
            .filter_map(|one| one.start.old_counter());
        gone.name == self.name() || before.any(|one| one.counting.definition.name == gone.name)
    }

    /// Returns the values for a migration's template. `names` says how its queries name tables.
    pub fn values<'p>(&'p self, names: Names, replaced: &[&'p Gone]) -> PlanValues<'p> {
        let counting = &self.counting;
        let counters = counting.counters();
        // Several triggers can call the same function, which is created only once.
        let of_triggers = self.triggers.iter();
        let mut functions: Vec<&str> = Vec::new();
        for function in of_triggers.filter_map(|trigger| trigger.function.as_deref()) {
            if !functions.contains(&function) {
                functions.push(function);
            }
        }
        PlanValues {
            drops: replaced.iter().map(|gone| &*gone.drops).collect(),
            rows: counting.rows.to_string(),
            counters: counters
                .map(|(table, name)| format!("{table}.{name}"))
                .collect(),
            functions,
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
    fn from(plan: &Plan) -> Self {
        let counting = &plan.counting;
        // Drop them in the reverse order.
        let triggers = plan.triggers.iter().rev();
        let mut drops: String = triggers.clone().map(|trigger| &*trigger.drop).collect();
        let functions: Vec<_> = triggers
            .clone()
            .filter(|trigger| trigger.function.is_some())
            .map(|trigger| trigger.name.clone())
            .collect();
        drops += &drop_functions(counting.rows.schema.as_deref(), &functions, false);
        Gone {
            name: plan.name().to_owned(),
            rows: Some(counting.rows.clone()),
            tables: triggers.map(|trigger| trigger.table.name.clone()).collect(),
            drops,
        }
    }
}

impl Gone {
    /// Finds the triggers that a migration has made for this definition of these rows.
    pub fn new(name: &str, rows: &str, made: &[Made], conn: &mut AnyConnection) -> Self {
        let database = conn.database();
        let rows_table = table(conn, rows).ok();
        let mut tables = Vec::new();
        let mut drops = String::new();
        let mut functions = Vec::new();
        for one in made.iter().rev() {
            let found = if one.table == rows {
                rows_table.clone()
            } else {
                table(conn, &one.table).ok()
            };
            let is_rule = one.trigger.ends_with(NO_MERGE);
            if database == POSTGRES && !is_rule {
                functions.push(one.trigger.clone());
            }
            if let Some(found) = &found {
                tables.push(found.name.clone());
            }
            drops += &drop_statement(&one.trigger, found.as_ref(), is_rule, database);
        }
        let schema = rows.rsplit_once('.').map(|(schema, _)| schema);
        // A table that was renamed still has its triggers.
        drops += &drop_functions(schema, &functions, rows_table.is_none());
        Gone {
            name: name.to_owned(),
            rows: rows_table,
            tables,
            drops,
        }
    }
}

/// The end of a rule's name.
pub const NO_MERGE: &str = "_no_merge";

/// Returns what a migration drops first, and what it drops before each of these plans.
pub fn by_plan<'g>(gone: &'g [Gone], plans: &[Plan]) -> (Vec<&'g Gone>, Vec<Vec<&'g Gone>>) {
    let mut first = Vec::new();
    let mut by_plan: Vec<Vec<&Gone>> = vec![Vec::new(); plans.len()];
    for one in gone {
        match plans.iter().position(|plan| plan.replaces(one)) {
            Some(index) => by_plan[index].push(one),
            None => first.push(one),
        }
    }
    (first, by_plan)
}
