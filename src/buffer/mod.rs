//! Counting in memory, and writing the counts from a background thread.

mod backlog;
mod batches;
pub(crate) mod counter_buffer;
mod refusing;
mod shards;
pub(crate) mod write;
mod writer;
