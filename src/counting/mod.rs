//! Adding to counters.

pub(crate) mod deltas;
pub(crate) mod increment;
pub(crate) mod increment_many;
