//! What runs on connections. It is compiled once for each database, whose module has what differs.

use super::*;

#[path = "attempt.rs"]
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
