//! Merging in a background thread of your program: the settings of a
//! [`Compactor`](crate::Compactor), and what it reports.

pub(crate) mod thread;

pub use thread::{CompactorBuilder, Done, Run};
