//! The counters: their types, NULL and defaults.

use anyhow::Result;

use super::change::Change;
use super::fault::{Fault, faults};
use crate::catalogue::{Column, Kind, Shape, is_zero};
use crate::connection::AnyConnection;
use crate::database::Database;
use crate::output::thousands;

faults! {
    REAL_COUNTER = Wrong, "counter_type":
        "A large floating-point number does not count by ones, and diesel_counters counts in \
         BIGINT columns only.";
    SMALLINT_COUNTER = Wrong, "counter_type":
        "Increments fail from 32,767 on, and diesel_counters counts in BIGINT columns only.";
    INTEGER_COUNTER = Wrong, "counter_type":
        "Increments fail from 2,147,483,647 on, and diesel_counters counts in BIGINT columns only.";
    OTHER_COUNTER = Wrong, "counter_type": "diesel_counters counts in BIGINT columns only.";
    NO_COUNTER = Hint, "no_counter": "Nothing can be counted in it.";
    NULL_COUNTER = Wrong, "null_counter": "NULL + 1 is NULL: the counts of such a row are lost.";
    COUNTER_WITHOUT_DEFAULT = Wrong, "no_default":
        "An increment of other counters that adds a row fails.";
    DEFAULT_NOT_0 = Wrong, "default_not_0":
        "An increment of other counters that adds a row adds this much to it.";
}

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if shape.counters.is_empty() {
        let fault = NO_COUNTER.found("It has no counter.");
        faults.push(fault.remedy(
            "Add a column for each counter, as `diesel-counters generate migration` writes them.",
        ));
    }
    for counter in &shape.counters {
        faults.extend(of_counter(shape, counter, conn)?);
    }
    Ok(faults)
}

/// One change removes all faults of a counter. The first fault has its SQL.
fn of_counter(shape: &Shape<'_>, counter: &Column, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let (table, database) = (shape.table, conn.database());
    let mut faults = Vec::new();
    let has_type = table.holds_counts(counter);
    let has_default = counter.default.as_deref().is_some_and(is_zero);
    let name = database.quoted(&counter.name);
    let change = Change::Column {
        column: counter,
        sql_type: (!has_type).then_some("BIGINT"),
        default: Some("0"),
        not_null: counter.nullable,
    };
    let change = |fault: Fault, remedy| {
        let mut fault = fault.change(remedy, super::change::change(&change, table, database));
        if counter.nullable && !fault.sql.is_empty() {
            let table = database.table_name(table);
            let zero = format!("UPDATE {table} SET {name} = 0 WHERE {name} IS NULL;");
            fault.sql.insert(0, zero);
        }
        fault
    };
    if !has_type {
        let fault = counter_type(counter, database);
        // It may be no counter at all.
        if !counter.kind.is_integer() {
            return Ok(vec![fault.remedy(
                "Look first whether it is a count at all, and how to round it: a change of its type \
                 would round its values.",
            )]);
        }
        let beyond = format!("{name} > {}", i64::MAX);
        let has_beyond =
            counter.kind == Kind::Unsigned && database.count(table, &beyond, conn)? > 0;
        faults.push(match has_beyond {
            true => fault.remedy("First correct the rows in which it is beyond BIGINT."),
            false => change(fault, "Change its type."),
        });
    }
    if counter.nullable {
        let stored = match database.count(table, &format!("{name} IS NULL"), conn)? {
            0 => String::new(),
            1 => " One row has NULL.".to_owned(),
            rows => format!(" {} rows have NULL.", thousands(rows)),
        };
        let fault = NULL_COUNTER.found(format!("{} may be NULL.{stored}", counter.name));
        faults.push(change(fault, "Make it NOT NULL."));
    } else if !has_default {
        let name = &counter.name;
        let fault = match &counter.default {
            None => COUNTER_WITHOUT_DEFAULT.found(format!("{name} has no default.")),
            Some(default) => {
                DEFAULT_NOT_0.found(format!("The default of {name} is {default}, not 0."))
            }
        };
        faults.push(change(fault, "Set its default to 0."));
    }
    for fault in faults.iter_mut().skip(1) {
        if !fault.sql.is_empty() {
            fault.remedy = "The change of its type corrects this too.".to_owned();
            fault.sql = Vec::new();
        }
    }
    Ok(faults)
}

fn counter_type(counter: &Column, database: Database) -> Fault {
    let fault = match database.stored_as(counter.kind) {
        Kind::Real => REAL_COUNTER,
        Kind::SmallInt => SMALLINT_COUNTER,
        Kind::Integer => INTEGER_COUNTER,
        _ => OTHER_COUNTER,
    };
    let (name, sql_type) = (&counter.name, &counter.sql_type);
    fault.found(format!("{name} is {sql_type}, not BIGINT."))
}
