//! The triggers that count rows, compared with what `generate trigger` was told.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::Text;

use super::fault::{Fault, wrong};
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::{MYSQL, POSTGRES};
use crate::sql::sql;
use crate::triggers::{
    Count, Counting, Definition, Existing, LiveTrigger, Trigger, definitions, live_triggers,
};

/// The faults of each definition that counts in one of these tables, or of all if there are none,
/// with the table of the rows.
pub fn check(tables: &[Table], conn: &mut AnyConnection) -> Result<Vec<(String, Vec<Fault>)>> {
    // Its schema can have another name now.
    let is_named = |count: &Count| {
        let mut tables = tables.iter();
        tables.any(|table| count.table.rsplit('.').next() == Some(&table.name))
    };
    let live = live_triggers(conn)?;
    let (mut all, mut before) = (Vec::new(), Vec::new());
    for stored in definitions(conn)? {
        let definition = stored.definition;
        let (name, rows) = (definition.name.clone(), definition.rows.clone());
        let is_asked = tables.is_empty() || definition.counts.iter().any(is_named);
        let counting = Counting::new(definition, conn);
        let faults = counting.and_then(|counting| {
            counting.refuse_hidden_rows(conn)?;
            let mut faults = owners(&counting, &stored.owner, conn)?;
            faults.extend(not_counted_yet(&counting));
            faults.extend(before.iter().filter_map(|other| twice(other, &counting)));
            let triggers = (counting.sql.triggers)(&counting)?;
            let of_triggers = triggers.iter();
            faults.extend(of_triggers.filter_map(|one| fault(one, &counting, &live)));
            // The function of several triggers is the same.
            faults.dedup_by(|one, other| one.what == other.what);
            before.push(counting);
            Ok(faults)
        });
        let faults = faults.unwrap_or_else(|error| {
            let what = format!("The triggers {name} count the rows of {rows}, but {error:#}.");
            let cost = "They fail, or they do not count these rows.";
            vec![wrong("trigger_definition", what, cost).remedy(
                "Revert their migration, or generate them again for the tables as they are now.",
            )]
        });
        if is_asked {
            all.push((rows, faults));
        }
    }
    Ok(all)
}

fn fault(trigger: &Trigger, counting: &Counting, live: &[LiveTrigger]) -> Option<Fault> {
    let (database, rows) = (counting.database, &counting.rows);
    let live = live.iter().filter(|live| live.table == trigger.table);
    let (name, table) = (&counting.definition.name, database.table_name(rows));
    let mut then = format!("then run `diesel-counters recount {name}`.");
    if let Some(live) = live.clone().find(|live| live.is_like(trigger)) {
        // A dump without privileges has lost the migration's REVOKE.
        if live.open {
            let function = database.quoted_in(Some(&rows.in_schema), name);
            let what = format!("Every role can use the function {name}().");
            let cost = "They could attach it to tables of their own, and it runs with the rights of its owner.";
            let fault = wrong("trigger_open", what, cost).remedy("Take the right from them.");
            let revoke = format!("REVOKE EXECUTE ON FUNCTION {function}() FROM PUBLIC;");
            return Some(fault.run(revoke));
        }
        let why = live.disabled.as_ref()?;
        let what = format!("The trigger {} does not always run: {why}.", live.name);
        let cost = "Rows that are written meanwhile are not counted, or counted twice.";
        let fault = wrong("trigger_disabled", what, cost).remedy(format!("Enable it; {then}"));
        let name = database.quoted(&live.name);
        return Some(fault.run(format!("ALTER TABLE {table} ENABLE TRIGGER {name};")));
    }
    let fault = match live.into_iter().find(|live| live.name == trigger.name) {
        Some(live) => {
            let cost = "Somebody changed it, or another version of diesel-counters wrote it. It may not \
                        count what its definition says.";
            let what = format!("The trigger {} is not what its definition says.", live.name);
            wrong("trigger_changed", what, cost)
        }
        None => {
            if counting.database == MYSQL {
                then += " If it is there, this account may not see it: ";
                then += &format!("GRANT TRIGGER ON {table} to it.");
            }
            let is_rule = trigger.event == "RULE";
            let is = if is_rule { "rule" } else { "trigger" };
            let what = format!("{} has no {is} {}.", trigger.table.1, trigger.name);
            let cost = "The rows that it should count are not counted.";
            wrong("trigger_missing", what, cost)
        }
    };
    // The function that is there can be another one.
    let function = trigger.function.iter();
    let function = function.map(|create| create.replacen("CREATE", "CREATE OR REPLACE", 1));
    let all = [trigger.drop.clone()].into_iter().chain(function);
    let all = all.chain([trigger.create.clone()]);
    let mut fault = fault.remedy(format!("Create it again; {then}"));
    fault.sql.extend(all.map(|sql| sql.trim_end().to_owned()));
    Some(fault)
}

fn not_counted_yet(counting: &Counting) -> Option<Fault> {
    let Definition { name, existing, .. } = &counting.definition;
    let what = format!("The triggers {name} do not count yet the rows that existed before them.");
    let cost = "Counts are too low, and can be below 0.";
    let run = format!("Run `diesel-counters recount {name}`.");
    (*existing == Existing::Later).then(|| wrong("trigger_later", what, cost).remedy(run))
}

fn twice(before: &Counting, counting: &Counting) -> Option<Fault> {
    let (table, counter) = counting.shared_counter(before)?;
    let [first, second] = [before, counting].map(|one| &one.definition.name);
    let what = format!("The triggers {first} and {second} both count in {table}.{counter}.");
    let cost = "The counter has the rows of both, and a recount sets it to the rows of one.";
    Some(wrong("trigger_twice", what, cost).remedy(
        "Revert the migration of one of them, and then run `diesel-counters recount` for the other one.",
    ))
}

/// Whoever owns a table that a function writes could have triggers of the table run as the function's owner.
fn owners(counting: &Counting, owner: &str, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if counting.database != POSTGRES {
        return Ok(faults);
    }
    let name = &counting.definition.name;
    let tables = counting.targets.iter().map(|target| &target.table);
    for table in [&counting.rows].into_iter().chain(tables) {
        let of_table =
            sql("SELECT pg_get_userbyid(relowner)::text FROM pg_class WHERE oid = to_regclass(");
        let of_table = of_table.bind(&POSTGRES.table_name(table)).sql(")");
        let of_table: String = of_table.typed::<Text>().get_result(conn)?;
        if of_table != owner {
            let what = format!("The triggers {name} belong to {owner}, and {table} to {of_table}.");
            let cost = "Triggers of the table run with the rights of another role, or fail without theirs.";
            faults.push(wrong("trigger_owner", what, cost).remedy(format!(
                "Give both to one role: ALTER TABLE {table} OWNER TO {owner}, or run the migration as {of_table}."
            )));
        }
    }
    Ok(faults)
}
