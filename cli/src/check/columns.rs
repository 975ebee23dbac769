//! The columns of the key, and those that do not count.

use anyhow::Result;

use super::faults::{COLLATION, DAY_TYPE, NO_DEFAULT, PADDING, SLOT_TYPE};
use super::several_rows;
use crate::catalogue::{Column, Shape};
use crate::connection::AnyConnection;
use crate::database::{Change, Fault};

pub fn faults(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let database = conn.database();
    let mut faults = Vec::new();
    for (column, wanted) in [(shape.day, "DATE"), (shape.slot, "SMALLINT")] {
        faults.extend(column_of_key(shape, column, wanted, conn)?);
    }
    for column in &shape.entity {
        faults.extend(collation(shape, column, conn)?);
    }
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
        let script = database.change(&default, shape.table);
        faults.push(fault.change("Choose its default.", script));
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
    let change = Change::sql_type(column, wanted);
    let Some(script) = conn.database().change(&change, shape.table) else {
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
    let Some(as_day) = conn.database().as_day(shape.day) else {
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

fn collation(
    shape: &Shape<'_>,
    entity: &Column,
    conn: &mut AnyConnection,
) -> Result<Option<Fault>> {
    let Some(collation) = &entity.loose_collation else {
        return Ok(None);
    };
    // Texts that the parent's key takes as equal are one entity.
    if let Some(parent) = &entity.refers_to {
        let table = conn.database().parent(parent, conn)?;
        let column = table.as_ref().and_then(|t| t.column(&parent.column));
        if column.is_none_or(|column| column.loose_collation.as_ref() == Some(collation)) {
            return Ok(None);
        }
    }
    let fault = match conn.database().only_ignores_spaces(collation) {
        true => PADDING,
        false => COLLATION,
    };
    let exact_type = conn.database().exact_type(entity);
    let change = Change::sql_type(entity, &exact_type);
    let script = conn.database().change(&change, shape.table);
    let fault = fault.found(format!("{} has the collation {collation}.", entity.name));
    Ok(Some(fault.change(
        "Give it a collation that tells them apart, and the same one to each column that it is \
         joined to.",
        script,
    )))
}
