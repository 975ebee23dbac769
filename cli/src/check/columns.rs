//! The columns of the key, and those that do not count.

use anyhow::Result;

use super::several_rows;
use crate::catalogue::{Column, Shape, parent_table};
use crate::connection::AnyConnection;
use crate::database::{Change, Fault, Severity};

pub fn faults(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults: Vec<_> = day(shape, conn)?.into_iter().collect();
    faults.extend(slot(shape, conn)?);
    for column in &shape.entity {
        faults.extend(collation(shape, column, conn)?);
    }
    let others = shape.table.columns.iter().filter(|column| {
        !shape.is_key(column)
            && !shape.is_counter(column)
            && !column.nullable
            && column.default.is_none()
            && !column.auto_increment
            && !column.generated
    });
    for column in others {
        let what = format!("{} is NOT NULL and has no default.", column.name);
        let cost =
            "An increment that adds a row fails, because it sets the key and the counters only.";
        let script = conn
            .database()
            .change(&Change::Default(column), shape.table);
        let fault = Severity::Wrong.of("no_default", what, cost);
        faults.push(fault.change("Choose its default.", script));
    }
    Ok(faults)
}

fn day(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let (day, database) = (shape.day, conn.database());
    if shape.table.holds_days(day) {
        return Ok(None);
    }
    let fault = Severity::Wrong.of(
        "day_type",
        format!("{} is {}, not DATE.", day.name, day.sql_type),
        "diesel_counters does not compile with it. A column that holds a time as well, or a day \
         in several spellings, has many rows for one day.",
    );
    let script = database.change(&Change::Type(day, "DATE"), shape.table);
    if script.is_some() {
        let Some(as_day) = database.as_day(day) else {
            return Ok(Some(fault.remedy(
                "Look at how it writes a day, and in which time zone; then make it a DATE.",
            )));
        };
        if several_rows(shape, &as_day, conn)? {
            return Ok(Some(fault.remedy(
                "First add up the rows of one day, of which there are several; then make it a DATE.",
            )));
        }
    }
    Ok(Some(fault.change("Change its type.", script)))
}

fn slot(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let (slot, database) = (shape.slot, conn.database());
    if shape.table.holds_slots(slot) {
        return Ok(None);
    }
    let fault = Severity::Wrong.of(
        "slot_type",
        format!("{} is {}, not SMALLINT.", slot.name, slot.sql_type),
        "diesel_counters does not compile with it.",
    );
    let script = database.change(&Change::Type(slot, "SMALLINT"), shape.table);
    if script.is_some() {
        let beyond = format!("{} NOT BETWEEN 0 AND 32767", database.quoted(&slot.name));
        if !slot.kind.is_integer() || database.count(shape.table, &beyond, conn)? > 0 {
            return Ok(Some(
                fault.remedy("Look at what it holds; then make it a SMALLINT."),
            ));
        }
    }
    Ok(Some(fault.change("Change its type.", script)))
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
        let table = parent_table(conn, parent)?;
        let column = table.as_ref().and_then(|t| t.column(&parent.column));
        if column.is_none_or(|column| column.loose_collation.as_ref() == Some(collation)) {
            return Ok(None);
        }
    }
    let (severity, fault, cost) = match conn.database().only_ignores_spaces(collation) {
        true => (
            Severity::Hint,
            "padding",
            "It takes 'foo ', with a space at its end, and 'foo' as equal, and counts them as one.",
        ),
        false => (
            Severity::Wrong,
            "collation",
            "It takes 'Foo' and 'foo' as equal, and counts them as one.",
        ),
    };
    let what = format!("{} has the collation {collation}.", entity.name);
    let script = conn
        .database()
        .change(&Change::Collation(entity), shape.table);
    let fault = severity.of(fault, what, cost).change(
        "Give it a collation that tells them apart, and the same one to each column that it is \
         joined to.",
        script,
    );
    Ok(Some(fault))
}
