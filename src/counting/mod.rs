//! Statements that count.

pub(crate) mod changes;
pub(crate) mod increment;
pub(crate) mod increment_many;
mod listed_rows;
#[cfg(feature = "postgres")]
mod unnested_rows;
