//! Keeping tables small: merging slots, folding days, and copying totals to the parent table.

pub(crate) mod compact;
pub(crate) mod materialize;
mod parent_rows;
mod range;
mod run;

use std::collections::BTreeSet;
use std::fmt::Debug;

use diesel::QueryResult;

use crate::error::refuse;

/// The maximum number of rows in a batch. Statements with more rows take long to prepare.
const MAX_BATCH: usize = 1_000;

/// The last key of every batch so far. The next batch begins after the latest of them.
struct Ends<K> {
    all: BTreeSet<K>,
    last: Option<K>,
}

impl<K> Default for Ends<K> {
    fn default() -> Self {
        Ends {
            all: BTreeSet::new(),
            last: None,
        }
    }
}

impl<K: Clone + Debug + Ord> Ends<K> {
    /// Adds the last key of a batch. Fails if an earlier batch ended with the same key. SQLite
    /// stores any value in any column: if a key is stored as a value that sorts after the key that
    /// it's read as, a run would never end.
    fn push(&mut self, last: K, table: &str) -> QueryResult<()> {
        if !self.all.insert(last.clone()) {
            return refuse(format!(
                "SQLite stores a key of `{table}` as another type than its column's, so a run would \
                 never get past {last:?}: store it as the column's type"
            ));
        }
        self.last = Some(last);
        Ok(())
    }
}
