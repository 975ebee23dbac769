//! MySQL and MariaDB.

pub mod deadlock;
mod lock_data;
pub mod locks;
