//! The fault that counts can be lost.

use crate::fault::{Fault, wrong};

/// `what` is the trigger or the rule, and its table.
pub fn veto(what: &str) -> Fault {
    let what = format!("{what} can skip or change what is written.");
    let cost = "The database reports success, and counts are lost: those of the program, of \
                triggers, of merges and of corrections.";
    wrong("veto", what, cost).remedy(
        "Drop it, or let it leave the counters and their rows alone. Then correct the counts, with \
         `diesel-counters recount` if triggers count them.",
    )
}
