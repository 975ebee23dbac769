//! Merging the rows of counter tables, and copying totals.

pub mod compact;
#[cfg(feature = "r2d2")]
pub mod compactor;
pub mod materialize;
pub mod merge;
mod parent_rows;
mod range;
mod skipped;
pub mod statements;
