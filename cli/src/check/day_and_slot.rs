//! The types of the day and the slot.

use anyhow::Result;

use super::change::{Change, as_day, change};
use super::fault::{Fault, faults};
use super::several_rows;
use crate::catalogue::{Column, Shape};
use crate::connection::AnyConnection;

faults! {
    DAY_TYPE = Wrong, "day_type":
        "diesel_counters does not compile with it. A column that holds a time as well, or a day \
         in several spellings, has many rows for one day.";
    SLOT_TYPE = Wrong, "slot_type": "diesel_counters does not compile with it.";
}

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for (column, wanted) in [(shape.day, "DATE"), (shape.slot, "SMALLINT")] {
        faults.extend(column_of_key(shape, column, wanted, conn)?);
    }
    Ok(faults)
}

/// The type of the day or the slot.
fn column_of_key(
    shape: &Shape<'_>,
    column: &Column,
    wanted: &'static str,
    conn: &mut AnyConnection,
) -> Result<Option<Fault>> {
    let is_day = wanted == "DATE";
    let (fault, has_type) = match is_day {
        true => (DAY_TYPE, shape.table.holds_days(column)),
        false => (SLOT_TYPE, shape.table.holds_slots(column)),
    };
    if has_type {
        return Ok(None);
    }
    let (name, sql_type) = (&column.name, &column.sql_type);
    let fault = fault.found(format!("{name} is {sql_type}, not {wanted}."));
    let to = Change::sql_type(column, wanted);
    let Some(script) = change(&to, shape.table, conn.database()) else {
        return Ok(Some(fault.change("", None)));
    };
    let obstacle = match is_day {
        true => day_obstacle(shape, conn)?,
        false => slot_obstacle(shape, conn)?,
    };
    Ok(Some(match obstacle {
        Some(first) => fault.remedy(format!("{first}; then make it a {wanted}.")),
        None => fault.change("Change its type.", Some(script)),
    }))
}

fn day_obstacle(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<&'static str>> {
    let Some(as_day) = as_day(shape.day, conn.database()) else {
        return Ok(Some("Look at how it writes a day, and in which time zone"));
    };
    let found = several_rows(shape, &as_day, conn)?;
    Ok(found.then_some("First add up the rows of one day, of which there are several"))
}

fn slot_obstacle(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<&'static str>> {
    let database = conn.database();
    let slot = database.quoted(&shape.slot.name);
    let beyond = format!("{slot} NOT BETWEEN 0 AND 32767");
    let is_wrong = !shape.slot.kind.is_integer() || database.count(shape.table, &beyond, conn)? > 0;
    Ok(is_wrong.then_some("Look at what it holds"))
}
