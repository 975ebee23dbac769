//! The triggers that count rows, compared with what `generate trigger` was told.

use anyhow::Result;

use super::fault::{Fault, faults};
use super::owners;
use super::writes::{names, sets};
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::triggers::{
    Counting, Definition, LiveTrigger, Trigger, definitions, live_triggers, triggers,
};

faults! {
    TRIGGER_MISSING = Wrong, "trigger_missing": "The rows that it should count are not counted.";
    TRIGGER_HIDDEN = Wrong, "trigger_hidden": "It is not known whether they count all rows.";
    TRIGGER_DISABLED = Wrong, "trigger_disabled":
        "Rows that are written meanwhile are not counted, or counted twice.";
    TRIGGER_CHANGED = Wrong, "trigger_changed":
        "Somebody changed it, or another version of diesel-counters wrote it. It may not count what its \
         definition says.";
    TRIGGER_OTHER = Wrong, "trigger_other": "Rows are counted twice, if both count the same.";
    TRIGGER_OPEN = Wrong, "trigger_open":
        "They could attach it to tables of their own, and it runs with the rights of its owner.";
    TRIGGER_TWICE = Wrong, "trigger_twice":
        "The counter has the rows of both, and a recount sets it to the rows of one.";
    TRIGGER_DEFINITION = Wrong, "trigger_definition":
        "They fail, or they do not count these rows.";
}

/// All triggers of the database, and what they should be.
pub struct Triggers {
    live: Vec<LiveTrigger>,
    /// Those that no table has been checked for.
    definitions: Vec<(Definition, Result<Known>)>,
    /// The triggers of all definitions.
    all: Vec<Trigger>,
    /// The names of those that are there, and that this account may not see.
    hidden: Vec<String>,
}

/// A definition whose tables exist, and its triggers.
struct Known {
    counting: Counting,
    triggers: Vec<Trigger>,
    /// The faults of the accounts with whose rights they run.
    owners: Vec<Fault>,
}

impl Triggers {
    pub fn load(conn: &mut AnyConnection) -> Result<Self> {
        let mut all = Vec::new();
        let mut known = Vec::new();
        for stored in definitions(conn)? {
            let definition = stored.definition;
            let counting = Counting::new(definition.clone(), conn);
            let one = counting.and_then(|counting| {
                counting.refuse_hidden_rows(conn)?;
                let triggers = triggers(&counting)?;
                all.extend(triggers.clone());
                Ok(Known {
                    owners: owners::check(&counting, &triggers, &stored.owner, conn)?,
                    counting,
                    triggers,
                })
            });
            known.push((definition, one));
        }
        let live = live_triggers(conn)?;
        let is_live = |trigger: &&Trigger| live.iter().any(|live| live.name == trigger.name);
        let missing = all.iter().filter(|trigger| !is_live(trigger));
        Ok(Triggers {
            hidden: owners::hidden(missing, conn)?,
            live,
            definitions: known,
            all,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.definitions.is_empty()
    }

    /// The faults of the triggers that count in a table. A definition with several tables is
    /// checked with the first of them.
    pub fn faults(&mut self, table: &Table) -> Vec<Fault> {
        let is_here = |(definition, known): &(Definition, Result<Known>)| match known {
            Ok(known) => {
                let mut counters = known.counting.counters();
                counters.any(|(counted, _)| {
                    (&counted.in_schema, &counted.name) == (&table.in_schema, &table.name)
                })
            }
            Err(_) => {
                let mut counts = definition.counts.iter();
                // Its schema can have another name now.
                counts.any(|count| count.table.rsplit('.').next() == Some(&table.name))
            }
        };
        let (here, others) = self.definitions.drain(..).partition(is_here);
        self.definitions = others;
        self.of_definitions(here)
    }

    /// The faults of definitions that count in no counter table, by the table that they count.
    pub fn left(&mut self) -> Vec<(String, Vec<Fault>)> {
        let left: Vec<_> = self.definitions.drain(..).collect();
        let of =
            |one: (Definition, Result<Known>)| (one.0.rows.clone(), self.of_definitions(vec![one]));
        left.into_iter().map(of).collect()
    }

    fn of_definitions(&self, definitions: Vec<(Definition, Result<Known>)>) -> Vec<Fault> {
        let mut faults = Vec::new();
        for (i, (definition, known)) in definitions.iter().enumerate() {
            match known {
                Ok(Known {
                    counting,
                    triggers,
                    owners,
                }) => {
                    faults.extend(owners.iter().cloned());
                    let before = definitions[..i]
                        .iter()
                        .filter_map(|(_, known)| known.as_ref().ok());
                    faults.extend(before.filter_map(|before| twice(&before.counting, counting)));
                    let first = faults.len();
                    for trigger in triggers {
                        // Their function is the same.
                        let fault = self.of_trigger(trigger, counting);
                        let is_new = |fault: &Fault| {
                            faults[first..].iter().all(|other| other.what != fault.what)
                        };
                        faults.extend(fault.filter(is_new));
                    }
                    faults.extend(self.others(counting));
                }
                Err(error) => {
                    let name = &definition.name;
                    let fault = TRIGGER_DEFINITION.found(format!(
                        "The triggers {name} count the rows of {}, but {error:#}.",
                        definition.rows
                    ));
                    faults.push(fault.remedy(
                        "Revert their migration, or generate them again for the tables as they are now.",
                    ));
                }
            }
        }
        faults
    }

    fn is_live(&self, name: &str, table: &[String; 2]) -> bool {
        let mut live = self.live.iter();
        live.any(|live| live.name == name && live.table == *table)
    }

    fn of_trigger(&self, trigger: &Trigger, counting: &Counting) -> Option<Fault> {
        let of_table = self.live.iter().filter(|live| live.table == trigger.table);
        let of_table: Vec<_> = of_table.collect();
        let then = format!(
            "then run `diesel-counters recount {}`.",
            counting.definition.name
        );
        if let Some(live) = of_table.iter().find(|live| live.is_like(trigger)) {
            if live.open {
                return Some(open(counting));
            }
            let (name, why) = (&live.name, live.disabled.as_ref()?);
            let table = counting.database.table_name(&counting.rows);
            let quoted = counting.database.quoted(name);
            return Some(Fault {
                sql: vec![format!("ALTER TABLE {table} ENABLE TRIGGER {quoted};")],
                ..TRIGGER_DISABLED
                    .found(format!("The trigger {name} does not always run: {why}."))
                    .remedy(format!("Enable it; {then}"))
            });
        }
        let function = trigger.function.as_ref();
        // The one that is there can be another one.
        let function = function.map(|create| create.replacen("CREATE", "CREATE OR REPLACE", 1));
        let create = [
            Some(trigger.drop.clone()),
            function,
            Some(trigger.create.clone()),
        ];
        let create = create
            .into_iter()
            .flatten()
            .map(|sql| sql.trim_end().to_owned());
        let missing = match &*trigger.event {
            "RULE" => format!("{} has no rule {}.", trigger.table[1], trigger.name),
            _ => format!("{} has no trigger {}.", trigger.table[1], trigger.name),
        };
        if self.hidden.contains(&trigger.name) {
            let table = &counting.rows;
            return Some(
                TRIGGER_HIDDEN
                    .found(format!("This account may not see the triggers of {table}."))
                    .remedy(format!(
                        "GRANT TRIGGER ON {} to it, and check again.",
                        counting.database.table_name(table)
                    )),
            );
        }
        let fault = match of_table.iter().find(|live| live.name == trigger.name) {
            Some(live) => TRIGGER_CHANGED
                .found(changed(live, counting))
                .remedy(format!("Create it again; {then}")),
            None => TRIGGER_MISSING
                .found(missing)
                .remedy(format!("Create it; {then}")),
        };
        Some(Fault {
            sql: create.collect(),
            ..fault
        })
    }

    /// Triggers of the rows that count in the same counters, and are none of ours.
    fn others(&self, counting: &Counting) -> Vec<Fault> {
        let table = [&counting.rows.in_schema, &counting.rows.name].map(Clone::clone);
        // One that does the same under another name counts a second time.
        let is_known = |live: &LiveTrigger| {
            let of_table = self
                .all
                .iter()
                .filter(|trigger| trigger.table == live.table);
            let named = of_table.clone().any(|trigger| trigger.name == live.name);
            let mut alike = of_table.filter(|trigger| live.is_like(trigger));
            named || alike.any(|trigger| !self.is_live(&trigger.name, &live.table))
        };
        let others = self
            .live
            .iter()
            .filter(|live| live.table == table && !is_known(live));
        let mut faults = Vec::new();
        for other in others {
            let counters =
                counting.counters_that(|table, counter| sets(&other.body, &table.name, counter));
            if !counters.is_empty() {
                let fault = TRIGGER_OTHER.found(format!(
                    "The trigger {} of {} counts in {} too.",
                    other.name, counting.rows, counters
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

/// A dump without privileges has lost the migration's REVOKE.
fn open(counting: &Counting) -> Fault {
    let name = &counting.definition.name;
    let schema = Some(&*counting.rows.in_schema);
    let function = counting.database.quoted_in(schema, name);
    Fault {
        sql: vec![format!(
            "REVOKE EXECUTE ON FUNCTION {function}() FROM PUBLIC;"
        )],
        ..TRIGGER_OPEN
            .found(format!("Every role can use the function {name}()."))
            .remedy("Take the right from them.")
    }
}

fn twice(before: &Counting, counting: &Counting) -> Option<Fault> {
    let (table, counter) = counting.shared_counter(before)?;
    let [first, second] = [before, counting].map(|one| &one.definition.name);
    let fault = TRIGGER_TWICE.found(format!(
        "The triggers {first} and {second} both count in {table}.{counter}."
    ));
    Some(fault.remedy(
        "Revert the migration of one of them, and then run `diesel-counters recount` for the other one.",
    ))
}

fn changed(live: &LiveTrigger, counting: &Counting) -> String {
    let name = &live.name;
    match &*counting.counters_that(|_, counter| !names(&live.body, counter)) {
        "" => format!("The trigger {name} is not what its definition says."),
        missing => format!("The trigger {name} does not count in {missing}."),
    }
}
