//! Correcting counts, and removing them.

pub(crate) mod delete;
pub(crate) mod drift;
pub(crate) mod recount;
#[cfg(feature = "triggers")]
pub(crate) mod recount_triggers;
pub(crate) mod set;
pub(crate) mod set_days;
mod set_days_statements;
pub(crate) mod stored;
#[cfg(feature = "triggers")]
pub(crate) mod trigger_statements;
pub(crate) mod true_counts;
