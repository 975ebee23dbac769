//! Functions of triggers whose definition is gone: it was their comment, which `pg_dump
//! --no-comments` leaves out.

use anyhow::Result;

use crate::connection::AnyConnection;
use crate::fault::{Fault, note, wrong};
use crate::triggers::lost;

/// The faults of these functions, with their names.
pub fn functions(conn: &mut AnyConnection) -> Result<Vec<(String, Vec<Fault>)>> {
    let lost = lost(conn)?.into_iter();
    let faults = lost.map(|function| {
        let is_own = function.is_own;
        let function = format!("{}.{}", function.schema, function.name);
        let what = format!(
            "The function {function}() counts rows, and has lost its comment, which has its definition."
        );
        let cost = "Nothing can tell whether its triggers are there, and no recount knows what they count.";
        // Anybody can create what looks like one.
        let fault = match is_own {
            true => wrong("trigger_lost", what, cost).remedy(
                "Run the COMMENT ON FUNCTION of its migration again. Dump without --no-comments.",
            ),
            false => note("trigger_lost", what, "It belongs to another role."),
        };
        (function, vec![fault])
    });
    Ok(faults.collect())
}
