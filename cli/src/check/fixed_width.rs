//! A key of PostgreSQL's `CHAR(n)`.

use anyhow::Result;
use diesel_counters::Dialect;

use super::change::{Change, change};
use super::fault::{Fault, faults};
use crate::catalogue::Shape;
use crate::connection::AnyConnection;

faults! {
    FIXED_WIDTH = Slow, "fixed_width":
        "Diesel binds a TEXT. PostgreSQL compares it with the column as TEXT, which no index has: \
         each read scans the whole table.";
}

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    if conn.dialect() != Dialect::PostgreSql {
        return Ok(Vec::new());
    }
    let faults = shape.entity.iter().filter_map(|entity| {
        // `format_type` writes it in these ways.
        let name = entity.sql_type.split('(').next()?;
        matches!(name, "character" | "bpchar").then(|| {
            let what = format!("{} is {}, not TEXT.", entity.name, entity.sql_type);
            let script = change(
                &Change::sql_type(entity, "TEXT"),
                shape.table,
                conn.database(),
            );
            FIXED_WIDTH.found(what).change("Change its type.", script)
        })
    });
    Ok(faults.collect())
}
