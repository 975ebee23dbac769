//! Merging in a background thread of a program: what a [`Compactor`](crate::Compactor) reports.

pub(crate) mod thread;

pub use thread::{CompactorBuilder, Done, Run};
