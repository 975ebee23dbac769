//! The triggers that count rows, compared with what `generate trigger` was told.

use anyhow::Result;

use super::faults::{
    TRIGGER_CHANGED, TRIGGER_DEFINITION, TRIGGER_DISABLED, TRIGGER_MISSING, TRIGGER_OTHER,
    TRIGGER_TWICE,
};
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::database::Fault;
use crate::trigger::{Counting, Definition, LiveTrigger, Trigger, definitions};

/// All triggers of the database, and what they should be.
pub struct Triggers {
    live: Vec<LiveTrigger>,
    /// Those that no table has been checked for.
    definitions: Vec<Definition>,
    /// The triggers of all definitions.
    known: Vec<Trigger>,
}

impl Triggers {
    pub fn load(conn: &mut AnyConnection) -> Result<Self> {
        let definitions = definitions(conn)?;
        let mut known = Vec::new();
        for definition in &definitions {
            if let Ok(counting) = Counting::new(definition.clone(), conn) {
                known.extend(counting.database.triggers(&counting).unwrap_or_default());
            }
        }
        Ok(Triggers {
            live: conn.database().live_triggers(conn)?,
            definitions,
            known,
        })
    }

    /// The faults of the triggers that count in a table. A definition with several tables is
    /// checked with the first of them.
    pub fn faults(&mut self, table: &Table, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
        let is_here = |definition: &Definition| {
            let mut counts = definition.counts.iter();
            counts.any(|count| [&table.name, &table.to_string()].contains(&&count.table))
        };
        let mut faults = Vec::new();
        let (here, others) = self.definitions.drain(..).partition(is_here);
        self.definitions = others;
        let here: Vec<Definition> = here;
        for (i, definition) in here.iter().enumerate() {
            faults.extend(twice(definition, &here[..i]));
            let counting = Counting::new(definition.clone(), conn);
            let triggers = counting.and_then(|counting| {
                let triggers = counting.database.triggers(&counting)?;
                Ok((counting, triggers))
            });
            match triggers {
                Ok((counting, triggers)) => {
                    for trigger in &triggers {
                        faults.extend(self.of_trigger(trigger, &counting));
                    }
                    faults.extend(self.others(&counting));
                }
                Err(error) => {
                    let name = &definition.name;
                    let fault = TRIGGER_DEFINITION.found(format!(
                        "The triggers {name} count the rows of {}, but {error:#}.",
                        definition.rows
                    ));
                    faults.push(fault.remedy(
                        "Revert their migration, or generate them again for the table as it is now.",
                    ));
                }
            }
        }
        Ok(faults)
    }

    fn of_trigger(&self, trigger: &Trigger, counting: &Counting) -> Option<Fault> {
        let of_table = self.live.iter().filter(|live| live.table == trigger.table);
        let of_table: Vec<_> = of_table.collect();
        let alike = of_table.iter().find(|live| live.is_like(trigger));
        let named = of_table.iter().find(|live| live.name == trigger.name);
        let (name, table) = (&trigger.name, &trigger.table[1]);
        let then = format!(
            "then run `diesel-counters recount {}`.",
            counting.definition.name
        );
        let create = [&trigger.drop, &trigger.create]
            .map(|sql| sql.trim_end().to_owned())
            .to_vec();
        Some(match (alike, named) {
            (Some(LiveTrigger { disabled: None, .. }), _) => return None,
            (
                Some(LiveTrigger {
                    disabled: Some(why),
                    name,
                    ..
                }),
                _,
            ) => {
                let database = counting.database;
                let (table, quoted) = (database.table_name(&counting.rows), database.quoted(name));
                Fault {
                    sql: vec![format!("ALTER TABLE {table} ENABLE TRIGGER {quoted};")],
                    ..TRIGGER_DISABLED
                        .found(format!("The trigger {name} does not run for all: {why}."))
                        .remedy(format!("Enable it; {then}"))
                }
            }
            (None, Some(live)) => Fault {
                sql: create,
                ..TRIGGER_CHANGED
                    .found(changed(live, counting))
                    .remedy(format!("Create it again; {then}"))
            },
            (None, None) => Fault {
                sql: create,
                ..TRIGGER_MISSING
                    .found(format!("{table} has no trigger {name}."))
                    .remedy(format!("Create it; {then}"))
            },
        })
    }

    /// Triggers of the rows that count in the same counters, and are none of ours.
    fn others(&self, counting: &Counting) -> Vec<Fault> {
        let table = [&counting.rows.in_schema, &counting.rows.name].map(Clone::clone);
        let is_known = |live: &LiveTrigger| {
            let mut known = self.known.iter();
            known.any(|trigger| trigger.name == live.name || live.is_like(trigger))
        };
        let others = self
            .live
            .iter()
            .filter(|live| live.table == table && !is_known(live));
        let mut faults = Vec::new();
        for other in others {
            let counters = counters(counting).filter(|(table, counter)| {
                names(&other.body, table) && names(&other.body, counter)
            });
            let counters: Vec<_> = counters
                .map(|(table, counter)| format!("{table}.{counter}"))
                .collect();
            if !counters.is_empty() {
                let fault = TRIGGER_OTHER.found(format!(
                    "The trigger {} of {} counts in {} too.",
                    other.name,
                    counting.rows,
                    counters.join(", ")
                ));
                faults.push(fault.remedy(format!(
                    "Drop it, and then run `diesel-counters recount {}`.",
                    counting.definition.name
                )));
            }
        }
        faults
    }
}

fn twice(definition: &Definition, before: &[Definition]) -> Option<Fault> {
    let is_same = |other: &&Definition| {
        let mut counts = definition.counts.iter();
        other.rows == definition.rows
            && other.when == definition.when
            && counts.any(|count| other.counts.contains(count))
    };
    let other = before.iter().find(is_same)?;
    let fault = TRIGGER_TWICE.found(format!(
        "The triggers {} and {} count the same rows of {} in the same counter.",
        other.name, definition.name, definition.rows
    ));
    Some(fault.remedy(format!(
        "Revert the migration of one of them, and then run `diesel-counters recount {}`.",
        other.name
    )))
}

fn changed(live: &LiveTrigger, counting: &Counting) -> String {
    let missing = counters(counting).filter(|(_, counter)| !names(&live.body, counter));
    let missing: Vec<_> = missing
        .map(|(table, counter)| format!("{table}.{counter}"))
        .collect();
    match (&live.name, missing.is_empty()) {
        (name, true) => format!("The trigger {name} is not what its definition says."),
        (name, false) => format!(
            "The trigger {name} does not count in {}.",
            missing.join(", ")
        ),
    }
}

fn counters(counting: &Counting) -> impl Iterator<Item = (&str, &str)> {
    counting.targets.iter().flat_map(|target| {
        let weights = target.weights.iter();
        weights.map(|weight| (&*target.counters.table.name, &*weight.counter))
    })
}

/// Whether a name is a word of the SQL.
fn names(sql: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    sql.split(|c: char| !is_part(c))
        .any(|word| word.eq_ignore_ascii_case(name))
}
