//! `STRICT` tables of SQLite.

use anyhow::Result;

use super::fault::{Fault, faults};
use crate::catalogue::Shape;
use crate::connection::AnyConnection;

faults! {
    STRICT = Hint, "strict":
        "diesel_counters does not compile with them: it requires Date, SmallInt and BigInt.";
}

/// A STRICT table has no DATE, SMALLINT or BIGINT. SQLite stores a day as text, and all integers have
/// 64 bits, so a `table!` with other types than its declared ones is right.
pub fn check(shape: &Shape<'_>, _conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    if !shape.table.strict {
        return Ok(Vec::new());
    }
    let name = &shape.table.name;
    let fault = STRICT.found(
        "It is STRICT, and diesel print-schema prints Text, Integer, Integer for the day, the slot and \
         a counter.",
    );
    Ok(vec![fault.remedy(format!(
        "Write its table! by hand with these types, and leave it out in diesel.toml: filter = {{ \
         except_tables = [\"{name}\"] }}. Or create a table that is not STRICT with `diesel-counters \
         generate migration`, whose checks accept integers only, and copy the rows."
    ))])
}
