//! The triggers after a migration, from the `counters.toml` in its directory. The next migration
//! starts from there. Definitions are never read from the database.

mod branches;
mod history;
mod made;
mod migrations;
#[cfg(test)]
mod tests;
mod write;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use self::made::MadeTrigger;
pub use self::migrations::{Migrations, version};
use super::definition::Definition;

/// The state after a migration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The migrations that it was made from: usually one, none for the first migration, and several
    /// if branches were merged.
    #[serde(default)]
    pub after: Vec<String>,
    /// The database that it's for, such as `postgres`.
    pub backend: String,
    /// In the order in which they were created.
    #[serde(default, rename = "trigger")]
    pub triggers: Vec<Definition>,
    /// Every definition's triggers, in the order in which they were created.
    #[serde(default)]
    pub made: BTreeMap<String, Vec<MadeTrigger>>,
}

impl Snapshot {
    /// Returns the triggers that were made for the definition of this name.
    pub fn made_for(&self, name: &str) -> &[MadeTrigger] {
        self.made.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the definition of this name.
    fn definition(&self, name: &str) -> Option<&Definition> {
        let mut definitions = self.triggers.iter();
        definitions.find(|definition| definition.name == name)
    }
}
