//! What is between the definitions in the database and those of the file.

use anyhow::{Context, Result, bail};

use super::counting::Counting;
use super::definition::{Definition, Existing};
use super::keys::name_keys;
use super::order::{order, order_of_creation};
use super::plan::{Gone, Plan};
use super::stored::{Stored, schema_of};
use super::trigger::{LiveTrigger, live_triggers};
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

/// A definition that the database has.
pub struct InDatabase {
    pub stored: Stored,
    /// Its triggers, or the reason that there can be none any more.
    pub plan: Result<Plan>,
    /// The schema of its function on PostgreSQL.
    schema: String,
    rows: Option<Table>,
    /// The triggers that it has.
    live: Vec<LiveTrigger>,
}

impl InDatabase {
    fn new(stored: Stored, live: &[LiveTrigger], conn: &mut AnyConnection) -> Result<Self> {
        let plan = Counting::new(stored.definition.clone(), conn).and_then(Plan::new);
        let belongs = |live: &&LiveTrigger| live.belongs_to(&stored.definition.name);
        Ok(InDatabase {
            schema: schema_of(&stored, conn)?,
            rows: match &plan {
                Ok(plan) => Some(plan.counting.rows.clone()),
                Err(_) => table(conn, &stored.definition.rows).ok(),
            },
            live: live.iter().filter(belongs).cloned().collect(),
            stored,
            plan,
        })
    }

    pub fn name(&self) -> &str {
        &self.stored.definition.name
    }

    /// Whether a trigger is one that goes with it.
    pub fn has(&self, live: &LiveTrigger) -> bool {
        let mut own = self.live.iter();
        own.any(|own| own.name == live.name && own.table == live.table)
    }

    /// Whether it counts the same as the definition of the file.
    fn counts_as(&self, counting: &Counting) -> bool {
        let mut plan = self.plan.iter();
        plan.any(|plan| plan.counting.definition.counts_as(&counting.definition))
    }

    /// Whether its triggers are there. A migration of MySQL that failed half way leaves some.
    fn is_whole(&self, live: &[LiveTrigger]) -> bool {
        let is_there = |plan: &Plan| {
            plan.triggers.iter().all(|trigger| {
                let mut live = live.iter().filter(|live| live.table == trigger.table);
                live.any(|live| live.is_like(trigger))
            })
        };
        self.plan.as_ref().is_ok_and(is_there)
    }

    /// Everything to drop, with what other definitions of its name have left behind.
    fn gone(&self, stay: &[Plan], conn: &AnyConnection) -> Gone {
        let database = conn.database();
        let mut gone = match &self.plan {
            Ok(plan) => Gone::from(plan),
            Err(_) => Gone::unplanned(
                &self.stored.definition,
                &self.schema,
                self.rows.clone(),
                database,
            ),
        };
        let stays = |live: &&LiveTrigger| {
            let mut triggers = stay.iter().flat_map(|plan| &plan.triggers);
            triggers.any(|trigger| trigger.name == live.name && trigger.table == live.table)
        };
        let left = self.live.iter().filter(|live| !stays(live));
        gone.add(&left.collect::<Vec<_>>(), database);
        gone
    }
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
    /// Compares the definitions of the file with those of this role or account in the database.
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
        let last = last_migration(&stored);
        let mut stay = Vec::new();
        let mut gone = Vec::new();
        let mut repaired = Vec::new();
        for stored in stored {
            let known = InDatabase::new(stored, &live, conn)?;
            let same = countings
                .iter_mut()
                .find(|counting| known.counts_as(counting));
            match (same, &known.plan) {
                (Some(_), Ok(plan)) if known.is_whole(&live) => stay.push(plan.counting.clone()),
                (Some(same), _) => {
                    // It is still the migration that failed, or that lost a trigger later.
                    same.definition.migration = known.stored.definition.migration;
                    same.definition
                        .replaced
                        .clone_from(&known.stored.definition.replaced);
                    repaired.push(known.name().to_owned());
                    gone.push(known);
                }
                (None, _) => gone.push(known),
            }
        }
        countings.retain(|counting| {
            let mut stay = stay.iter().map(|stay| &stay.definition.name);
            !stay.any(|name| *name == counting.definition.name)
        });
        let mut ordered = order_of_creation(countings)?;
        let dropped = gone
            .iter()
            .filter(|gone| !repaired.iter().any(|name| name == gone.name()));
        let dropped = dropped.map(|gone| &gone.stored.definition);
        keep_record(
            &mut ordered,
            &repaired,
            &dropped.collect::<Vec<_>>(),
            last + 1,
        );
        let known: Vec<_> = gone.iter().flat_map(|gone| &gone.plan).collect();
        Ok(Difference {
            new: plans(ordered, known.iter().map(|plan| &plan.counting))?,
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
        let stay = self.stay.iter().cloned().map(Plan::new);
        let stay: Vec<_> = stay.collect::<Result<_>>()?;
        let restored = self.gone.iter().flat_map(|gone| &gone.plan);
        let restored: Vec<_> = restored.map(|plan| plan.counting.clone()).collect();
        let gone = self.gone.iter().map(|gone| gone.gone(&stay, conn));
        let new: Vec<_> = self.new.iter().map(|plan| &plan.counting).collect();
        let created = self.new.iter().map(Gone::from).collect();
        Ok(Sides {
            gone: as_locked(gone.collect(), &self.with_stay(&restored)),
            created: as_locked(created, &self.with_stay(new.iter().copied())),
            restored: restored_plans(restored, new, existing)?,
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
        let rows = gone.rows.as_ref();
        tables
            .iter()
            .position(|table| rows.is_some_and(|rows| table.is(rows)))
    });
    gone
}

/// The number of the last migration.
fn last_migration<'s>(stored: impl IntoIterator<Item = &'s Stored>) -> u32 {
    let numbers = stored.into_iter().map(|one| one.definition.migration);
    numbers.max().unwrap_or(0)
}

/// Lets each new definition keep the one that it replaces, and the first one those that nothing
/// replaces.
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
        let replaced = same.chain(others.drain(..));
        definition.replaced = Some(replaced.map(|one| one.as_replaced()).collect());
        definition.migration = number;
    }
}

/// Definitions to create, where these go.
fn plans<'c>(
    new: Vec<Counting>,
    gone: impl IntoIterator<Item = &'c Counting> + Clone,
) -> Result<Vec<Plan>> {
    let new = new.into_iter().map(|counting| {
        let mut plan = Plan::new(counting)?;
        gone.clone()
            .into_iter()
            .for_each(|gone| plan.take_over(gone));
        Ok(plan)
    });
    new.collect()
}

fn restored_plans<'c>(
    mut countings: Vec<Counting>,
    gone: impl IntoIterator<Item = &'c Counting> + Clone,
    existing: Existing,
) -> Result<Vec<Plan>> {
    for counting in &mut countings {
        if existing == Existing::Later {
            counting.definition.existing = Existing::Later;
        }
    }
    plans(order_of_creation(countings)?, gone)
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
        const OTHERWISE: &str = "Generate from the file as it was before: `git show HEAD~1:counters.toml > \
                                 before.toml`, and `diesel-counters generate triggers --file before.toml`";
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
            let replaced = one.definition.replaced.as_ref();
            let replaced = replaced.with_context(|| {
                format!("the database does not have what {name} replaced. {OTHERWISE}")
            })?;
            for definition in replaced {
                match Counting::new(definition.clone(), conn) {
                    Ok(counting) => countings.push(counting),
                    Err(why) => lost.push(format!("{}: {why:#}", definition.name)),
                }
            }
        }
        let created = order_of_creation(created)?;
        let plans = created.iter().cloned().map(Plan::new);
        let gone = plans.map(|plan| plan.map(|plan| Gone::from(&plan)));
        let all: Vec<_> = created.iter().chain(&stay).collect();
        Ok(Last {
            created: as_locked(gone.collect::<Result<_>>()?, &all),
            restored: restored_plans(countings, &created, existing)?,
            stay,
            lost,
        })
    }
}

impl LiveTrigger {
    /// Whether it has a name that only the triggers of this definition have.
    fn belongs_to(&self, definition: &str) -> bool {
        const NAMES: [&str; 10] = [
            "insert",
            "update",
            "delete",
            "truncate",
            "no_merge",
            "lock_insert",
            "lock_update",
            "lock_delete",
            "replace_by_insert",
            "replace_by_update",
        ];
        let own = self.name.strip_prefix(definition);
        let own = own.and_then(|name| name.strip_prefix('_'));
        own.is_some_and(|name| NAMES.contains(&name) || self.is_of_cascade(name))
    }

    /// Whether it counts what a foreign key of MySQL changes: its name has that of a column.
    fn is_of_cascade(&self, name: &str) -> bool {
        let has_name = name.starts_with("of_") || name.starts_with("after_");
        has_name && self.body.contains("@@foreign_key_checks")
    }
}
