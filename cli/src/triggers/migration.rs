//! Makes a definition's triggers, and the migration that drops triggers and creates others. This is
//! where the database is chosen.

use anyhow::Result;

use super::counting::Counting;
use super::definition::Existing;
use super::plan::{Gone, Plan};
use super::starts::new_counters;
use super::trigger::Trigger;
use super::{mysql, postgres, sqlite};
use crate::database::{MYSQL, POSTGRES};

impl Plan {
    /// Makes a definition's triggers, as if nothing had counted in its counters before.
    pub fn new(counting: Counting) -> Result<Self> {
        Ok(Plan {
            triggers: triggers(&counting)?,
            counters: new_counters(&counting),
            existing: Existing::default(),
            counting,
        })
    }
}

/// Makes a definition's triggers. Fails if triggers on this database can't count the rows.
fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    match counting.database {
        POSTGRES => postgres::triggers(counting),
        MYSQL => mysql::triggers(counting),
        _ => sqlite::triggers(counting),
    }
}

/// Writes the statements of a migration: they drop what is gone, and create what is new. Puts a
/// comment above them if they create anything.
pub fn migration(gone: &[Gone], new: &[Plan], comment: &str) -> Result<String> {
    let Some(first) = new.first() else {
        // `gone` is in the order in which writers lock the tables.
        let drops: String = gone.iter().map(|gone| &*gone.drops).collect();
        return Ok(drops);
    };
    let up = match first.counting.database {
        POSTGRES => postgres::up(new, gone)?,
        MYSQL => mysql::up(new, gone)?,
        _ => sqlite::up(new, gone)?,
    };
    Ok(comment.to_owned() + &up)
}
