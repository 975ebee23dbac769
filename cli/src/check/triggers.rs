//! Compares the triggers in the database with those that the definitions in `counters.toml` need.

use std::path::Path;

use anyhow::Result;

use super::migrations::Migrated;
use super::notes::{cascades, other_triggers};
use super::slot_function::slot_function;
use super::storage::storage;
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::{MYSQL, POSTGRES};
use crate::fault::{Fault, Severity, TableFaults, wrong};
use crate::triggers::{Count, Counting, Definition, File, LiveTrigger, Plan, Trigger};

/// Checks every definition that counts in one of these tables, or all of them if `tables` is empty.
/// Returns their faults with the table of the rows, and the triggers that the file asks for.
pub fn check(
    file: &File,
    migrations: Option<&Path>,
    tables: &[Table],
    live: &[LiveTrigger],
    conn: &mut AnyConnection,
) -> Result<(Vec<TableFaults>, Vec<Trigger>)> {
    let mut plans = Vec::new();
    for definition in &file.triggers {
        let plan = Counting::new(definition.clone(), conn).and_then(Plan::new);
        plans.push((definition, plan));
    }
    let good_plans = plans.iter().flat_map(|(_, plan)| plan);
    let own: Vec<Trigger> = good_plans.flat_map(|plan| plan.triggers.clone()).collect();
    let mut all: Vec<TableFaults> = Vec::new();
    let migrated = Migrated::read(file, migrations, conn)?;
    all.extend(migrated.branches());
    if tables.is_empty() {
        let without_plan = plans.iter().filter(|(_, plan)| plan.is_err());
        let unknown: Vec<_> = without_plan
            .map(|(definition, _)| &*definition.name)
            .collect();
        all.extend(migrated.leftovers(file, &own, &unknown, live, conn));
    }
    let mut earlier = Vec::new();
    for (definition, plan) in plans {
        let table = definition.rows.clone();
        let is_selected = counts_in(definition, tables);
        let faults = definition_faults(definition, plan, &mut earlier, &own, live, conn);
        let mut faults = migrated.with_note(definition, faults);
        // If several definitions count the same rows, keep the same note only once.
        faults.retain(|fault| {
            let mut known = all.iter().flat_map(|known| &known.faults);
            fault.severity != Severity::Note || !known.any(|other| other.what == fault.what)
        });
        if is_selected {
            all.push(TableFaults { table, faults });
        }
    }
    Ok((by_table(all), own))
}

/// Groups the faults by table.
fn by_table(all: Vec<TableFaults>) -> Vec<TableFaults> {
    let mut by_table: Vec<TableFaults> = Vec::new();
    for TableFaults { table, faults } in all {
        match by_table.iter_mut().find(|known| known.table == table) {
            Some(known) => known.faults.extend(faults),
            None => by_table.push(TableFaults { table, faults }),
        }
    }
    by_table
}

/// Whether a definition counts in one of these tables. Always true if there are no tables.
pub fn counts_in(definition: &Definition, tables: &[Table]) -> bool {
    let is_named = |count: &Count| tables.iter().any(|table| table.is_named(&count.table));
    tables.is_empty() || definition.counts.iter().any(is_named)
}

/// Returns the faults of a definition. `earlier` has the definitions before it, and `own` the
/// triggers of all definitions.
fn definition_faults(
    definition: &Definition,
    plan: Result<Plan>,
    earlier: &mut Vec<Counting>,
    own: &[Trigger],
    live: &[LiveTrigger],
    conn: &mut AnyConnection,
) -> Vec<Fault> {
    let compared = plan.and_then(|plan| plan_faults(plan, earlier, own, live, conn));
    compared.unwrap_or_else(|error| {
        let Definition { name, rows, .. } = definition;
        let what = format!("The triggers {name} count the rows of {rows}, but {error:#}.");
        let cost = "They fail, or don't count these rows.";
        vec![wrong("definition", what, cost).remedy(
            "Change their definition, or the tables, and write a migration: `diesel-counters generate \
             triggers NAME`.",
        )]
    })
}

/// Returns the faults of a definition that fits its tables, and adds it to the earlier ones.
fn plan_faults(
    plan: Plan,
    earlier: &mut Vec<Counting>,
    own: &[Trigger],
    live: &[LiveTrigger],
    conn: &mut AnyConnection,
) -> Result<Vec<Fault>> {
    let Plan {
        counting, triggers, ..
    } = plan;
    // Counter tables are checked separately.
    let columns = counting
        .targets
        .iter()
        .filter(|target| target.slots.is_none());
    let tables = columns.map(|target| &target.table);
    let mut faults = Vec::new();
    for table in [&counting.rows].into_iter().chain(tables.clone()) {
        faults.extend(storage(table, counting.database));
    }
    faults.extend(tables.filter_map(|table| other_triggers(table, own, live)));
    faults.extend(cascades(&counting, conn)?);
    faults.extend(slot_function(&counting, conn)?);
    for other in earlier.iter() {
        faults.extend(counted_twice(other, &counting));
    }
    for trigger in &triggers {
        faults.extend(trigger_fault(trigger, &counting, live));
    }
    // Several triggers can call the same function, and then have the same fault.
    let mut seen = Vec::new();
    faults.retain(|fault| {
        let is_new = !seen.contains(&fault.what);
        seen.push(fault.what.clone());
        is_new
    });
    earlier.push(counting);
    Ok(faults)
}

/// Returns the fault of a trigger that should exist, if it doesn't or has changed.
fn trigger_fault(trigger: &Trigger, counting: &Counting, live: &[LiveTrigger]) -> Option<Fault> {
    let of_table = || live.iter().filter(|live| live.table == trigger.table);
    // A trigger that does the same may have another name.
    if let Some(same) = of_table().find(|live| live.is_like(trigger)) {
        return disabled(same, counting);
    }
    let (mut fault, is_hidden) = match of_table().find(|live| live.name == trigger.name) {
        Some(live) => (changed(live), live.body.is_empty()),
        None => (missing(trigger), true),
    };
    let name = &counting.definition.name;
    let mut remedy = format!(
        "If its migration has not run yet, run it. Otherwise create it again; then run \
         `diesel-counters recount {name}`, with --lower if counts could be too high."
    );
    // MySQL hides triggers and their bodies from an account without this right.
    if is_hidden && counting.database == MYSQL {
        let table = MYSQL.quoted(&trigger.table.name);
        remedy += &format!(
            " It may exist, but this account isn't allowed to see it: GRANT TRIGGER ON {table} to \
             it."
        );
    }
    fault.sql = creating_again(trigger, counting, live);
    Some(fault.remedy(remedy))
}

/// Returns the fault of a trigger that has the right name, but does something else.
fn changed(live: &LiveTrigger) -> Fault {
    let what = format!("The trigger {} is not what its definition says.", live.name);
    let cost = "Somebody changed it, or another version of diesel-counters wrote it. It may not \
                count what its definition says.";
    wrong("trigger_changed", what, cost)
}

/// Returns the fault of a trigger, or of a rule on PostgreSQL, that doesn't exist.
fn missing(trigger: &Trigger) -> Fault {
    let is_rule = trigger.event == "RULE";
    let kind = if is_rule { "rule" } else { "trigger" };
    let what = format!("{} has no {kind} {}.", trigger.table.name, trigger.name);
    let cost = "The rows that it should count are not counted.";
    wrong("trigger_missing", what, cost)
}

/// Returns the statements that drop a trigger and create it again.
fn creating_again(trigger: &Trigger, counting: &Counting, live: &[LiveTrigger]) -> Vec<String> {
    let mut statements = vec![counting.database.trigger_session(), trigger.drop.clone()];
    statements.extend(drops_of_replaced(trigger, live));
    // A function of this name may exist with another body.
    if let Some(create) = &trigger.function {
        statements.push(create.replacen("CREATE", "CREATE OR REPLACE", 1));
    }
    statements.push(trigger.create.clone());
    statements.retain(|sql| !sql.is_empty());
    let trimmed = statements.iter().map(|sql| sql.trim_end().to_owned());
    trimmed.collect()
}

/// Returns the statements that drop the trigger from a table that was replaced by a copy. Its
/// function counted the rows of the old table, and will now count those of the copy.
fn drops_of_replaced(trigger: &Trigger, live: &[LiveTrigger]) -> Vec<String> {
    let function = format!(".{}", POSTGRES.quoted(&trigger.name));
    let has_moved = |live: &&LiveTrigger| {
        let called = live.function.as_ref();
        let is_called = called.is_some_and(|name| name.ends_with(&function));
        is_called && live.table.schema == trigger.table.schema && live.table != trigger.table
    };
    let drop = |live: &LiveTrigger| {
        let table = POSTGRES.quoted_in(Some(&live.table.schema), &live.table.name);
        format!("DROP TRIGGER {} ON {table};", POSTGRES.quoted(&live.name))
    };
    live.iter().filter(has_moved).map(drop).collect()
}

/// Returns the fault of a trigger that matches its definition, if it doesn't always run.
fn disabled(live: &LiveTrigger, counting: &Counting) -> Option<Fault> {
    let why = live.disabled.as_ref()?;
    let name = &counting.definition.name;
    let table = counting.database.table_name(&counting.rows);
    let what = format!("The trigger {} does not always run: {why}.", live.name);
    let cost = "Rows that are written meanwhile are not counted, or counted twice.";
    let remedy = format!("Enable it; then run `diesel-counters recount {name}`.");
    let quoted = counting.database.quoted(&live.name);
    let enable = format!("ALTER TABLE {table} ENABLE TRIGGER {quoted};");
    let fault = wrong("trigger_disabled", what, cost).remedy(remedy);
    Some(fault.run(enable))
}

/// Returns a fault if two definitions count in the same counter.
fn counted_twice(earlier: &Counting, later: &Counting) -> Option<Fault> {
    let (table, counter) = later.shared_counter(earlier)?;
    let first = &earlier.definition.name;
    let second = &later.definition.name;
    let what = format!("The triggers {first} and {second} both count in {table}.{counter}.");
    let cost = "The counter has the rows of both, and a recount sets it to the rows of one.";
    Some(wrong("definition", what, cost).remedy(
        "Take one of them out of counters.toml, write a migration, and then run `diesel-counters \
         recount` for the other one.",
    ))
}
