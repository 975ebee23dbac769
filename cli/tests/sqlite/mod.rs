//! What the conflict policies of statements do to triggers.

mod collations;
mod conflicts;
mod replaced;
