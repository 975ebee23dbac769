//! `REPLACE INTO` deletes the row that it replaces, and a cascade deletes the counts with it.

use anyhow::Result;

use super::fault::{Fault, faults};
use super::words;
use crate::catalogue::Shape;
use crate::connection::AnyConnection;

faults! {
    CASCADE = Note, "cascade":
        "It replaces a row by deleting it, and ON DELETE CASCADE deletes the counts of that row.";
}

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let parent = shape.entity.first().and_then(|key| key.refers_to.as_ref());
    let parent = parent.filter(|parent| parent.cascades());
    let (Some(parent), Some(instead)) = (parent, words::of(conn.dialect()).instead_of_replace)
    else {
        return Ok(Vec::new());
    };
    let table = &parent.table;
    let fault = CASCADE.found(format!("REPLACE INTO {table} can delete counts."));
    Ok(vec![fault.remedy(format!(
        "Write {table} with {instead} instead: on_conflict(…).do_update() in Diesel, not replace_into."
    ))])
}
