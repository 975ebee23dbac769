//! The difference between the triggers after the last migration and the definitions in
//! `counters.toml`.

use anyhow::{Context, Result};

use super::counting::Counting;
use super::definition::{Definition, Existing};
use super::order::{order, order_of_creation};
use super::plan::{Gone, Plan};
use super::snapshot::Snapshot;
use super::starts::{counters, take_back};
use crate::connection::{AnyConnection, option};

/// What a migration has to do.
pub struct Difference {
    /// Definitions that stay as they are, in the order in which they were created.
    pub stay: Vec<Counting>,
    /// The names of those that stay, although the command would write other triggers for them now.
    pub outdated: Vec<String>,
    /// What to drop. This includes definitions that are then created again.
    pub gone: Vec<Gone>,
    /// What to create, in this order.
    pub new: Vec<Plan>,
    /// What down.sql drops.
    pub created: Vec<Gone>,
    /// What down.sql creates again.
    pub restored: Vec<Plan>,
    /// Definitions that down.sql can't create again, and why.
    pub lost: Vec<String>,
    /// The state after the migration.
    pub snapshot: Snapshot,
}

/// Which definitions to create again although they haven't changed.
#[derive(Clone, Copy)]
pub enum Repair<'n> {
    None,
    Named(&'n [String]),
    All,
}

impl Repair<'_> {
    pub fn has(self, name: &str) -> bool {
        match self {
            Repair::None => false,
            Repair::Named(names) => names.iter().any(|one| one == name),
            Repair::All => true,
        }
    }
}

impl Difference {
    /// Compares the state after the last migration with the definitions in the file.
    pub fn new(
        old: &Snapshot,
        of_file: &[Definition],
        repair: Repair<'_>,
        existing: Existing,
        conn: &mut AnyConnection,
    ) -> Result<Self> {
        let is_same = |one: &Definition| of_file.contains(one) && !repair.has(&one.name);
        let (same, gone): (Vec<_>, Vec<_>) = old.triggers.iter().cloned().partition(is_same);
        let changed: Vec<_> = of_file
            .iter()
            .filter(|one| !same.contains(one))
            .cloned()
            .collect();
        let mut stay = Vec::new();
        let mut outdated = Vec::new();
        for (index, definition) in same.iter().enumerate() {
            let counting = counting(definition, conn)?;
            let plan = Plan::new(counting).with_context(|| definition.name.clone())?;
            if plan.made() != old.made_for(plan.name()) {
                outdated.push(plan.name().to_owned());
            }
            let mut counting = plan.counting;
            // MySQL runs the triggers of an event in this order.
            let made = old.made_for(&definition.name).iter();
            counting.trigger_indexes = made.map(|made| (made.trigger.clone(), index)).collect();
            stay.push(counting);
        }
        let mut new = Vec::new();
        for definition in &changed {
            new.push(counting(definition, conn)?);
        }
        // The tables of old definitions may have changed, or no longer exist.
        let mut old_countings = Vec::new();
        let mut lost = Vec::new();
        let mut dropped = Vec::new();
        for Definition { name, rows, .. } in &gone {
            dropped.push(Gone::new(name, rows, old.made_for(name), conn));
        }
        for definition in gone {
            let name = definition.name.clone();
            match Counting::new(definition, conn).and_then(Plan::new) {
                Ok(plan) => old_countings.push(plan.counting),
                Err(why) => lost.push(format!("{name}: {why:#}")),
            }
        }
        let existing_on_revert = match existing {
            Existing::Rows => Existing::Missing,
            other => other,
        };
        let mut restored = plans(old_countings.clone(), &new, &stay, existing_on_revert)?;
        let new = plans(new, &old_countings, &stay, existing)?;
        if existing == Existing::Missing {
            take_back(&mut restored, &new);
        }
        let new_countings: Vec<_> = new.iter().map(|plan| plan.counting.clone()).collect();
        let mut snapshot = Snapshot {
            after: old.after.clone(),
            backend: option(conn.database()).to_owned(),
            ..Snapshot::default()
        };
        for Definition { name, .. } in &same {
            let made = old.made_for(name).to_vec();
            snapshot.made.insert(name.clone(), made);
        }
        snapshot.triggers = same;
        for plan in &new {
            let mut of_file = changed.iter();
            let definition = of_file.find(|one| one.name == plan.name());
            snapshot.triggers.extend(definition.cloned());
            snapshot.made.insert(plan.name().to_owned(), plan.made());
        }
        let created = new.iter().map(Gone::from).collect();
        Ok(Difference {
            gone: as_locked(dropped, &stay, &old_countings),
            created: as_locked(created, &stay, &new_countings),
            restored,
            lost,
            stay,
            outdated,
            new,
            snapshot,
        })
    }

    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.new.is_empty()
    }
}

/// Looks up a definition's tables. An error says which definition it's about.
pub fn counting(definition: &Definition, conn: &mut AnyConnection) -> Result<Counting> {
    Counting::new(definition.clone(), conn).context(definition.name.clone())
}

/// Sorts definitions in the order in which their triggers lock rows.
fn as_locked(mut gone: Vec<Gone>, stay: &[Counting], others: &[Counting]) -> Vec<Gone> {
    let all: Vec<_> = stay.iter().chain(others).collect();
    // If tables have changed, there may be no such order.
    let Ok(tables) = order(&all) else {
        return gone;
    };
    gone.sort_by_key(|gone| {
        let rows = gone.rows.as_ref()?;
        tables.iter().position(|table| table.is(rows))
    });
    gone
}

/// Plans the definitions to create, given those that go and those that stay.
fn plans(
    new: Vec<Counting>,
    gone: &[Counting],
    stay: &[Counting],
    existing: Existing,
) -> Result<Vec<Plan>> {
    let ordered = order_of_creation(new)?;
    let after: Vec<_> = stay.iter().chain(&ordered).collect();
    let mut plans = Vec::new();
    for counting in &ordered {
        plans.push(Plan {
            counters: counters(counting, gone, &after)?,
            existing,
            ..Plan::new(counting.clone())?
        });
    }
    Ok(plans)
}
