//! The state after all migrations, where branches may have been merged.

use anyhow::{Result, bail};

use super::migrations::{Migrations, SnapshotMigration};
use super::{MadeTrigger, Snapshot};

impl Migrations {
    /// Returns the state after all migrations. Its `after` has the names of the last ones.
    /// Migrations of merged branches can stand side by side if they change different definitions.
    pub fn state(&self) -> Result<Snapshot> {
        let heads = self.heads();
        let Some((&first_head, other_heads)) = heads.split_first() else {
            return Ok(Snapshot::default());
        };
        let first = &self.all[first_head];
        let mut state = first.snapshot.clone();
        let mut history = self.history(first_head);
        for &head in other_heads {
            let branch_history = self.history(head);
            // The branches can themselves start from merged branches.
            let base = self.common(&history, &branch_history).state()?;
            merge(&base, &mut state, &self.all[head], &first.name)?;
            history.extend(branch_history);
        }
        if !other_heads.is_empty() {
            let made = &state.made;
            let position = |name: &String| self.position(name, made.get(name));
            state
                .triggers
                .sort_by_key(|trigger| position(&trigger.name));
        }
        let names = heads.iter().map(|head| self.all[*head].name.clone());
        state.after = names.collect();
        Ok(state)
    }

    /// Returns the migrations that are in both histories.
    fn common(&self, history: &[usize], other_history: &[usize]) -> Migrations {
        let mut all = Vec::new();
        for (index, migration) in self.all.iter().enumerate() {
            if history.contains(&index) && other_history.contains(&index) {
                all.push(migration.clone());
            }
        }
        Migrations { all }
    }

    /// Finds the first migration that made these triggers of a definition. Returns its index, and
    /// the definition's index in it. Sorted by both, definitions are in the order in which they
    /// were created.
    fn position(&self, name: &str, made: Option<&Vec<MadeTrigger>>) -> Option<(usize, usize)> {
        let mut all = self.all.iter().enumerate();
        all.find_map(|(migration, SnapshotMigration { snapshot, .. })| {
            let mut definitions = snapshot.triggers.iter();
            let definition = definitions.position(|definition| definition.name == name)?;
            let has_made = snapshot.made.get(name) == made;
            has_made.then_some((migration, definition))
        })
    }
}

/// Adds to a state what another branch has changed since `base`. Fails if both have changed the
/// same definition. `first` is the name of the state's migration.
fn merge(
    base: &Snapshot,
    state: &mut Snapshot,
    branch: &SnapshotMigration,
    first: &str,
) -> Result<()> {
    let theirs = &branch.snapshot;
    for name in definition_names(base, theirs) {
        let is_unchanged = !theirs.differs(base, name);
        let is_the_same = !theirs.differs(state, name);
        if is_unchanged || is_the_same {
            continue;
        }
        if state.differs(base, name) {
            bail!(
                "the migrations {first} and {} come from two branches, and both change the triggers \
                 {name}. Revert one of them (`diesel migration revert`), remove its directory, and \
                 generate it again",
                branch.name
            );
        }
        state.take_over(name, theirs);
    }
    Ok(())
}

/// Returns the names of all definitions that one of two states has.
fn definition_names<'s>(one: &'s Snapshot, other: &'s Snapshot) -> Vec<&'s str> {
    let mut names: Vec<&str> = Vec::new();
    for definition in one.triggers.iter().chain(&other.triggers) {
        if !names.contains(&&*definition.name) {
            names.push(&definition.name);
        }
    }
    names
}

impl Snapshot {
    /// Whether the definition of this name, or its triggers, are different in another state.
    fn differs(&self, other: &Snapshot, name: &str) -> bool {
        self.definition(name) != other.definition(name)
            || self.made_for(name) != other.made_for(name)
    }

    /// Replaces a definition and its triggers by those of another state, or removes them if it has
    /// none.
    fn take_over(&mut self, name: &str, theirs: &Snapshot) {
        self.triggers.retain(|definition| definition.name != name);
        self.made.remove(name);
        if let Some(definition) = theirs.definition(name) {
            self.triggers.push(definition.clone());
            let made = theirs.made_for(name).to_vec();
            self.made.insert(name.to_owned(), made);
        }
    }
}
