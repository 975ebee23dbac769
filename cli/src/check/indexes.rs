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
    // One that holds the whole key is never the only one to conflict.
    let key = shape.key();
    let has_key = key
        .iter()
        .all(|name| index.columns.iter().any(|column| column == name));
    (index.unique && !has_key).then(|| {
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
    let is_counter = |name: &&String| shape.counters.iter().any(|counter| &counter.name == *name);
    let columns = index.columns.iter().chain(&index.included);
    let counters: Vec<_> = columns.filter(is_counter).map(String::as_str).collect();
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
    let (table, name) = (shape.table_sql(), shape.quoted(&index.name));
    let fault = fault.remedy(remedy);
    match shape.dialect {
        Dialect::MySql => fault.sql(format!("ALTER TABLE {table} DROP INDEX {name};")),
        Dialect::PostgreSql if index.of_constraint => {
            fault.sql(format!("ALTER TABLE {table} DROP CONSTRAINT {name};"))
        }
        // Not of an index that is divided as its table is.
        Dialect::PostgreSql if !shape.table.partitioned => {
            fault.sql(format!("DROP INDEX CONCURRENTLY {}{name};", schema(shape)))
        }
        Dialect::Sqlite if index.of_constraint => fault.rebuild(),
        Dialect::PostgreSql | Dialect::Sqlite => {
            fault.sql(format!("DROP INDEX {}{name};", schema(shape)))
        }
    }
}

fn schema(shape: &Shape<'_>) -> String {
    let schema = shape.table.schema.as_ref();
    schema.map_or(String::new(), |schema| shape.quoted(schema) + ".")
}
