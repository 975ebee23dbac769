//! Counting in memory, and writing the counts from a background thread.

pub(crate) mod counter_buffer;
mod lock_waits;
mod shards;
pub(crate) mod write;
mod writer;
