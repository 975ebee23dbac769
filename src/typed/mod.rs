//! What an application declares: counter tables, their counters and their keys.

pub(crate) mod counters;
pub(crate) mod entities;
pub(crate) mod key;
mod key_values;
pub(crate) mod names;
pub(crate) mod parent;
pub(crate) mod primary_key;
pub(crate) mod stored_key;
pub(crate) mod table;
