//! A small blog on synchronous Diesel that counts views, likes and comments with
//! `diesel_counters`. The README lists what each file shows.
// Diesel's derives generate items without documentation.
#![allow(missing_docs)]

pub mod article;
mod chart;
pub mod db;
mod errors;
mod forms;
mod list;
pub mod live;
mod pages;
pub mod rows;
pub mod sample;
pub mod schema;
pub mod server;
mod stats;
pub mod views;
mod visitor;
