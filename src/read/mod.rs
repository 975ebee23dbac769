//! Reading counters.

mod by_key;
pub(crate) mod days;
pub(crate) mod ranking;
pub(crate) mod series;
pub(crate) mod sums;
pub(crate) mod total;
pub(crate) mod value;
