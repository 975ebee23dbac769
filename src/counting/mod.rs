//! Adding to counters.

#[cfg(feature = "postgres")]
pub(crate) mod counting_statement;
pub(crate) mod counting_transaction;
pub(crate) mod deltas;
pub(crate) mod gathered;
pub(crate) mod increment;
pub(crate) mod increment_many;
