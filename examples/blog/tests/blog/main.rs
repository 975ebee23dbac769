//! What the blog does, through its pages and its command line.
//!
//! On SQLite; on another server if `TEST_DATABASE_URL` names one, such as
//! `postgres://postgres@localhost/postgres`. Each test has a database of its own there.

mod browser;
mod counting;
mod forms;
mod in_browser;
mod pages;
mod race;
mod start;
mod support;
