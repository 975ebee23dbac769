//! What each database is asked, and in which SQL.

pub mod mysql;
pub mod postgres;
pub mod sqlite;
