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
    let mut known = Vec::new();
    for definition in &file.triggers {
        let plan = Counting::new(definition.clone(), conn).and_then(Plan::new);
        known.push((definition, plan));
    }
    let plans = known.iter().flat_map(|(_, plan)| plan);
    let own: Vec<Trigger> = plans.flat_map(|plan| plan.triggers.clone()).collect();
    let mut all: Vec<TableFaults> = Vec::new();
    let migrated = Migrated::read(file, migrations, conn)?;
    all.extend(migrated.branches());
    if tables.is_empty() {
        let without_plan = known.iter().filter(|(_, plan)| plan.is_err());
        let unknown: Vec<_> = without_plan.map(|(one, _)| &*one.name).collect();
        all.extend(migrated.left(file, &own, &unknown, live, conn));
    }
    let mut before = Vec::new();
    for (definition, plan) in known {
        let table = definition.rows.clone();
        let is_selected = counts_in(definition, tables);
        let faults = definition_faults(definition, plan, &mut before, &own, live, conn);
        let mut faults = migrated.with_note(definition, faults);
        // If several definitions count the same rows, keep the same note only once.
        let mut notes = all.iter().flat_map(|known| &known.faults);
        faults.retain(|fault| {
            fault.severity != Severity::Note || !notes.any(|other| other.what == fault.what)
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
    for one in all {
        match by_table.iter_mut().find(|known| known.table == one.table) {
            Some(known) => known.faults.extend(one.faults),
            None => by_table.push(one),
        }
    }
    by_table
}

/// Whether a definition counts in one of these tables. Always true if there are no tables.
pub fn counts_in(definition: &Definition, tables: &[Table]) -> bool {
    let is_named = |count: &Count| tables.iter().any(|table| table.is_named(&count.table));
    tables.is_empty() || definition.counts.iter().any(is_named)
}

/// Returns the faults of a definition. `before` has the definitions before it, and `own` the
/// triggers of all definitions.
fn definition_faults(
    definition: &Definition,
    plan: Result<Plan>,
    before: &mut Vec<Counting>,
    own: &[Trigger],
    live: &[LiveTrigger],
    conn: &mut AnyConnection,
) -> Vec<Fault> {
    let compared = plan.and_then(
        |Plan {
             counting, triggers, ..
         }| {
            let targets = counting.targets.iter();
            let columns = targets.filter(|target| target.slots.is_none());
            // Counter tables are checked separately.
            let tables = columns.map(|target| &target.table);
            let rows_and_columns = [&counting.rows].into_iter().chain(tables.clone());
            let database = counting.database;
            let mut faults: Vec<_> = rows_and_columns
                .filter_map(|table| storage(table, database))
                .collect();
            faults.extend(tables.filter_map(|table| other_triggers(table, own, live)));
            faults.extend(cascades(&counting, conn)?);
            faults.extend(slot_function(&counting, conn)?);
            faults.extend(before.iter().filter_map(|other| twice(other, &counting)));
            for trigger in &triggers {
                faults.extend(faults_of(trigger, &counting, live));
            }
            // Several triggers can call the same function.
            let mut seen = Vec::new();
            faults.retain(|fault| {
                let is_new = !seen.contains(&fault.what);
                seen.push(fault.what.clone());
                is_new
            });
            // A definition can only share a counter with another one if its tables exist.
            before.push(counting);
            Ok(faults)
        },
    );
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

/// MySQL hides triggers from an account without this right.
fn not_seen(trigger: &Trigger, counting: &Counting) -> String {
    match counting.database {
        MYSQL => {
            let table = MYSQL.quoted(&trigger.table.name);
            format!(
                "It may exist, but this account isn't allowed to see it: GRANT TRIGGER ON {table} \
                 to it. "
            )
        }
        _ => String::new(),
    }
}

/// Returns the faults of a trigger that should exist.
fn faults_of(trigger: &Trigger, counting: &Counting, live: &[LiveTrigger]) -> Vec<Fault> {
    let of_table = || live.iter().filter(|live| live.table == trigger.table);
    // A trigger that does the same may have another name.
    if let Some(same) = of_table().find(|live| live.is_like(trigger)) {
        return disabled(same, counting).into_iter().collect();
    }
    let named = of_table().find(|live| live.name == trigger.name);
    let name = &counting.definition.name;
    let mut then = format!(
        "then run `diesel-counters recount {name}`, with --lower if counts could be too high."
    );
    let fault = match named {
        Some(live) => {
            let cost = "Somebody changed it, or another version of diesel-counters wrote it. It \
                        may not count what its definition says.";
            if live.body.is_empty() {
                then += &format!(" {}", not_seen(trigger, counting));
            }
            let what = format!("The trigger {} is not what its definition says.", live.name);
            wrong("trigger_changed", what, cost)
        }
        None => {
            then += &format!(" {}", not_seen(trigger, counting));
            let is_rule = trigger.event == "RULE";
            let is = if is_rule { "rule" } else { "trigger" };
            let what = format!("{} has no {is} {}.", trigger.table.name, trigger.name);
            let cost = "The rows that it should count are not counted.";
            wrong("trigger_missing", what, cost)
        }
    };
    let mut statements = vec![counting.database.trigger_session(), trigger.drop.clone()];
    statements.extend(drops_of_replaced(trigger, live));
    // A function of this name may exist with another body.
    if let Some(create) = &trigger.function {
        statements.push(create.replacen("CREATE", "CREATE OR REPLACE", 1));
    }
    statements.push(trigger.create.clone());
    statements.retain(|sql| !sql.is_empty());
    let mut fault = fault.remedy(format!(
        "If its migration has not run yet, run it. Otherwise create it again; {}",
        then.trim_end()
    ));
    fault.sql = statements
        .iter()
        .map(|sql| sql.trim_end().to_owned())
        .collect();
    vec![fault]
}

/// Drops the trigger from a table that was replaced by a copy. Its function counted the rows of the
/// old table, and will now count those of the copy.
fn drops_of_replaced(trigger: &Trigger, live: &[LiveTrigger]) -> Vec<String> {
    let function = format!(".{}", POSTGRES.quoted(&trigger.name));
    let has_moved = |live: &&LiveTrigger| {
        let calls = live
            .function
            .as_ref()
            .is_some_and(|name| name.ends_with(&function));
        calls && live.table.schema == trigger.table.schema && live.table != trigger.table
    };
    let drop = |live: &LiveTrigger| {
        let table = POSTGRES.quoted_in(Some(&live.table.schema), &live.table.name);
        format!("DROP TRIGGER {} ON {table};", POSTGRES.quoted(&live.name))
    };
    live.iter().filter(has_moved).map(drop).collect()
}

/// The fault of a trigger that matches its definition, but doesn't always run.
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

fn twice(before: &Counting, counting: &Counting) -> Option<Fault> {
    let (table, counter) = counting.shared_counter(before)?;
    let first = &before.definition.name;
    let second = &counting.definition.name;
    let what = format!("The triggers {first} and {second} both count in {table}.{counter}.");
    let cost = "The counter has the rows of both, and a recount sets it to the rows of one.";
    Some(wrong("definition", what, cost).remedy(
        "Take one of them out of counters.toml, write a migration, and then run `diesel-counters \
         recount` for the other one.",
    ))
}
