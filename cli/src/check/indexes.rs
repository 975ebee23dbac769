//! The indexes besides the primary key's.

use diesel_counters::Dialect;

use super::fault::Fault;
use super::shape::Shape;
use crate::catalogue::Index;

pub fn faults(shape: &Shape<'_>) -> Vec<Fault> {
    let others = shape.table.indexes.iter().filter(|index| !index.primary);
    others
        .flat_map(|index| [unique(shape, index), of_counter(shape, index)])
        .flatten()
        .collect()
}

fn unique(shape: &Shape<'_>, index: &Index) -> Option<Fault> {
    index.conflicts_besides(shape.key()).then(|| {
        let fault = Fault::wrong(
            "unique_index",
            format!(
                "{} is a unique index on ({}).",
                index.name,
                index.columns.join(", ")
            ),
            match shape.dialect {
                Dialect::MySql => {
                    "ON DUPLICATE KEY UPDATE acts on any unique index: an increment can be \
                     added to another entity's, day's or slot's row."
                }
                Dialect::PostgreSql | Dialect::Sqlite => {
                    "An increment fails where only this index has such a row already."
                }
            },
        );
        remove(
            fault,
            "Remove it, or make it a plain index of columns that are no counters.",
            shape,
            index,
        )
    })
}

fn of_counter(shape: &Shape<'_>, index: &Index) -> Option<Fault> {
    let is_counter = |name: &&str| shape.counters.iter().any(|counter| counter.name == *name);
    let counters: Vec<_> = index.holds().filter(is_counter).collect();
    (!counters.is_empty()).then(|| {
        let fault = Fault::slow(
            "counter_index",
            format!("The index {} holds {}.", index.name, counters.join(", ")),
            match shape.dialect {
                Dialect::PostgreSql => {
                    "Each increment of that counter writes this index and all others: it cannot \
                     be a heap-only update."
                }
                Dialect::MySql | Dialect::Sqlite => "Each increment of that counter writes it too.",
            },
        );
        remove(
            fault,
            "Remove it: to sort by a count, materialize it into a column of the entity's table.",
            shape,
            index,
        )
    })
}

fn remove(fault: Fault, remedy: &str, shape: &Shape<'_>, index: &Index) -> Fault {
    let fault = fault.remedy(remedy);
    match shape.table.drop_index(shape.dialect, index) {
        Some(sql) => fault.sql(sql + ";"),
        None => fault.rebuild(),
    }
}
