//! The triggers of a definition, and the migration that drops triggers and creates others: here is
//! the choice among databases.

use anyhow::Result;

use super::correction::Compared;
use super::counting::Counting;
use super::plan::{Gone, Plan};
use super::target::Target;
use super::trigger::Trigger;
use super::{mysql, postgres, sqlite};
use crate::database::{MYSQL, POSTGRES};
use crate::layout::broken;

impl Plan {
    pub fn new(counting: Counting) -> Result<Self> {
        let targets = counting.targets.iter();
        Ok(Plan {
            triggers: triggers(&counting)?,
            compared: targets.map(|target| counting.compared(target)).collect(),
            counting,
        })
    }

    /// Lets the migration also correct the entities for which a definition that goes has counted.
    /// An entity without a row of the new condition would keep its old count.
    pub fn take_over(&mut self, gone: &Counting) {
        for (target, compared) in self.counting.targets.iter().zip(&mut self.compared) {
            let counted_there = |old: &&Target| {
                let mut names = old.names.iter();
                old.table.is(&target.table) && names.any(|name| target.names.contains(name))
            };
            for old in gone.targets.iter().filter(counted_there) {
                let counted_for_all = matches!(gone.compared(old), Compared::All);
                match (&mut *compared, &old.only) {
                    (Compared::WithRows { or_where }, Some(only)) => or_where.push(only.clone()),
                    (Compared::WithRows { .. }, None) if counted_for_all => {
                        *compared = Compared::All;
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The triggers of a definition. It is an error if triggers of this database could not count the
/// rows.
pub fn triggers(counting: &Counting) -> Result<Vec<Trigger>> {
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
        let drops = gone.iter().map(Gone::drops_all);
        return Ok(broken(&drops.collect::<String>()));
    };
    let up = match first.counting.database {
        POSTGRES => postgres::up(new, gone)?,
        MYSQL => mysql::up(new, gone)?,
        _ => sqlite::up(new, gone)?,
    };
    Ok(broken(&(comment.to_owned() + &up)))
}
