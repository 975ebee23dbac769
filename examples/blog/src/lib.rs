//! A small blog on synchronous Diesel that counts views, likes and comments with `diesel_counters`.
// Diesel's derives generate items without documentation.
#![allow(missing_docs)]

pub mod article;
pub mod db;
mod pages;
pub mod race;
mod race_view;
pub mod readers;
pub mod sample;
pub mod schema;
pub mod server;
mod visitor;
