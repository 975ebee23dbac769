//! What only PostgreSQL has or does.

mod attached;
mod attacks;
mod changed;
mod comments;
mod counting;
mod doctor;
mod faults;
mod foreign_keys;
mod kept;
mod migrations;
mod owners;
mod planted;
mod renamed;
mod replaced;
mod roles;
mod row_security;
mod schemas;
mod slots;
mod types;
