//! Adding to counters.

pub(crate) mod countable;
pub(crate) mod counted;
pub(crate) mod gathered;
pub(crate) mod increment;
pub(crate) mod many;
#[cfg(feature = "postgres")]
pub(crate) mod statement;
pub(crate) mod transaction;
