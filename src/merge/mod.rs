//! Keeping tables small: merging slots, folding days, and copying totals to the parent table.

pub(crate) mod compact;
pub(crate) mod materialize;
mod parent_rows;
mod range;
mod run;
