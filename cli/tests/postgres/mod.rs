//! What roles that do not trust each other can do, what row level security and replaced tables do to counts, and which
//! old row is which new one.

mod attached;
mod attacks;
mod comments;
mod faults;
mod kept;
mod replaced;
mod roles;
mod row_security;
mod schemas;
mod slots;
mod types;
