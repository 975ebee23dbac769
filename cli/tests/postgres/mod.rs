//! What roles that do not trust each other can do, and what row level security and replaced tables do to counts.

mod attached;
mod attacks;
mod comments;
mod faults;
mod replaced;
mod roles;
mod row_security;
mod slots;
mod types;
