//! Putting counts right, copying them elsewhere, and removing them.

pub(crate) mod compared;
pub(crate) mod delete;
pub(crate) mod materialize;
pub(crate) mod recount;
pub(crate) mod set;
pub(crate) mod true_counts;
