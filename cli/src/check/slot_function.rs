//! The function that triggers on PostgreSQL choose their slot with.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::Bool;

use crate::connection::AnyConnection;
use crate::database::POSTGRES;
use crate::fault::{Fault, wrong};
use crate::triggers::Counting;

/// Finds out whether the function is missing that the triggers choose their slot with. PostgreSQL
/// lets you drop it: it doesn't know that the triggers need it, because their bodies are text.
pub fn slot_function(counting: &Counting, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let uses_slots = counting.targets.iter().any(|target| target.slots.is_some());
    if counting.database != POSTGRES || !uses_slots {
        return Ok(None);
    }
    let exists = "SELECT EXISTS (SELECT FROM pg_proc WHERE proname = 'diesel_counters_slot')";
    if sql::<Bool>(exists).get_result(conn)? {
        return Ok(None);
    }
    let name = &counting.definition.name;
    let what =
        format!("There is no function diesel_counters_slot, which the triggers {name} call.");
    let cost = "Every INSERT and DELETE of the rows fails.";
    Ok(Some(wrong("trigger_missing", what, cost).remedy(format!(
        "If the migration of {name} has not run yet, run it. Otherwise write the function again, and \
         run that migration: `diesel-counters generate triggers NAME --repair {name}`."
    ))))
}
