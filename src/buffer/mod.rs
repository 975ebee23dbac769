//! Counting in memory, and writing the counts from a background thread.

pub(crate) mod counter_buffer;
pub(crate) mod write;
pub(crate) mod writer;
