//! Counters that never go below 0: a stock has a CHECK, and no other counter has one.

use diesel_counters::Period;

use crate::catalogue::{CounterTable, Mark, mark_statement};
use crate::database::Database;
use crate::fault::{Fault, wrong};

use super::{alter, how_to_change};

/// Finds stocks without a CHECK, and counters that have one although they aren't a stock.
pub fn stocks(counters: &CounterTable, database: Database) -> Vec<Fault> {
    let mark = counters.mark();
    let guarded = counters.guarded(database);
    let mut faults = Vec::new();
    for counter in &counters.counters {
        let name = &counter.name;
        let is_stock = mark.as_ref().is_some_and(|mark| mark.stock.contains(name));
        let is_guarded = guarded.contains(name);
        if is_guarded && !is_stock {
            faults.push(guarded_counter(name, &guarded, counters, database));
        } else if is_stock && !is_guarded {
            faults.push(unguarded_stock(name, counters, database));
        }
    }
    faults
}

/// Returns the fault of a counter that has a CHECK although it isn't a stock. `guarded` has all
/// counters with such a CHECK.
fn guarded_counter(
    name: &str,
    guarded: &[String],
    counters: &CounterTable,
    database: Database,
) -> Fault {
    let what = format!("A CHECK keeps {name} at 0 or more, and it isn't a stock.");
    let cost = "One row can be below 0 while the count isn't: a decrement fails then.";
    let drop = "Drop the CHECK. If counter_table! says that it is a stock, write that into the \
                comment instead.";
    let fault = wrong("stock", what, cost).remedy(how_to_change(database, drop));
    // Only a table without days can have a stock. Otherwise the CHECK must be the mistake.
    let could_be_stock = match counters.mark() {
        Some(mark) => mark.period == Period::Total,
        None => true,
    };
    let mark = Mark::total(guarded.to_vec());
    if !could_be_stock || !mark.is_readable() {
        return fault;
    }
    fault.run(mark_statement(counters, &mark, database))
}

/// Returns the fault of a stock without a CHECK.
fn unguarded_stock(name: &str, counters: &CounterTable, database: Database) -> Fault {
    let what = format!("{name} is a stock, and no CHECK keeps it at 0 or more.");
    let cost = "Another program can make it negative, and take more than there is.";
    let add = "Add it. If a row is below 0, correct that first, with set_counter.";
    let check = format!("ADD CHECK ({} >= 0)", database.quoted(name));
    wrong("stock", what, cost)
        .remedy(how_to_change(database, add))
        .run(alter(&counters.table, database, &check))
}
