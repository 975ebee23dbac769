//! Tests that are rolled back, as docs/testing.md says. Each one has a database of its own, to see what is left
//! in it.
#![allow(clippy::duplicate_mod, reason = "the same tests run on each database")]

#[cfg(any(feature = "postgres", feature = "mysql"))]
#[macro_use]
mod server;

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
