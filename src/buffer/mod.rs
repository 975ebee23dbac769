//! Counting in memory, and writing the counts from a background thread: the settings of a
//! [`CounterBuffer`](crate::CounterBuffer), and what it reports.

pub(crate) mod commits;
pub(crate) mod counter_buffer;
pub(crate) mod read;
mod shared;
pub(crate) mod write;
pub(crate) mod writer;

pub use counter_buffer::CounterBufferBuilder;
pub use read::Pending;
pub use write::{BufferError, Dropped, Write};
