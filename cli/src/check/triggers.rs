//! The triggers that count rows, compared with their definitions in the database.

use anyhow::Result;

use super::modes;
use super::rights;
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::MYSQL;
use crate::fault::{Fault, Severity, wrong};
use crate::triggers::{
    Count, Counting, Definition, Existing, LiveTrigger, Stored, Trigger, definitions,
    live_triggers, triggers,
};
use crate::vetoes::in_column;

/// The faults of each definition that counts in one of these tables, or of all if there are none,
/// with the table of the rows.
pub fn check(tables: &[Table], conn: &mut AnyConnection) -> Result<Vec<(String, Vec<Fault>)>> {
    let live = live_triggers(conn)?;
    let mut all: Vec<(String, Vec<Fault>)> = Vec::new();
    let mut before = Vec::new();
    for stored in definitions(conn)? {
        let rows = stored.definition.rows.clone();
        let is_asked = counts_in(&stored.definition, tables);
        let mut faults = match rights::foreign(&stored, conn)? {
            Some(fault) => vec![fault],
            None => of_definition(stored, &mut before, &live, conn),
        };
        // A table of several definitions.
        let mut told = all.iter().flat_map(|(_, faults)| faults);
        faults.retain(|fault| {
            fault.severity != Severity::Note || !told.any(|other| other.what == fault.what)
        });
        if is_asked {
            all.push((rows, faults));
        }
    }
    Ok(all)
}

/// Whether a definition counts in one of these tables, or there are none. Their schema can have
/// another name now.
pub fn counts_in(definition: &Definition, tables: &[Table]) -> bool {
    let is_named = |count: &Count| {
        let mut tables = tables.iter();
        tables.any(|table| count.table.rsplit('.').next() == Some(&table.name))
    };
    tables.is_empty() || definition.counts.iter().any(is_named)
}

/// The faults of a definition. `before` has the definitions before it.
fn of_definition(
    stored: Stored,
    before: &mut Vec<Counting>,
    live: &[LiveTrigger],
    conn: &mut AnyConnection,
) -> Vec<Fault> {
    let whose = Whose {
        name: stored.definition.name.clone(),
        owner: stored.owner,
        is_own: stored.is_own,
    };
    let rows = stored.definition.rows.clone();
    let compared = Counting::new(stored.definition, conn).and_then(|counting| {
        counting.refuse_hidden_rows(conn)?;
        let mut faults = rights::owners(&counting, &whose.owner, conn)?;
        faults.extend(rights::denied(&counting, &whose.owner, conn)?);
        faults.extend(storage(&counting));
        faults.extend(not_counted_yet(&counting));
        faults.extend(before.iter().filter_map(|other| twice(other, &counting)));
        let triggers = triggers(&counting)?;
        let of_triggers = triggers.iter();
        let of_triggers = of_triggers.filter_map(|one| fault(one, &counting, live));
        faults.extend(of_triggers.map(|fault| whose.shown(fault, &not_seen(&counting))));
        faults.extend(modes::several(&triggers, &counting, conn)?);
        // The function of several triggers is the same.
        faults.dedup_by(|one, other| one.what == other.what);
        let in_columns = counting
            .targets
            .iter()
            .filter(|target| target.slots.is_none());
        for target in in_columns {
            faults.extend(in_column(target, conn)?);
        }
        faults.extend(rights::granted(&counting, &whose.owner, conn)?);
        before.push(counting);
        Ok(faults)
    });
    compared.unwrap_or_else(|error| {
        let why = match whose.is_own {
            true => format!("but {error:#}"),
            // The error can have the text of an expression.
            false => "but they cannot be compared with it".to_owned(),
        };
        let what = format!(
            "The triggers {} count the rows of {rows}, {why}.",
            whose.name
        );
        let cost = "They fail, or they do not count these rows.";
        let fault = wrong("trigger_definition", what, cost).remedy(
            "Revert their migration, or generate them again for the tables as they are now.",
        );
        vec![whose.shown(fault, "")]
    })
}

/// The owner of triggers.
struct Whose {
    name: String,
    owner: String,
    is_own: bool,
}

impl Whose {
    /// The fault as it is printed to this role or account. To others, it has no SQL: that has the
    /// expressions of the definition, and they would run as whoever runs it.
    fn shown(&self, mut fault: Fault, not_seen: &str) -> Fault {
        if self.is_own {
            return fault;
        }
        let Whose { name, owner, .. } = self;
        fault.sql.clear();
        fault.remedy(format!(
            "{not_seen}The triggers {name} belong to {owner}: run `diesel-counters check` as {owner}, which prints what \
             to do. If you do not know {owner}, ask who created them."
        ))
    }
}

/// An account of MySQL does not see the triggers without this right.
fn not_seen(counting: &Counting) -> String {
    match counting.database {
        MYSQL => {
            let table = MYSQL.table_name(&counting.rows);
            format!("If it is there, this account may not see it: GRANT TRIGGER ON {table} to it. ")
        }
        _ => String::new(),
    }
}

/// Rows that a crash or a rollback loses, and their counts not; or counts in a column, and their
/// rows not.
fn storage(counting: &Counting) -> Vec<Fault> {
    let database = counting.database;
    let columns = counting
        .targets
        .iter()
        .filter(|target| target.slots.is_none());
    let tables = [&counting.rows]
        .into_iter()
        .chain(columns.map(|target| &target.table));
    let faults = tables.filter_map(|table| {
        let storage = table.unsafe_storage.as_ref()?;
        let what = format!("The storage of {table} is {storage}.");
        let (fault, change) = match database {
            MYSQL => {
                let cost = "Its rows do not roll back with the rest of a transaction: counts and rows differ then.";
                (wrong("no_transactions", what, cost), "ENGINE = InnoDB")
            }
            _ => {
                let cost = "A crash of the server empties it: counts and rows differ then.";
                (wrong("unlogged", what, cost), "SET LOGGED")
            }
        };
        let alter = format!("ALTER TABLE {} {change};", database.table_name(table));
        Some(fault.remedy("Change it. This rewrites the table, and blocks writes.").run(alter))
    });
    faults.collect()
}

fn fault(trigger: &Trigger, counting: &Counting, live: &[LiveTrigger]) -> Option<Fault> {
    let (database, rows) = (counting.database, &counting.rows);
    let live = live.iter().filter(|live| live.table == trigger.table);
    let (name, table) = (&counting.definition.name, database.table_name(rows));
    let mut then = format!("then run `diesel-counters recount {name}`.");
    if let Some(live) = live.clone().find(|live| live.is_like(trigger)) {
        // A dump without privileges has lost the migration's REVOKE.
        if live.open {
            let function = live.function.as_deref().unwrap_or_default();
            let what = format!("Every role can use the function {function}().");
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
            then += &format!(" {}", not_seen(counting));
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
    let mut fault = fault.remedy(format!("Create it again; {}", then.trim_end()));
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
