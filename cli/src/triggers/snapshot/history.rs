//! Which migrations a migration was made from.

use super::migrations::Migrations;

impl Migrations {
    /// Returns the indexes of the migrations that this one was made from. If the directory of one
    /// of them was renamed, or joined with others, that's the migration before this one.
    fn made_from(&self, index: usize) -> Vec<usize> {
        let before = index.checked_sub(1);
        let mut indexes = Vec::new();
        for name in &self.all[index].snapshot.after {
            let found = self
                .all
                .iter()
                .position(|migration| migration.name == *name);
            indexes.extend(found.or(before));
        }
        // Several directories can have been joined into one.
        indexes.dedup();
        indexes
    }

    /// Returns the indexes of the migrations that no other one was made from. That's one, or
    /// several if branches were merged.
    pub(super) fn heads(&self) -> Vec<usize> {
        let all = 0..self.all.len();
        let used: Vec<usize> = all
            .clone()
            .flat_map(|index| self.made_from(index))
            .collect();
        all.filter(|index| !used.contains(index)).collect()
    }

    /// Returns the indexes of a migration and of all its ancestors.
    pub(super) fn history(&self, index: usize) -> Vec<usize> {
        let mut history = vec![index];
        let mut next = 0;
        while let Some(&migration) = history.get(next) {
            for ancestor in self.made_from(migration) {
                if !history.contains(&ancestor) {
                    history.push(ancestor);
                }
            }
            next += 1;
        }
        history
    }
}
