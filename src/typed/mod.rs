//! What an application declares: counter tables, their counters and their keys.

pub(crate) mod counters;
pub(crate) mod key;
pub(crate) mod settings;
pub(crate) mod stored_key;
pub(crate) mod table;
