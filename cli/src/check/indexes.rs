//! The indexes besides the primary key.

use anyhow::Result;

use super::change::{Change, change};
use super::fault::{Fault, Known, Severity};
use super::words;
use crate::catalogue::Shape;
use crate::connection::AnyConnection;

/// The faults of the indexes besides the primary key's.
pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let words = words::of(conn.dialect());
    let mut faults = Vec::new();
    for index in shape.table.indexes.iter().filter(|index| !index.primary) {
        let (name, columns) = (&index.name, index.columns.join(", "));
        let drop = || change(&Change::DropIndex(index), shape.table, conn.database());
        if index.conflicts_besides(shape.key()) {
            let what = format!("{name} is a unique index on ({columns}).");
            let fault = Known(Severity::Wrong, "unique_index", words.unique_index).found(what);
            let remedy =
                "Drop it, or replace it by an index that is not unique and holds no counter.";
            faults.push(fault.change(remedy, drop()));
        }
        let is_counter = |name: &&str| shape.counters.iter().any(|counter| counter.name == *name);
        let counters: Vec<_> = index.holds().filter(is_counter).collect();
        if !counters.is_empty() {
            let what = format!("The index {name} holds {}.", counters.join(", "));
            let fault = Known(Severity::Slow, "counter_index", words.counter_index).found(what);
            let remedy =
                "Drop it: to sort by a count, materialize it into a column of the entity's table.";
            faults.push(fault.change(remedy, drop()));
        }
    }
    Ok(faults)
}
