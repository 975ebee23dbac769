//! The difference between the triggers after the last migration and the definitions in
//! `counters.toml`.

use anyhow::{Context, Result};

use super::counting::Counting;
use super::definition::{Definition, Existing};
use super::order::{locking_order, order_of_creation};
use super::plan::{Gone, Plan};
use super::snapshot::Snapshot;
use super::starts::{counters, give_columns_back};
use crate::connection::{AnyConnection, backend_name};
use crate::database::Database;

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
    /// Whether to create this definition again.
    pub fn includes(self, definition: &str) -> bool {
        match self {
            Repair::None => false,
            Repair::Named(names) => names.iter().any(|name| name == definition),
            Repair::All => true,
        }
    }
}

impl Difference {
    /// Compares the state after the last migration with the definitions in the file.
    pub fn new(
        old: &Snapshot,
        in_file: &[Definition],
        repair: Repair<'_>,
        existing: Existing,
        conn: &mut AnyConnection,
    ) -> Result<Self> {
        let stays = |definition: &Definition| {
            in_file.contains(definition) && !repair.includes(&definition.name)
        };
        let (same, gone): (Vec<_>, Vec<_>) = old.triggers.iter().cloned().partition(stays);
        let mut changed = in_file.to_vec();
        changed.retain(|definition| !same.contains(definition));

        let (stay, outdated) = look_up_same(&same, old, conn)?;
        let mut new = Vec::new();
        for definition in &changed {
            new.push(counting(definition, conn)?);
        }
        let mut dropped = Vec::new();
        for Definition { name, rows, .. } in &gone {
            dropped.push(Gone::new(name, rows, old.made_for(name), conn));
        }
        let (old_countings, lost) = look_up_gone(gone, conn);

        // Only the new definitions set counts to their rows, which can lower them.
        let existing_on_revert = match existing {
            Existing::Rows => Existing::Missing,
            Existing::Missing | Existing::Later => existing,
        };
        let mut restored = plans(old_countings.clone(), &new, &stay, existing_on_revert)?;
        let new = plans(new, &old_countings, &stay, existing)?;
        if existing == Existing::Missing {
            give_columns_back(&mut restored, &new);
        }
        let new_countings: Vec<_> = new.iter().map(|plan| plan.counting.clone()).collect();
        let created = new.iter().map(Gone::from).collect();
        Ok(Difference {
            gone: in_locking_order(dropped, &stay, &old_countings),
            created: in_locking_order(created, &stay, &new_countings),
            snapshot: snapshot_after(old, same, &changed, &new, conn.database()),
            restored,
            lost,
            stay,
            outdated,
            new,
        })
    }

    /// Whether there is nothing to migrate.
    pub fn is_empty(&self) -> bool {
        self.gone.is_empty() && self.new.is_empty()
    }
}

/// Looks up a definition's tables. An error says which definition it's about.
pub fn counting(definition: &Definition, conn: &mut AnyConnection) -> Result<Counting> {
    Counting::new(definition.clone(), conn).context(definition.name.clone())
}

/// Looks up the tables of definitions that stay as they are. Also returns the names of those that
/// are outdated: the command would write other triggers for them now.
fn look_up_same(
    same: &[Definition],
    old: &Snapshot,
    conn: &mut AnyConnection,
) -> Result<(Vec<Counting>, Vec<String>)> {
    let mut stay = Vec::new();
    let mut outdated = Vec::new();
    for (index, definition) in same.iter().enumerate() {
        let counting = counting(definition, conn)?;
        let plan = Plan::new(counting).with_context(|| definition.name.clone())?;
        let made = old.made_for(&definition.name);
        if plan.made_triggers() != made {
            outdated.push(definition.name.clone());
        }
        let mut counting = plan.counting;
        // MySQL runs the triggers of an event in the order of their creation.
        let indexes = made.iter().map(|made| (made.trigger.clone(), index));
        counting.trigger_indexes = indexes.collect();
        stay.push(counting);
    }
    Ok((stay, outdated))
}

/// Looks up the tables of definitions that go. Those that triggers can't count any more, for
/// example because a table was dropped, are returned as texts that say why.
fn look_up_gone(gone: Vec<Definition>, conn: &mut AnyConnection) -> (Vec<Counting>, Vec<String>) {
    let mut countings = Vec::new();
    let mut lost = Vec::new();
    for definition in gone {
        let name = definition.name.clone();
        match Counting::new(definition, conn).and_then(Plan::new) {
            Ok(plan) => countings.push(plan.counting),
            Err(why) => lost.push(format!("{name}: {why:#}")),
        }
    }
    (countings, lost)
}

/// Returns the state after the migration: what stays, and then what is new. `changed` has the new
/// definitions as they are in the file.
fn snapshot_after(
    old: &Snapshot,
    same: Vec<Definition>,
    changed: &[Definition],
    new: &[Plan],
    database: Database,
) -> Snapshot {
    let mut snapshot = Snapshot {
        after: old.after.clone(),
        backend: backend_name(database).to_owned(),
        ..Snapshot::default()
    };
    for Definition { name, .. } in &same {
        let made = old.made_for(name).to_vec();
        snapshot.made.insert(name.clone(), made);
    }
    snapshot.triggers = same;
    for plan in new {
        let definition = changed.iter().find(|changed| changed.name == plan.name());
        snapshot.triggers.extend(definition.cloned());
        snapshot
            .made
            .insert(plan.name().to_owned(), plan.made_triggers());
    }
    snapshot
}

/// Sorts triggers to drop in the order in which triggers lock their tables.
fn in_locking_order(mut gone: Vec<Gone>, stay: &[Counting], others: &[Counting]) -> Vec<Gone> {
    let all: Vec<_> = stay.iter().chain(others).collect();
    // If tables have changed, there may be no such order.
    let Ok(tables) = locking_order(&all) else {
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
    let all_after: Vec<_> = stay.iter().chain(&ordered).collect();
    let mut plans = Vec::new();
    for counting in &ordered {
        plans.push(Plan {
            counters: counters(counting, gone, &all_after)?,
            existing,
            ..Plan::new(counting.clone())?
        });
    }
    Ok(plans)
}
