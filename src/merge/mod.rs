//! Keeping tables small: merging slots, folding days, and copying totals to the parent table.

pub(crate) mod compact;
pub(crate) mod materialize;
mod parent_rows;
mod range;
mod run;

/// The greatest number of rows in a batch. Statements with more rows take long to prepare.
const MAX_BATCH: usize = 1_000;
