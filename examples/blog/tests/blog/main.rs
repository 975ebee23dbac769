//! What the blog does, through its pages and its command line.
//!
//! On SQLite; on another server where `TEST_DATABASE_URL` says so, as
//! `postgres://postgres@localhost/postgres` does. Each test has a database of its
//! own there.

mod chart;
mod database;
mod foreign_forms;
mod import_log;
mod likes;
mod list;
mod locked;
mod maintain;
mod multi_connection;
mod pages;
mod slow_clients;
mod start;
mod visit;
