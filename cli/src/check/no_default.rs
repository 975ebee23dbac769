//! Columns without a default that do not count.

use anyhow::Result;

use super::change::{Change, change};
use super::fault::{Fault, faults};
use crate::catalogue::Shape;
use crate::connection::AnyConnection;

faults! {
    NO_DEFAULT = Wrong, "no_default":
        "An increment that adds a row fails, because it sets the key and the counters only.";
}

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let others = shape.table.columns.iter().filter(|column| {
        let is_known = shape.is_key(column) || shape.is_counter(column);
        let has_value = column.nullable || column.default.is_some();
        !(is_known || has_value || column.auto_increment || column.generated)
    });
    for column in others {
        let fault = NO_DEFAULT.found(format!("{} is NOT NULL and has no default.", column.name));
        let default = Change::Column {
            column,
            sql_type: None,
            default: Some("…"),
            not_null: false,
        };
        let script = change(&default, shape.table, conn.database());
        faults.push(fault.change("Choose its default.", script));
    }
    Ok(faults)
}
