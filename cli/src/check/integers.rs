//! Values of a counter on SQLite.

use anyhow::Result;
use diesel_counters::Dialect;

use super::fault::{Fault, faults};
use crate::catalogue::{Kind, Shape};
use crate::connection::AnyConnection;
use crate::database::SQLITE;
use crate::output::thousands;

faults! {
    UNCHECKED = Wrong, "unchecked":
        "Another program can store other values than integers, and SQLite's own + turns into \
         floating point when it overflows.";
    NO_INTEGER = Wrong, "no_integer": "A sum over it is an error.";
}

/// SQLite stores anything in a column of a table that is not STRICT.
pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if conn.dialect() != Dialect::Sqlite || shape.table.strict {
        return Ok(faults);
    }
    let definition = plain(shape.table.definition.as_deref().unwrap_or_default());
    let check = |name: &str| plain(&format!("typeof({name})='integer'"));
    let names = shape.counters.iter().map(|counter| counter.name.as_str());
    let unchecked: Vec<_> = names
        .filter(|name| !definition.contains(&check(name)))
        .collect();
    if !unchecked.is_empty() {
        let has = if unchecked.len() == 1 { "has" } else { "have" };
        let what = format!(
            "{} {has} no CHECK (typeof(…) = 'integer').",
            unchecked.join(", ")
        );
        faults.push(UNCHECKED.found(what).change("", None));
    }
    // All values of a REAL column are floating-point numbers.
    for counter in shape.counters.iter().filter(|c| c.kind != Kind::Real) {
        let condition = format!(
            "typeof({}) NOT IN ('integer', 'null')",
            SQLITE.quoted(&counter.name)
        );
        let rows = match SQLITE.count(shape.table, &condition, conn)? {
            0 => continue,
            1 => "One row has".to_owned(),
            rows => format!("{} rows have", thousands(rows)),
        };
        let what = format!("{rows} a value of {} that is not an integer.", counter.name);
        let fault = NO_INTEGER.found(what);
        let fault = fault.remedy("Look at it, and correct the count before anything else.");
        let table = SQLITE.table_name(shape.table);
        let sql = vec![format!("SELECT * FROM {table} WHERE {condition};")];
        faults.push(Fault { sql, ..fault });
    }
    Ok(faults)
}

/// SQL without spaces and quotes, in lower case.
fn plain(sql: &str) -> String {
    let is_kept = |c: &char| !c.is_whitespace() && !"\"`[]".contains(*c);
    sql.chars()
        .filter(is_kept)
        .collect::<String>()
        .to_lowercase()
}
