//! The triggers that count rows, compared with what `generate trigger` was told.

use anyhow::Result;

use super::fault::{Fault, wrong};
use super::owners;
use super::writes::{names, sets};
use crate::catalogue::Table;
use crate::connection::AnyConnection;
use crate::triggers::{
    Counting, Definition, LiveTrigger, Trigger, definitions, live_triggers, triggers,
};

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
                    owners: owners::check(&counting, &stored.owner, conn)?,
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
        let mut before: Vec<&Counting> = Vec::new();
        for (definition, known) in &definitions {
            match known {
                Ok(known) => {
                    let counting = &known.counting;
                    faults.extend(known.owners.iter().cloned());
                    faults.extend(before.iter().filter_map(|other| twice(other, counting)));
                    let mut own: Vec<Fault> = Vec::new();
                    for fault in known
                        .triggers
                        .iter()
                        .filter_map(|one| self.fault(one, counting))
                    {
                        // The function of several triggers is the same.
                        if own.iter().all(|other| other.what != fault.what) {
                            own.push(fault);
                        }
                    }
                    faults.extend(own);
                    faults.extend(self.others(counting));
                    before.push(counting);
                }
                Err(error) => {
                    let (name, rows) = (&definition.name, &definition.rows);
                    let what =
                        format!("The triggers {name} count the rows of {rows}, but {error:#}.");
                    let cost = "They fail, or they do not count these rows.";
                    faults.push(wrong("trigger_definition", what, cost).remedy(
                        "Revert their migration, or generate them again for the tables as they are now.",
                    ));
                }
            }
        }
        faults
    }

    fn fault(&self, trigger: &Trigger, counting: &Counting) -> Option<Fault> {
        let (database, rows) = (counting.database, &counting.rows);
        let live: Vec<_> = self
            .live
            .iter()
            .filter(|live| live.table == trigger.table)
            .collect();
        let then = format!(
            "then run `diesel-counters recount {}`.",
            counting.definition.name
        );
        let table = database.table_name(rows);
        if let Some(live) = live.iter().find(|live| live.is_like(trigger)) {
            // A dump without privileges has lost the migration's REVOKE.
            if live.open {
                let name = &counting.definition.name;
                let function = database.quoted_in(Some(&rows.in_schema), name);
                let what = format!("Every role can use the function {name}().");
                let cost = "They could attach it to tables of their own, and it runs with the rights of its owner.";
                let fault = wrong("trigger_open", what, cost).remedy("Take the right from them.");
                return Some(fault.run(format!(
                    "REVOKE EXECUTE ON FUNCTION {function}() FROM PUBLIC;"
                )));
            }
            let why = live.disabled.as_ref()?;
            let what = format!("The trigger {} does not always run: {why}.", live.name);
            let cost = "Rows that are written meanwhile are not counted, or counted twice.";
            let fault = wrong("trigger_disabled", what, cost).remedy(format!("Enable it; {then}"));
            let name = database.quoted(&live.name);
            return Some(fault.run(format!("ALTER TABLE {table} ENABLE TRIGGER {name};")));
        }
        if self.hidden.contains(&trigger.name) {
            let what = format!("This account may not see the triggers of {rows}.");
            let fault = wrong(
                "trigger_hidden",
                what,
                "It is not known whether they count all rows.",
            );
            return Some(fault.remedy(format!("GRANT TRIGGER ON {table} to it, and check again.")));
        }
        let fault = match live.iter().find(|live| live.name == trigger.name) {
            Some(live) => {
                let cost = "Somebody changed it, or another version of diesel-counters wrote it. It may not \
                            count what its definition says.";
                wrong("trigger_changed", changed(live, counting), cost)
            }
            None => {
                let is = if trigger.event == "RULE" {
                    "rule"
                } else {
                    "trigger"
                };
                let what = format!("{} has no {is} {}.", trigger.table[1], trigger.name);
                wrong(
                    "trigger_missing",
                    what,
                    "The rows that it should count are not counted.",
                )
            }
        };
        // The function that is there can be another one.
        let function = trigger.function.as_ref();
        let function = function.map(|create| create.replacen("CREATE", "CREATE OR REPLACE", 1));
        let create = [
            Some(trigger.drop.clone()),
            function,
            Some(trigger.create.clone()),
        ];
        let create = create.into_iter().flatten();
        Some(Fault {
            sql: create.map(|sql| sql.trim_end().to_owned()).collect(),
            ..fault.remedy(format!("Create it again; {then}"))
        })
    }

    /// Triggers of the rows that count in the same counters, and are none of ours.
    fn others(&self, counting: &Counting) -> Vec<Fault> {
        let table = [&counting.rows.in_schema, &counting.rows.name].map(Clone::clone);
        let is_live = |name: &str| {
            let mut live = self.live.iter();
            live.any(|live| live.name == name && live.table == table)
        };
        // One that does the same under another name counts a second time.
        let is_known = |live: &LiveTrigger| {
            let mut of_table = self.all.iter().filter(|trigger| trigger.table == table);
            of_table.any(|trigger| {
                trigger.name == live.name || live.is_like(trigger) && !is_live(&trigger.name)
            })
        };
        let others = self
            .live
            .iter()
            .filter(|live| live.table == table && !is_known(live));
        let fault = |other: &LiveTrigger| {
            let counters =
                counting.counters_that(|table, counter| sets(&other.body, &table.name, counter));
            let (name, rows) = (&other.name, &counting.rows);
            let what = format!("The trigger {name} of {rows} counts in {counters} too.");
            let cost = "Rows are counted twice, if both count the same.";
            let fault = wrong("trigger_other", what, cost).remedy(format!(
                "Drop it, and then run `diesel-counters recount {}`.",
                counting.definition.name
            ));
            (!counters.is_empty()).then_some(fault)
        };
        others.filter_map(fault).collect()
    }
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

fn changed(live: &LiveTrigger, counting: &Counting) -> String {
    let name = &live.name;
    match &*counting.counters_that(|_, counter| !names(&live.body, counter)) {
        "" => format!("The trigger {name} is not what its definition says."),
        missing => format!("The trigger {name} does not count in {missing}."),
    }
}
