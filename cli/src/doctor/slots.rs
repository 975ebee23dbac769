//! How the slots of a day are filled.

use std::time::Duration;

use anyhow::Result;
use chrono::NaiveDate;

use super::report::Slot;
use crate::catalogue::CounterTable;
use crate::connection::AnyConnection;
use crate::locks::limit_statements;
use crate::sql::sql;
use crate::sums::{By, Sums, sums};

/// The key begins with the entity, so that a day is found by reading the whole table.
const AT_MOST: Duration = Duration::from_secs(10);

/// The slots of the last day that has rows, the one with the highest count first. A table that has
/// counts without a day only has them on 1970-01-01.
pub fn of_last_day(
    counters: &CounterTable,
    conn: &mut AnyConnection,
) -> Result<(Option<NaiveDate>, Vec<Slot>)> {
    limit_statements(AT_MOST, conn)?;
    let mut sums = |by, days| {
        let rows = (&sql("1 = 1"), days);
        sums(counters, &counters.counters, by, rows, None, conn)
    };
    let table = sums(By::Nothing, (None, None))?;
    let Some(table) = table.first().filter(|table| table.rows > 0) else {
        return Ok((None, Vec::new()));
    };
    let day = table.last_day.unwrap_or_default();
    let slots = sums(By::Slot, (Some(day), Some(day)))?;
    // Floating point never overflows.
    let count = |slot: &Sums| -> f64 { slot.sums.iter().map(|sum| (*sum as f64).abs()).sum() };
    let all: f64 = slots.iter().map(count).sum();
    let mut slots: Vec<Slot> = slots
        .iter()
        .map(|slot| Slot {
            slot: slot.slot.unwrap_or_default(),
            row_count: slot.rows,
            share: (all > 0.0).then(|| count(slot) / all),
        })
        .collect();
    let share = |slot: &Slot| slot.share.unwrap_or(0.0);
    slots.sort_by(|a, b| share(b).total_cmp(&share(a)));
    Ok((Some(day), slots))
}
