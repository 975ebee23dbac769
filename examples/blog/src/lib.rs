//! A small blog on synchronous Diesel that counts views, likes and comments with
//! `diesel_counters`. The README lists what each file shows.

#[cfg(not(any(feature = "sqlite", feature = "postgres", feature = "mysql")))]
compile_error!("choose a database: `--features sqlite`, `postgres` or `mysql`");

mod access_log;
mod chart;
// Diesel's derive generates items without documentation.
#[allow(missing_docs)]
mod connection;
pub mod db;
mod errors;
mod forms;
pub mod import;
mod likes;
mod list;
pub mod maintain;
mod migrations;
pub mod models;
mod pages;
#[allow(missing_docs)]
pub mod schema;
pub mod server;
mod sort;
mod thousands;
pub mod views;
mod visitor;

pub use thousands::Thousands;
