//! What is between the definitions in the database and those of the file.

use anyhow::{Result, bail};

use super::counting::Counting;
use super::definition::{Definition, Existing};
use super::keys::name_keys;
use super::order::{order, order_of_creation};
use super::own::Own;
use super::plan::{Gone, Plan};
use super::stored::{self, Stored};
use super::trigger::{LiveTrigger, Trigger, live_triggers};
use crate::catalogue::{Table, table};
use crate::connection::AnyConnection;

/// What the database has to become to have what the file says.
pub struct Difference {
    pub stay: Vec<Counting>,
    /// Those that are dropped, of which some are created in another way.
    pub gone: Vec<InDatabase>,
    /// In the order in which they are created.
    pub new: Vec<Plan>,
    /// The names of those that did not change, and whose triggers are not as they should be.
    pub repaired: Vec<String>,
}

/// A definition that the database has, and what there is of it.
pub struct InDatabase {
    pub stored: Stored,
    /// Its triggers, or the reason that there can be none any more.
    pub plan: Result<Plan>,
    rows: Option<Table>,
    own: Own,
}

impl InDatabase {
    fn new(stored: Stored, live: &[LiveTrigger], conn: &mut AnyConnection) -> Result<Self> {
        let mut plan = Counting::new(stored.definition.clone(), conn).and_then(Plan::new);
        if let Ok(plan) = &mut plan {
            plan.counting.places = places(&plan.triggers, live);
        }
        let planned = plan.as_ref().ok();
        Ok(InDatabase {
            own: Own::new(&stored.definition, &stored.schema, planned, live, conn)?,
            rows: match planned {
                Some(plan) => Some(plan.counting.rows.clone()),
                None => table(conn, &stored.definition.rows).ok(),
            },
            stored,
            plan,
        })
    }

    pub fn name(&self) -> &str {
        &self.stored.definition.name
    }

    /// Whether a trigger is one that goes with it.
    pub fn has(&self, live: &LiveTrigger) -> bool {
        let is_it = |own: &LiveTrigger| own.name == live.name && own.table == live.table;
        self.own.triggers.iter().any(is_it)
    }

    /// Whether it counts the same as the definition of the file.
    fn counts_as(&self, counting: &Counting) -> bool {
        self.plan
            .as_ref()
            .is_ok_and(|plan| plan.counting.definition.counts_as(&counting.definition))
    }

    /// Whether its triggers are there. A migration of MySQL that failed half way leaves some.
    fn is_whole(&self, live: &[LiveTrigger]) -> bool {
        let is_there = |trigger: &Trigger| {
            live.iter()
                .any(|live| live.table == trigger.table && live.is_like(trigger))
        };
        self.plan
            .as_ref()
            .is_ok_and(|plan| plan.triggers.iter().all(is_there))
    }

    /// Everything to drop, with what other definitions of its name have left behind. `stay` are
    /// those whose triggers stay: the name of one can begin with the name of this one.
    fn gone(&self, stay: &[Plan], conn: &AnyConnection) -> Gone {
        let database = conn.database();
        let mut gone = match &self.plan {
            Ok(plan) => Gone::from(plan),
            Err(_) => Gone::unplanned(self.name(), self.rows.clone()),
        };
        gone.keep(&self.own.taken);
        let schema = Some(&*self.stored.schema).filter(|schema| !schema.is_empty());
        gone.drop_definition = stored::drop(schema, self.name(), &self.own.functions, database);
        let stays = |live: &&LiveTrigger| {
            let mut triggers = stay.iter().flat_map(|plan| &plan.triggers);
            triggers.any(|trigger| trigger.name == live.name && trigger.table == live.table)
        };
        let left = self.own.triggers.iter().filter(|live| !stays(live));
        gone.add(&left.collect::<Vec<_>>(), database);
        gone
    }
}

/// The triggers that are there, by name, with their places among all.
fn places(triggers: &[Trigger], live: &[LiveTrigger]) -> Vec<(String, usize)> {
    let places = triggers.iter().filter_map(|trigger| {
        let is_it = |live: &LiveTrigger| live.name == trigger.name && live.table == trigger.table;
        Some((trigger.name.clone(), live.iter().position(is_it)?))
    });
    places.collect()
}

/// A definition of the file as the database would keep it. What cannot be counted stays as it is.
pub fn as_stored(definition: Definition, conn: &mut AnyConnection) -> Definition {
    let mut with_keys = definition.clone();
    let named = name_keys(&mut with_keys, conn);
    let counting = named.and_then(|()| Counting::new(with_keys, conn));
    counting.map_or(definition, |counting| counting.definition)
}

/// The migration, from both sides.
pub struct Sides {
    /// What `new` replaces.
    pub gone: Vec<Gone>,
    /// `new`, when it goes.
    pub created: Vec<Gone>,
    /// What can be created again then.
    pub restored: Vec<Plan>,
}

impl Difference {
    /// Compares the definitions of the file with those of the database.
    pub fn new(
        of_file: Vec<Definition>,
        existing: Existing,
        stored: Vec<Stored>,
        conn: &mut AnyConnection,
    ) -> Result<Self> {
        let live = live_triggers(conn)?;
        let mut countings = Vec::new();
        for mut definition in of_file {
            definition.existing = existing;
            name_keys(&mut definition, conn)?;
            countings.push(Counting::new(definition, conn)?);
        }
        // A definition of the file stays if the database has it, with its triggers. Otherwise it is
        // created, and what the database has under its name is dropped.
        let last = last_migration(&stored);
        let mut stay = Vec::new();
        let mut gone = Vec::new();
        let mut repaired = Vec::new();
        for one in stored {
            let known = InDatabase::new(one, &live, conn)?;
            let same = countings
                .iter_mut()
                .find(|counting| known.counts_as(counting));
            match (same, &known.plan) {
                (Some(_), Ok(plan)) if known.is_whole(&live) => stay.push(plan.counting.clone()),
                (Some(same), _) => {
                    // It is still the migration that failed, or that lost a trigger later.
                    let stored = &known.stored.definition;
                    same.definition.migration = stored.migration;
                    same.definition.replaced.clone_from(&stored.replaced);
                    repaired.push(known.name().to_owned());
                    gone.push(known);
                }
                (None, _) => gone.push(known),
            }
        }
        // What is left of the file is to be created.
        countings.retain(|counting| {
            let mut names = stay.iter().map(|stay| &stay.definition.name);
            !names.any(|name| *name == counting.definition.name)
        });
        let mut ordered = order_of_creation(countings)?;
        // A definition that is repaired is dropped and created again, but does not replace itself.
        let is_repaired = |gone: &InDatabase| repaired.iter().any(|name| name == gone.name());
        let dropped: Vec<_> = gone
            .iter()
            .filter(|gone| !is_repaired(gone))
            .map(|gone| &gone.stored.definition)
            .collect();
        keep_record(&mut ordered, &repaired, &dropped, last + 1);
        Ok(Difference {
            new: plans(ordered)?,
            stay,
            gone,
            repaired,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.new.is_empty()
    }

    /// What the migration drops, and what the way back drops and creates again.
    pub fn sides(&self, existing: Existing, conn: &AnyConnection) -> Result<Sides> {
        let plans_that_stay = self.stay.iter().cloned().map(Plan::new);
        let stay: Vec<_> = plans_that_stay.collect::<Result<_>>()?;
        let gone = self.gone.iter().map(|gone| gone.gone(&stay, conn));
        let created = self.new.iter().map(Gone::from);
        // Those of which there can be triggers: others are dropped, and not created again.
        let old: Vec<_> = self
            .gone
            .iter()
            .flat_map(|gone| &gone.plan)
            .map(|plan| plan.counting.clone())
            .collect();
        let new: Vec<_> = self.new.iter().map(|plan| &plan.counting).collect();
        Ok(Sides {
            gone: as_locked(gone.collect(), &self.with_stay(&old)),
            created: as_locked(created.collect(), &self.with_stay(new.iter().copied())),
            restored: restored_plans(old, existing)?,
        })
    }

    /// These definitions, and those that stay.
    fn with_stay<'c>(
        &'c self,
        others: impl IntoIterator<Item = &'c Counting>,
    ) -> Vec<&'c Counting> {
        self.stay.iter().chain(others).collect()
    }
}

/// In the order in which the triggers lock rows. `all` has the definitions of the triggers that
/// there are.
fn as_locked(mut gone: Vec<Gone>, all: &[&Counting]) -> Vec<Gone> {
    // Triggers of an earlier version may have no order.
    let Ok(tables) = order(all) else {
        return gone;
    };
    gone.sort_by_key(|gone| {
        let rows = gone.rows.as_ref()?;
        tables.iter().position(|table| table.is(rows))
    });
    gone
}

/// The number of the last migration.
fn last_migration<'s>(stored: impl IntoIterator<Item = &'s Stored>) -> u32 {
    let numbers = stored.into_iter().map(|one| one.definition.migration);
    numbers.max().unwrap_or(0)
}

/// Lets each new definition keep the one that it replaces, and the first one those that nothing
/// replaces. From these, the way back is made when the migration has run.
fn keep_record(new: &mut [Counting], repaired: &[String], dropped: &[&Definition], number: u32) {
    let created: Vec<_> = new.iter().map(|one| one.definition.name.clone()).collect();
    let mut others: Vec<_> = dropped
        .iter()
        .filter(|one| !created.contains(&one.name))
        .collect();
    for counting in new {
        let definition = &mut counting.definition;
        if repaired.contains(&definition.name) {
            continue;
        }
        let same = dropped.iter().filter(|one| one.name == definition.name);
        // The first definition takes all of the others.
        let replaced = same.chain(others.drain(..));
        definition.replaced = Some(replaced.map(|one| one.as_replaced()).collect());
        definition.migration = number;
    }
}

fn plans(new: Vec<Counting>) -> Result<Vec<Plan>> {
    new.into_iter().map(Plan::new).collect()
}

/// Definitions to create again. With `--existing later` their rows are counted later, too.
fn restored_plans(mut countings: Vec<Counting>, existing: Existing) -> Result<Vec<Plan>> {
    for counting in &mut countings {
        // They are created again, behind those that stay.
        counting.places.clear();
        if existing == Existing::Later {
            counting.definition.existing = Existing::Later;
        }
    }
    plans(order_of_creation(countings)?)
}

/// The last migration that created triggers.
pub struct Last {
    pub created: Vec<Gone>,
    pub stay: Vec<Counting>,
    /// What it dropped.
    pub restored: Vec<Plan>,
    /// Why others that it dropped cannot be created again.
    pub lost: Vec<String>,
}

impl Last {
    /// The migration whose definitions have the greatest number, of those in the database.
    pub fn of(stay: Vec<Counting>, existing: Existing, conn: &mut AnyConnection) -> Result<Self> {
        const OTHERWISE: &str = "Generate from the file as it was before: `git show \
                                 HEAD~1:counters.toml > before.toml`, and `diesel-counters \
                                 generate triggers --file before.toml`";
        let number = stay.iter().map(|one| one.definition.migration).max();
        let Some(number @ 1..) = number else {
            bail!("the database does not have what the last migration dropped. {OTHERWISE}");
        };
        let (created, stay): (Vec<_>, Vec<_>) = stay
            .into_iter()
            .partition(|one| one.definition.migration == number);
        let mut countings = Vec::new();
        let mut lost = Vec::new();
        for one in &created {
            let name = &one.definition.name;
            let Some(replaced) = &one.definition.replaced else {
                bail!("the database does not have what {name} replaced. {OTHERWISE}");
            };
            for definition in replaced {
                match Counting::new(definition.clone(), conn) {
                    Ok(counting) => countings.push(counting),
                    Err(why) => lost.push(format!("{}: {why:#}", definition.name)),
                }
            }
        }
        let ordered = order_of_creation(created)?;
        let mut gone = Vec::new();
        for counting in &ordered {
            gone.push(Gone::from(&Plan::new(counting.clone())?));
        }
        let all: Vec<_> = ordered.iter().chain(&stay).collect();
        Ok(Last {
            created: as_locked(gone, &all),
            restored: restored_plans(countings, existing)?,
            stay,
            lost,
        })
    }
}
