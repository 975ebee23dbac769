//! Functions of triggers whose definition is gone: it was their comment, which `pg_dump
//! --no-comments` leaves out.

use anyhow::Result;

use crate::connection::AnyConnection;
use crate::fault::{FaultsOf, note, wrong};
use crate::triggers::{Lost, lost};

/// The faults of these functions, with their names.
pub fn functions(conn: &mut AnyConnection) -> Result<Vec<FaultsOf>> {
    let faults_of = |lost: Lost| {
        let function = format!("{}.{}", lost.schema, lost.name);
        let what = format!(
            "The function {function}() counts rows, and has lost its comment, which has its \
             definition."
        );
        let cost = "Nothing can tell whether its triggers are there, and no recount knows what \
                    they count.";
        // Anybody can create what looks like one.
        let fault = if lost.is_own {
            let remedy =
                "Run the COMMENT ON FUNCTION of its migration again. Dump without --no-comments.";
            wrong("trigger_lost", what, cost).remedy(remedy)
        } else {
            note("trigger_lost", what, "It belongs to another role.")
        };
        FaultsOf {
            table: function,
            faults: vec![fault],
        }
    };
    Ok(lost(conn)?.into_iter().map(faults_of).collect())
}
