//! The counter tables that a command runs on if you don't name one.

use anyhow::{Result, bail};

use crate::catalogue::{self, CounterTable, is_meant_to_count};
use crate::connection::AnyConnection;

/// Returns the counter tables that `check` would check. Fails if there are none.
pub fn all_counter_tables(conn: &mut AnyConnection) -> Result<Vec<CounterTable>> {
    let all: Vec<_> = catalogue::tables(conn)?
        .into_iter()
        .filter(is_meant_to_count)
        .filter_map(|table| CounterTable::try_from(table).ok())
        .collect();
    if all.is_empty() {
        let tables = catalogue::counter_tables_hint(conn)?;
        bail!(
            "found no table to run on. Is this the right database? To run on a table anyway, name \
             it; {tables}"
        );
    }
    Ok(all)
}
