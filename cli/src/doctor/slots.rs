//! How the slots of a day are filled.

use std::time::Duration;

use anyhow::Result;
use chrono::NaiveDate;
use diesel::dsl;
use diesel::prelude::*;
use diesel::sql_types::{Date, Nullable};

use super::database::Database;
use super::report::Slot;
use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::sql::{quoted, sql};

/// The key begins with the entity, so that a day is found by reading the whole table.
const AT_MOST: Duration = Duration::from_secs(10);

/// The slots of the last day that has rows.
pub fn of_last_day(
    conn: &mut AnyConnection,
    counters: &CounterTable,
    database: &Database,
) -> Result<(Option<NaiveDate>, Vec<Slot>)> {
    (database.limit_statements)(conn, AT_MOST)?;
    let name = |name: &str| quoted(database.dialect, name);
    let table = counters.sql_name(database.dialect);
    let (day, slot) = (name(&counters.day.name), name(&counters.slot.name));
    let last_day = dsl::sql::<Nullable<Date>>(&format!("(SELECT MAX({day}) FROM {table})"));
    let last_day: Option<NaiveDate> = diesel::select(last_day).get_result(conn)?;
    let Some(date) = last_day else {
        return Ok((None, Vec::new()));
    };
    // Floating point never overflows.
    let double = database.double;
    let counter = |counter: &str| format!(" + ABS(CAST({} AS {double}))", name(counter));
    let counted: String = counters.counters.iter().map(|c| counter(&c.name)).collect();
    let sum = format!("SUM(CAST(0 AS {double}){counted})");
    let slots = sql(format!(
        "SELECT {slot} AS slot, COUNT(*) AS row_count, {sum} / NULLIF(SUM({sum}) OVER (), 0) AS share \
         FROM {table} WHERE {day} = "
    ))
    .bind(date)
    .sql(format!(" GROUP BY {slot} ORDER BY share DESC, slot"));
    Ok((last_day, slots.load(conn)?))
}
