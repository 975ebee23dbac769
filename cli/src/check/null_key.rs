//! A primary key that accepts NULL, as only SQLite has it.

use anyhow::Result;

use super::fault::{Fault, faults};
use crate::catalogue::Shape;
use crate::connection::AnyConnection;

faults! {
    NULL_KEY = Wrong, "null_key":
        "SQLite treats each NULL as different: an increment adds a row, and never adds to an \
         existing one.";
}

pub fn check(shape: &Shape<'_>, _: &mut AnyConnection) -> Result<Vec<Fault>> {
    let may_be_null = shape
        .key_columns()
        .filter(|column| column.nullable && shape.table.primary_key.contains(&column.name));
    let names: Vec<_> = may_be_null.map(|column| &*column.name).collect();
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let names = names.join(" and ");
    let fault = NULL_KEY.found(format!("{names} may be NULL, though in the primary key."));
    Ok(vec![fault.change("", None)])
}
