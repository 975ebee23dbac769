//! What an application declares: counter tables and their counters.

pub(crate) mod copied;
pub(crate) mod counters;
pub(crate) mod names;
pub(crate) mod parent;
pub(crate) mod table;
