//! How the slots of a day are filled.

use std::time::Duration;

use anyhow::Result;
use chrono::NaiveDate;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Double, Nullable, SmallInt};

use super::database::Database;
use super::report::{DayOfSlots, SlotOfDay};
use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::sql::{quoted, sql};

#[derive(QueryableByName)]
struct LastDay {
    #[diesel(sql_type = Nullable<Date>)]
    day: Option<NaiveDate>,
}

#[derive(QueryableByName)]
struct Slot {
    #[diesel(sql_type = SmallInt)]
    slot: i16,
    #[diesel(sql_type = BigInt)]
    row_count: i64,
    #[diesel(sql_type = Double)]
    counted: f64,
}

/// The key begins with the entity, so that a day is found by reading the whole table.
const AT_MOST: Duration = Duration::from_secs(10);

/// The last day that has rows.
pub fn last_day(
    conn: &mut AnyConnection,
    counters: &CounterTable,
    database: &Database,
) -> Result<Option<DayOfSlots>> {
    (database.limit_statements)(conn, AT_MOST)?;
    let dialect = conn.dialect();
    let table = counters.sql_name(dialect);
    let day = quoted(dialect, &counters.day.name);
    let last: LastDay = sql(format!("SELECT MAX({day}) AS day FROM {table}")).get_result(conn)?;
    let Some(last) = last.day else {
        return Ok(None);
    };

    let slot = quoted(dialect, &counters.slot.name);
    // Of all counters; as floating point, which never overflows.
    let double = database.words.double;
    let counter = |name| format!(" + ABS(CAST({} AS {double}))", quoted(dialect, name));
    let counted: String = counters.counters.iter().map(|c| counter(&c.name)).collect();
    let slots: Vec<Slot> = sql(format!(
        "SELECT {slot} AS slot, COUNT(*) AS row_count, SUM(CAST(0 AS {double}){counted}) AS counted \
         FROM {table} WHERE {day} = "
    ))
    .bind(last)
    .sql(format!(" GROUP BY {slot} ORDER BY counted DESC, slot"))
    .load(conn)?;
    let all: f64 = slots.iter().map(|slot| slot.counted).sum();
    let slots = slots.into_iter().map(|slot| SlotOfDay {
        slot: slot.slot,
        rows: slot.row_count,
        share: (all > 0.0).then(|| slot.counted / all),
    });
    Ok(Some(DayOfSlots {
        day: last,
        slots: slots.collect(),
    }))
}
