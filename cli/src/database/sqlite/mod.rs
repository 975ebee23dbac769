//! SQLite.

pub mod locks;
