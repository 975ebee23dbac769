//! The triggers that count rows, compared with those that the definitions of `counters.toml` have.

use std::path::Path;

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::Bool;

use super::migrations::Migrated;
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::{Joined, MYSQL, POSTGRES};
use crate::fault::{Fault, FaultsOf, Severity, note, wrong};
use crate::sql::sql_with;
use crate::triggers::{
    Count, Counting, Definition, File, LiveTrigger, Plan, Trigger, TriggerTable, live_triggers,
};

/// The faults of each definition that counts in one of these tables, or of all if there are none,
/// with the table of the rows.
pub fn check(
    file: &File,
    migrations: Option<&Path>,
    tables: &[Table],
    conn: &mut AnyConnection,
) -> Result<Vec<FaultsOf>> {
    let live = live_triggers(conn)?;
    let mut known = Vec::new();
    for definition in &file.triggers {
        let plan = Counting::new(definition.clone(), conn).and_then(Plan::new);
        known.push((definition, plan));
    }
    let plans = known.iter().flat_map(|(_, plan)| plan);
    let own: Vec<Trigger> = plans.flat_map(|plan| plan.triggers.clone()).collect();
    let mut all: Vec<FaultsOf> = Vec::new();
    let migrated = Migrated::read(file, migrations, conn)?;
    all.extend(migrated.branches());
    if tables.is_empty() {
        let without_plan = known.iter().filter(|(_, plan)| plan.is_err());
        let unknown: Vec<_> = without_plan.map(|(one, _)| &*one.name).collect();
        all.extend(migrated.left(file, &own, &unknown, &live, conn));
    }
    let mut before = Vec::new();
    for (definition, plan) in known {
        let table = definition.rows.clone();
        let is_asked = counts_in(definition, tables);
        let faults = of_definition(definition, plan, &mut before, &own, &live, conn);
        let mut faults = migrated.with_note(definition, faults);
        // A table of several definitions has the same notes for each of them.
        let mut told = all.iter().flat_map(|known| &known.faults);
        faults.retain(|fault| {
            fault.severity != Severity::Note || !told.any(|other| other.what == fault.what)
        });
        if is_asked {
            all.push(FaultsOf { table, faults });
        }
    }
    Ok(by_table(all))
}

/// The faults of each table together.
fn by_table(all: Vec<FaultsOf>) -> Vec<FaultsOf> {
    let mut by_table: Vec<FaultsOf> = Vec::new();
    for one in all {
        match by_table.iter_mut().find(|known| known.table == one.table) {
            Some(known) => known.faults.extend(one.faults),
            None => by_table.push(one),
        }
    }
    by_table
}

/// Whether a definition counts in one of these tables, or there are none.
pub fn counts_in(definition: &Definition, tables: &[Table]) -> bool {
    let is_named = |count: &Count| tables.iter().any(|table| table.is_named(&count.table));
    tables.is_empty() || definition.counts.iter().any(is_named)
}

/// Triggers and rules of the program's own on a table that is counted in.
pub fn others(table: &Table, own: &[Trigger], live: &[LiveTrigger]) -> Option<Fault> {
    let is_other = |live: &&LiveTrigger| {
        let mut own = own.iter();
        live.table == TriggerTable::of(table)
            && !own.any(|own| own.name == live.name && own.table == live.table)
    };
    let names = live.iter().filter(is_other).map(|live| &*live.name);
    let names = names.joined(", ");
    if names.is_empty() {
        return None;
    }
    let what = format!("{table} has triggers or rules of its own: {names}.");
    let cost = "One that skips or changes a row that is written loses counts.";
    Some(note("other_triggers", what, cost))
}

/// The faults of a definition. `before` has the definitions before it, and `own` the triggers of all
/// definitions.
fn of_definition(
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
            let mut faults = storage(&counting);
            faults.extend(hidden_rows(&counting, conn)?);
            faults.extend(before.iter().filter_map(|other| twice(other, &counting)));
            for trigger in &triggers {
                faults.extend(faults_of(trigger, &counting, live));
            }
            // The function of several triggers can be the same.
            let mut told = Vec::new();
            faults.retain(|fault| {
                let is_new = !told.contains(&fault.what);
                told.push(fault.what.clone());
                is_new
            });
            let targets = counting.targets.iter();
            for target in targets.filter(|target| target.slots.is_none()) {
                faults.extend(others(&target.table, own, live));
            }
            // Only a definition whose tables are there can count in the same counter as another one.
            before.push(counting);
            Ok(faults)
        },
    );
    compared.unwrap_or_else(|error| {
        let Definition { name, rows, .. } = definition;
        let what = format!("The triggers {name} count the rows of {rows}, but {error:#}.");
        let cost = "They fail, or they do not count these rows.";
        vec![wrong("trigger_definition", what, cost).remedy(
            "Change their definition, or the tables, and write a migration: `diesel-counters generate \
             triggers NAME`.",
        )]
    })
}

/// An account of MySQL does not see the triggers without this right.
fn not_seen(trigger: &Trigger, counting: &Counting) -> String {
    match counting.database {
        MYSQL => {
            let table = MYSQL.quoted(&trigger.table.name);
            format!("If it is there, this account may not see it: GRANT TRIGGER ON {table} to it. ")
        }
        _ => String::new(),
    }
}

/// Tables of which a policy hides rows from this role.
fn hidden_rows(counting: &Counting, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if counting.database != POSTGRES {
        return Ok(faults);
    }
    for table in counting.tables() {
        let is_hidden = sql_with(
            "SELECT row_security_active(CAST(to_regclass({table}) AS oid))",
            &[("table", &POSTGRES.table_name(table))],
        );
        if is_hidden.typed::<Bool>().get_result::<bool>(conn)? {
            let what = format!("{table} has row level security, also for this role.");
            let cost =
                "Rows that it hides are not counted: writes of the rows, and a recount, fail.";
            let remedy = "Let the functions of the triggers run as their owner: ALTER FUNCTION … \
                          SECURITY DEFINER. See docs/trust.md.";
            faults.push(wrong("hidden_rows", what, cost).remedy(remedy));
        }
    }
    Ok(faults)
}

/// Rows that a crash or a rollback loses, and their counts not; or counts in a column, and their
/// rows not.
fn storage(counting: &Counting) -> Vec<Fault> {
    let database = counting.database;
    // The counter tables are checked by themselves.
    let in_columns = counting
        .targets
        .iter()
        .filter(|target| target.slots.is_none());
    let mut tables = vec![&counting.rows];
    tables.extend(in_columns.map(|target| &target.table));
    let mut faults = Vec::new();
    for table in tables {
        let Some(storage) = &table.unsafe_storage else {
            continue;
        };
        let what = format!("The storage of {table} is {storage}.");
        let remedy = "Change it. This rewrites the table, and blocks writes.";
        let name = database.table_name(table);
        let fault = match database {
            MYSQL => {
                let cost = "Its rows do not roll back with the rest of a transaction: counts and \
                            rows differ then.";
                let change = format!("ALTER TABLE {name} ENGINE = InnoDB;");
                wrong("no_transactions", what, cost).run(change)
            }
            _ => {
                let cost = "A crash of the server empties it: counts and rows differ then.";
                let change = format!("ALTER TABLE {name} SET LOGGED;");
                wrong("unlogged", what, cost).run(change)
            }
        };
        faults.push(fault.remedy(remedy));
    }
    faults
}

/// The faults of a trigger that should be there.
fn faults_of(trigger: &Trigger, counting: &Counting, live: &[LiveTrigger]) -> Vec<Fault> {
    let of_table = || live.iter().filter(|live| live.table == trigger.table);
    // One that does the same can have another name.
    if let Some(same) = of_table().find(|live| live.is_like(trigger)) {
        return disabled(same, counting).into_iter().collect();
    }
    let named = of_table().find(|live| live.name == trigger.name);
    let name = &counting.definition.name;
    let mut then = format!(
        "then run `diesel-counters recount {name}`, with --lower if counts may be too high."
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
    // The function that is there can be another one.
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

/// The statements that drop a trigger from a table that a copy has replaced. Its function has counted
/// the rows of that table, and counts those of the copy from now on.
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

/// The fault of a trigger that does what its definition says, and does not always run.
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
    Some(wrong("trigger_twice", what, cost).remedy(
        "Take one of them out of counters.toml, write a migration, and then run `diesel-counters \
         recount` for the other one.",
    ))
}
