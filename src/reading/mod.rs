//! Reading counters.

pub(crate) mod counter_series;
pub(crate) mod counter_value;
pub(crate) mod days;
pub(crate) mod layout_sums;
pub(crate) mod ranking;
pub(crate) mod sums;
pub(crate) mod total;
