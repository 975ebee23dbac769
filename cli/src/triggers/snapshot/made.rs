//! The triggers that a migration has made.

use std::hash::Hasher;

use fnv::FnvHasher;
use serde::Deserialize;

use crate::triggers::plan::Plan;
use crate::triggers::trigger::{Trigger, TriggerTable};

/// A trigger that a migration has made. It has to be recorded, because a definition's triggers
/// depend on its tables, and those can change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "(String, String, String)")]
pub struct MadeTrigger {
    pub trigger: String,
    pub table: String,
    /// A hash of its event and body.
    pub hash: String,
}

/// The file has a trigger as a list: `["likes_insert", "likes", "90f6c1e5f3e3a1a6"]`.
impl From<(String, String, String)> for MadeTrigger {
    fn from((trigger, table, hash): (String, String, String)) -> Self {
        MadeTrigger {
            trigger,
            table,
            hash,
        }
    }
}

impl Trigger {
    /// Returns a hash of what it does, whatever its name and its table.
    fn hash(&self) -> String {
        let mut hasher = FnvHasher::default();
        hasher.write(self.event.as_bytes());
        hasher.write(self.body.as_bytes());
        format!("{:016x}", hasher.finish())
    }
}

impl Plan {
    /// Returns the plan's triggers as the snapshot records them.
    pub fn made_triggers(&self) -> Vec<MadeTrigger> {
        let rows = TriggerTable::of(&self.counting.rows);
        let triggers = self.triggers.iter().map(|trigger| MadeTrigger {
            trigger: trigger.name.clone(),
            table: if trigger.table == rows {
                // As the definition writes it, for example with a schema.
                self.counting.definition.rows.clone()
            } else {
                // On MySQL, triggers on other tables are in the same database.
                trigger.table.name.clone()
            },
            hash: trigger.hash(),
        });
        triggers.collect()
    }
}
