//! Adding to counters.

pub(crate) mod any_table_rows;
pub(crate) mod countable;
pub(crate) mod gathered;
pub(crate) mod increment;
pub(crate) mod many;
mod row_amounts;
#[cfg(feature = "postgres")]
pub(crate) mod statement;
pub(crate) mod table_rows;
pub(crate) mod target;
pub(crate) mod transaction;
