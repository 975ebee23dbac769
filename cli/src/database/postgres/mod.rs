//! PostgreSQL.

pub mod locks;
