//! The period that the table counts by, as the database has it.

use anyhow::Result;

use super::fault::{Fault, faults};
use crate::catalogue::{Shape, statement_of};
use crate::connection::AnyConnection;
use crate::period::Period;

faults! {
    NO_PERIOD = Note, "no_period":
        "fold into weeks, months or years, and materialize of some days, require it, or --period.";
    UNREADABLE_PERIOD = Wrong, "unreadable_period": "compact, fold and materialize fail.";
}

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let (table, day) = (shape.table, shape.day);
    if table.primary_key != shape.key() || !table.holds_days(day) {
        return Ok(Vec::new());
    }
    let fault = match table.period(day) {
        Ok(Some(_)) => return Ok(Vec::new()),
        Ok(None) => NO_PERIOD.found("The database does not have the period that it counts by."),
        Err(lines) => {
            UNREADABLE_PERIOD.found(format!("The comment of {} is no period: {lines}", day.name))
        }
    };
    Ok(
        vec![match statement_of(table, day, Period::Day, conn.database()) {
        Some(statement) => Fault {
            sql: vec![statement],
            ..fault.remedy(
                "Write it into a comment, with the period of its counter_table!: day, which is the \
                 default, week, month, year or total. This changes no row.",
            )
        },
        None => fault.remedy(
            "SQLite cannot change a comment: give --period, or create another table with \
             `diesel-counters generate migration --period …`, and copy the rows.",
        ),
    }],
    )
}
