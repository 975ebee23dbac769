//! Correcting counts, and removing them.

pub(crate) mod delete;
pub(crate) mod drift;
pub(crate) mod recount;
pub(crate) mod set;
pub(crate) mod set_days;
mod set_days_statements;
pub(crate) mod stored;
pub(crate) mod true_counts;
