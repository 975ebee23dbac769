//! Keeping tables small: merging slots, folding days, and copying totals to the parent table.

pub(crate) mod compact;
pub(crate) mod materialize;
mod parent_rows;
mod range;
mod run;

use std::fmt::Debug;

use diesel::QueryResult;

use crate::error::refuse;

/// The greatest number of rows in a batch. Statements with more rows take long to prepare.
const MAX_BATCH: usize = 1_000;

/// The last keys of the batches so far. The next batch begins after the last one.
struct Ends<K>(Vec<K>);

impl<K> Default for Ends<K> {
    fn default() -> Self {
        Ends(Vec::new())
    }
}

impl<K: Clone + Debug + PartialEq> Ends<K> {
    fn last(&self) -> Option<K> {
        self.0.last().cloned()
    }

    /// Fails if the key was there before. SQLite stores any value in any column: if a key is stored
    /// as a value that sorts after the key that is read for it, a run would never end.
    fn push(&mut self, last: K) -> QueryResult<()> {
        if self.0.contains(&last) {
            return refuse(format!(
                "SQLite stores the key {last:?} as another type than its column's, so the rows after \
                 it are never reached: store it as the column's type"
            ));
        }
        self.0.push(last);
        Ok(())
    }
}
