//! What the conflict policies of statements do to triggers.

mod conflicts;
mod replaced;
