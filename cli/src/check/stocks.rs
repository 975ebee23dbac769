//! Counters that never go below 0: a stock has a CHECK, and no other counter has one.

use diesel_counters::Period;

use crate::catalogue::{CounterTable, Mark, statement_of};
use crate::database::Database;
use crate::fault::{Fault, wrong};

use super::{alter, remedy};

pub fn stocks(counters: &CounterTable, database: Database) -> Vec<Fault> {
    let mark = counters.mark();
    let guarded = counters.guarded(database);
    let mut faults = Vec::new();
    for counter in &counters.counters {
        let name = &counter.name;
        let is_stock = mark.as_ref().is_some_and(|mark| mark.stock.contains(name));
        let is_guarded = guarded.contains(name);
        if is_guarded && !is_stock {
            let what = format!("A CHECK keeps {name} at 0 or more, and it isn't a stock.");
            let cost = "One row can be below 0 while the count isn't: a decrement fails then.";
            let drop = "Drop the CHECK. If counter_table! says that it is a stock, write that into \
                        the comment instead.";
            let mut fault = wrong("stock", what, cost).remedy(remedy(database, drop));
            // Only a table without days can have a stock. Otherwise the CHECK must be the mistake.
            if mark
                .as_ref()
                .is_none_or(|mark| mark.period == Period::Total)
            {
                let said = Mark::total(guarded.clone());
                fault = fault
                    .run(statement_of(counters, &said, database).filter(|_| said.is_readable()));
            }
            faults.push(fault);
        } else if is_stock && !is_guarded {
            let what = format!("{name} is a stock, and no CHECK keeps it at 0 or more.");
            let cost = "Another program can make it negative, and take more than there is.";
            let add = "Add it. If a row is below 0, correct that first, with set_counter.";
            let check = format!("ADD CHECK ({} >= 0)", database.quoted(name));
            faults.push(
                wrong("stock", what, cost)
                    .remedy(remedy(database, add))
                    .run(alter(&counters.table, database, &check)),
            );
        }
    }
    faults
}
