//! The triggers of a definition, and the migration that drops triggers and creates others: here is
//! the choice among databases.

use anyhow::Result;

use super::counting::Counting;
use super::definition::Existing;
use super::plan::{Gone, Plan};
use super::starts::new_counters;
use super::trigger::Trigger;
use super::{mysql, postgres, sqlite};
use crate::database::{MYSQL, POSTGRES};

impl Plan {
    pub fn new(counting: Counting) -> Result<Self> {
        Ok(Plan {
            triggers: triggers(&counting)?,
            counters: new_counters(&counting),
            existing: Existing::default(),
            counting,
        })
    }
}

/// The triggers of a definition. It is an error if triggers of this database could not count the
/// rows.
fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
    match counting.database {
        POSTGRES => postgres::triggers(counting),
        MYSQL => mysql::triggers(counting),
        _ => sqlite::triggers(counting),
    }
}

/// The statements of a migration: what is gone is dropped, and what is new is created, below a
/// comment.
pub fn migration(gone: &[Gone], new: &[Plan], comment: &str) -> Result<String> {
    let Some(first) = new.first() else {
        // In the order in which writers lock their tables, as `gone` is.
        let drops = gone.iter().map(|gone| &*gone.drops);
        return Ok(drops.collect());
    };
    let up = match first.counting.database {
        POSTGRES => postgres::up(new, gone)?,
        MYSQL => mysql::up(new, gone)?,
        _ => sqlite::up(new, gone)?,
    };
    Ok(comment.to_owned() + &up)
}
