//! Triggers, rules and policies of the application on tables that are counted in. One that runs
//! before a row is written can skip it or change it, and the database reports success.

mod catalogue;
mod other;
mod postgres;
mod veto;

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::Text;

use self::catalogue::other_triggers;
use self::postgres::{policies, rules};
use self::veto::veto;
use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::database::{Joined, MYSQL, POSTGRES};
use crate::fault::{Fault, Severity, note, wrong};
use crate::sql::sql_with;
use crate::triggers::{Counting, Target};

/// Those on a counter table. Nothing but the program and triggers of `generate triggers` writes it.
pub fn in_counters(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let table = &shape.table;
    let database = conn.database();
    let mut faults = Vec::new();
    for other in other_triggers(table, conn)? {
        let is_before = other.event.starts_with("BEFORE ROW");
        let can_veto = match database {
            // Its function can do anything with the row.
            POSTGRES => is_before,
            // It can only set columns. A SIGNAL is an error, and no veto.
            MYSQL => {
                let key = table.primary_key.iter();
                let counters = shape.counters.iter().map(|counter| &counter.name);
                is_before && key.chain(counters).any(|name| other.sets(name))
            }
            _ => other.ignores(),
        };
        if can_veto {
            faults.push(veto(&format!("The trigger {} of {table}", other.name)));
        } else if other.writes(&table.name) {
            let what = format!("The trigger {} writes {table} too.", other.name);
            let cost = "Its counts can differ from what was counted.";
            faults.push(note("counter_trigger", what, cost));
        }
    }
    if database == POSTGRES {
        let all = ["INSERT", "UPDATE", "DELETE"];
        faults.extend(rules(table, &all, &["INSERT", "UPDATE"], conn)?);
        faults.extend(policies(table, conn)?);
    }
    Ok(faults)
}

/// Those on an ordinary table with a column that is counted in, which can have triggers that change
/// other columns.
pub fn in_column(target: &Target, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let table = &target.table;
    let database = conn.database();
    let mut faults = Vec::new();
    for other in other_triggers(table, conn)? {
        let is_of = |name: &String| {
            let is_it = |column: &String| column.eq_ignore_ascii_case(name);
            other.columns.is_empty() || other.columns.iter().any(is_it)
        };
        if !other.event.contains("UPDATE") || !target.names.iter().any(is_of) {
            continue;
        }
        let is_before = other.event.starts_with("BEFORE ROW");
        let sets = is_before && target.names.iter().any(|name| other.sets(name));
        let updates = target.names.iter().any(|name| other.updates(name));
        let writes_back = updates && other.writes(&table.name);
        let can_veto = match database {
            POSTGRES => is_before && other.skips() || sets || writes_back,
            MYSQL => sets,
            _ => other.ignores() || other.replaces(&table.name) || writes_back,
        };
        if can_veto {
            faults.push(veto(&format!("The trigger {} of {table}", other.name)));
        }
    }
    if database == POSTGRES {
        // Nothing inserts rows of it, or deletes them, to count.
        faults.extend(rules(table, &["UPDATE"], &[], conn)?);
    }
    Ok(faults)
}

/// Why nothing can be counted in a table of a definition, or why counts could be lost while the
/// database reports success.
pub fn refusal(counting: &Counting, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let mut faults = Vec::new();
    for target in &counting.targets {
        match CounterTable::try_from(target.table.clone()) {
            Ok(counters) => {
                faults.extend(deferrable(&counters, conn)?);
                faults.extend(in_counters(&counters, conn)?);
            }
            Err(_) => faults.extend(in_column(target, conn)?),
        }
    }
    let is_wrong = |fault: &Fault| fault.severity == Severity::Wrong;
    Ok(faults.into_iter().find(is_wrong))
}

/// ON CONFLICT of PostgreSQL takes no key that is checked later.
pub fn deferrable(shape: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    if conn.database() != POSTGRES {
        return Ok(Vec::new());
    }
    let table = POSTGRES.table_name(&shape.table);
    let deferrable = sql_with(
        "SELECT conname::text FROM pg_constraint WHERE contype = 'p' AND condeferrable
             AND conrelid = CAST(to_regclass({table}) AS oid)",
        &[("table", &table)],
    );
    let names: Vec<String> = deferrable.typed::<Text>().load(conn)?;
    let columns = shape.table.primary_key.iter();
    let key = columns.map(|name| POSTGRES.quoted(name)).joined(", ");
    let fault = |name: String| {
        let what = format!("Its primary key {name} is DEFERRABLE.");
        let cost = "ON CONFLICT cannot use it: each increment fails.";
        let remedy = "Create it again without. This builds its index again, and blocks writes.";
        let quoted = POSTGRES.quoted(&name);
        let fault = wrong("deferrable_key", what, cost).remedy(remedy);
        fault.run(format!(
            "ALTER TABLE {table} DROP CONSTRAINT {quoted}, \
             ADD CONSTRAINT {quoted} PRIMARY KEY ({key});"
        ))
    };
    Ok(names.into_iter().map(fault).collect())
}
