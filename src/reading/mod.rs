//! Queries of counters.

pub(crate) mod ranking;
mod rows_by_key;
pub(crate) mod series;
pub(crate) mod sums;
pub(crate) mod total;
pub(crate) mod value;
pub(crate) mod values;
