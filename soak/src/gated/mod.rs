//! Runs cases on this database's connections, and compares what they leave.

mod driver;
pub mod level;
pub mod operations;
mod planted_locks;
mod worker;
