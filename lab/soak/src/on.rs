//! What runs on connections.
//!
//! Each of `sqlite.rs`, `mysql.rs` and `postgres.rs` includes this file and the files that it
//! names, so that they are compiled with the connection type of that database. What differs between
//! the databases is in these modules, under the same names.

use super::*;

#[path = "attempt/mod.rs"]
mod attempt;
#[path = "audit.rs"]
pub mod audit;
#[path = "buffered/run.rs"]
pub mod buffered;
#[path = "own_database.rs"]
pub mod own_database;
#[path = "planted.rs"]
mod planted;
#[path = "reads.rs"]
mod reads;
#[path = "soak.rs"]
pub mod soak;
#[path = "thread.rs"]
pub mod thread;

#[path = "gated/driver.rs"]
mod driver;
#[path = "gated/level.rs"]
pub mod level;
#[path = "gated/operations.rs"]
pub mod operations;
#[path = "gated/planted_locks.rs"]
mod planted_locks;
#[path = "gated/worker.rs"]
pub mod worker;
