//! The triggers that count rows, compared with their definitions in the database.

use anyhow::Result;

use super::modes;
use super::rights;
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::MYSQL;
use crate::fault::{Fault, FaultsOf, Severity, wrong};
use crate::triggers::{
    Count, Counting, Definition, Existing, LiveTrigger, Stored, Trigger, definitions,
    live_triggers, triggers,
};
use crate::vetoes::in_column;

/// The faults of each definition that counts in one of these tables, or of all if there are none,
/// with the table of the rows.
pub fn check(tables: &[Table], conn: &mut AnyConnection) -> Result<Vec<FaultsOf>> {
    let live = live_triggers(conn)?;
    let mut all: Vec<FaultsOf> = Vec::new();
    let mut before = Vec::new();
    for stored in definitions(conn)? {
        let table = stored.definition.rows.clone();
        let is_asked = counts_in(&stored.definition, tables);
        let mut faults = match rights::foreign(&stored, conn)? {
            Some(fault) => vec![fault],
            None => of_definition(stored, &mut before, &live, conn),
        };
        // A table of several definitions has the same notes for each of them.
        let mut told = all.iter().flat_map(|known| &known.faults);
        faults.retain(|fault| {
            fault.severity != Severity::Note || !told.any(|other| other.what == fault.what)
        });
        if is_asked {
            all.push(FaultsOf { table, faults });
        }
    }
    Ok(all)
}

/// Whether a definition counts in one of these tables, or there are none.
pub fn counts_in(definition: &Definition, tables: &[Table]) -> bool {
    let is_named = |count: &Count| tables.iter().any(|table| table.is_named(&count.table));
    tables.is_empty() || definition.counts.iter().any(is_named)
}

/// Whether triggers count in columns of this table. Definitions of others are no proof: anybody can
/// create what looks like one.
pub fn is_counted_in(table: &Table, conn: &mut AnyConnection) -> Result<bool> {
    for stored in definitions(conn)? {
        let is_here = counts_in(&stored.definition, std::slice::from_ref(table));
        if is_here && rights::foreign(&stored, conn)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
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
        faults.extend(rights::of_others(&counting, conn)?);
        faults.extend(rights::denied(&counting, &whose.owner, conn)?);
        faults.extend(storage(&counting));
        faults.extend(not_counted_yet(&counting));
        faults.extend(before.iter().filter_map(|other| twice(other, &counting)));
        let triggers = triggers(&counting)?;
        for trigger in &triggers {
            for fault in faults_of(trigger, &counting, live) {
                faults.push(whose.shown(fault, &not_seen(&counting)));
            }
        }
        faults.extend(modes::several(&triggers, &counting, conn)?);
        // The function of several triggers can be the same.
        let mut told = Vec::new();
        faults.retain(|fault| {
            let is_new = !told.contains(&fault.what);
            told.push(fault.what.clone());
            is_new
        });
        let targets = counting.targets.iter();
        for target in targets.filter(|target| target.slots.is_none()) {
            faults.extend(in_column(target, conn)?);
        }
        faults.extend(rights::granted(&counting, &whose.owner, conn)?);
        // Only a definition whose tables are there can count in the same counter as another one.
        before.push(counting);
        Ok(faults)
    });
    compared.unwrap_or_else(|error| {
        let why = if whose.is_own {
            format!("but {error:#}")
        } else {
            // The error can have the text of an expression.
            "but they cannot be compared with it".to_owned()
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
            "{not_seen}The triggers {name} belong to {owner}: run `diesel-counters check` as \
             {owner}, which prints what to do. If you do not know {owner}, ask who created them."
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
        let open = open_to_others(same);
        return open.into_iter().chain(disabled(same, counting)).collect();
    }
    let named = of_table().find(|live| live.name == trigger.name);
    let name = &counting.definition.name;
    let mut then = format!("then run `diesel-counters recount {name}`.");
    let fault = match named {
        Some(live) => {
            let cost = "Somebody changed it, or another version of diesel-counters wrote it. It \
                        may not count what its definition says.";
            let what = format!("The trigger {} is not what its definition says.", live.name);
            wrong("trigger_changed", what, cost)
        }
        None => {
            then += &format!(" {}", not_seen(counting));
            let is_rule = trigger.event == "RULE";
            let is = if is_rule { "rule" } else { "trigger" };
            let what = format!("{} has no {is} {}.", trigger.table.name, trigger.name);
            let cost = "The rows that it should count are not counted.";
            wrong("trigger_missing", what, cost)
        }
    };
    let mut statements = vec![trigger.drop.clone()];
    // The function that is there can be another one.
    if let Some(create) = &trigger.function {
        statements.push(create.replacen("CREATE", "CREATE OR REPLACE", 1));
    }
    statements.push(trigger.create.clone());
    let mut fault = fault.remedy(format!("Create it again; {}", then.trim_end()));
    fault.sql = statements
        .iter()
        .map(|sql| sql.trim_end().to_owned())
        .collect();
    vec![fault]
}

/// The fault of a function that others can use. A dump without privileges has lost the migration's
/// REVOKE, and default privileges can grant the right again.
fn open_to_others(live: &LiveTrigger) -> Option<Fault> {
    let roles = live.open_to.as_ref()?;
    let function = live.function.as_deref().unwrap_or_default();
    let who = if roles.starts_with("PUBLIC") {
        "Every role"
    } else {
        roles
    };
    let what = format!("{who} can use the function {function}().");
    let cost = "They could attach it to tables of their own, and it runs with the rights of its \
                owner.";
    let fault = wrong("trigger_open", what, cost).remedy("Take the right from them.");
    let revoke = format!("REVOKE EXECUTE ON FUNCTION {function}() FROM {roles};");
    Some(fault.run(revoke))
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

fn not_counted_yet(counting: &Counting) -> Option<Fault> {
    let Definition { name, existing, .. } = &counting.definition;
    if *existing != Existing::Later {
        return None;
    }
    let what = format!("The triggers {name} do not count yet the rows that existed before them.");
    let cost = "Counts are too low, and can be below 0.";
    let remedy = format!("Run `diesel-counters recount {name}`.");
    Some(wrong("trigger_later", what, cost).remedy(remedy))
}

fn twice(before: &Counting, counting: &Counting) -> Option<Fault> {
    let (table, counter) = counting.shared_counter(before)?;
    let first = &before.definition.name;
    let second = &counting.definition.name;
    let what = format!("The triggers {first} and {second} both count in {table}.{counter}.");
    let cost = "The counter has the rows of both, and a recount sets it to the rows of one.";
    Some(wrong("trigger_twice", what, cost).remedy(
        "Revert the migration of one of them, and then run `diesel-counters recount` for the other \
         one.",
    ))
}
