//! The columns outside of the key: the counters, and others that an increment doesn't set.

use crate::catalogue::{Column, CounterTable, is_zero};
use crate::database::{Database, SQLITE};
use crate::fault::{Fault, wrong};

use super::{alter, how_to_change};

/// Finds columns outside of the key that let increments fail or count wrongly.
pub fn columns(counters: &CounterTable, database: Database) -> Vec<Fault> {
    let mut faults = Vec::new();
    if counters.counters.is_empty() {
        let fault = wrong(
            "column",
            "It has no counter.",
            "Every BIGINT column outside of the key is a counter, and there is none.",
        );
        faults.push(fault.remedy("Add a column: BIGINT NOT NULL DEFAULT 0."));
    }
    let table = &counters.table;
    for column in &table.columns {
        if !table.primary_key.contains(&column.name) {
            faults.extend(column_fault(column, counters, database));
        }
    }
    if database == SQLITE {
        faults.extend(unchecked_integers(counters));
    }
    faults
}

/// Finds out what is wrong with a column's default, or whether it can be NULL.
fn column_fault(column: &Column, counters: &CounterTable, database: Database) -> Option<Fault> {
    let name = &column.name;
    let is_counter = counters.counters.contains(column);
    let is_computed = column.auto_increment || column.generated;
    let set_default = |fault: Fault, default| {
        let quoted = database.quoted(name);
        let change = format!("ALTER COLUMN {quoted} SET DEFAULT {default}");
        let how_to = how_to_change(database, "Set its default. This changes no row.");
        fault
            .remedy(how_to)
            .run(alter(&counters.table, database, &change))
    };
    match column.default.as_deref() {
        _ if is_counter && column.nullable => {
            let what = format!("{name} may be NULL.");
            let cost = "NULL + 1 is NULL: such a row loses its counts.";
            let make = "Correct the rows that are NULL, and make it BIGINT NOT NULL DEFAULT 0.";
            Some(wrong("column", what, cost).remedy(how_to_change(database, make)))
        }
        Some(default) if is_counter && !is_zero(default) => {
            let what = format!("The default of {name} is {default}, not 0.");
            let cost = "If an increment of another counter adds a row, it adds this much here.";
            Some(set_default(wrong("column", what, cost), "0"))
        }
        None if !column.nullable && !is_computed => {
            let what = format!("{name} is NOT NULL and has no default.");
            let cost = "An increment only sets the key and its own counters: it fails if it adds a \
                        row.";
            let default = if is_counter { "0" } else { "…" };
            Some(set_default(wrong("column", what, cost), default))
        }
        _ => None,
    }
}

/// Finds counters that can hold other values than integers. SQLite stores any value in any column,
/// and turns an integer that overflows into a floating-point number.
fn unchecked_integers(counters: &CounterTable) -> impl Iterator<Item = Fault> {
    let table = &counters.table;
    let names = counters.counters.iter().map(|counter| &counter.name);
    let unchecked = names.filter(|name| !table.strict && !table.has_integers_only(name, SQLITE));
    unchecked.map(|name| {
        let what = format!("{name} has no CHECK (typeof({name}) = 'integer').");
        let cost = "SQLite's + turns a count that overflows into a floating point number, and \
                    another program can store a text.";
        let no_change = "";
        wrong("unchecked", what, cost).remedy(how_to_change(SQLITE, no_change))
    })
}
