//! Unique indexes in which different keys conflict, and indexes that depend on a counter.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::Text;

use crate::catalogue::{CounterTable, Index};
use crate::connection::AnyConnection;
use crate::database::{Database, Joined, MYSQL, POSTGRES};
use crate::fault::{Fault, slow, wrong};
use crate::sql::sql_with;

/// Finds unique indexes in which different keys conflict, and indexes that hold a counter.
pub fn indexes(counters: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for index in &counters.table.indexes {
        faults.extend(unique_index(index, counters, conn.database()));
        faults.extend(counter_index(index, counters, conn)?);
    }
    Ok(faults)
}

/// Finds a unique index in which an increment can conflict although the key doesn't.
fn unique_index(index: &Index, counters: &CounterTable, database: Database) -> Option<Fault> {
    let mut key = counters.table.primary_key.iter();
    let has_key = key.all(|name| index.columns.contains(name));
    // MySQL and MariaDB list a column prefix like a whole column.
    let has_prefix = database == MYSQL && index.expression;
    if !index.unique || has_key && !has_prefix {
        return None;
    }
    let name = &index.name;
    let columns = index.columns.join(", ");
    let with = if has_prefix {
        ", with an expression or the beginning of a column"
    } else {
        ""
    };
    let what = format!("{name} is a unique index on ({columns}){with}.");
    let cost = if database == MYSQL {
        "ON DUPLICATE KEY UPDATE acts on any unique index: an increment can be added to the row of \
         another entity, day or slot."
    } else {
        "An increment fails if only this index has such a row already."
    };
    let remedy = if index.primary {
        "Make it a key of whole columns."
    } else {
        "Drop it, or make it an index that isn't unique and holds no counter."
    };
    Some(wrong("unique_index", what, cost).remedy(remedy))
}

/// Finds an index that holds a counter, which every increment has to update.
fn counter_index(
    index: &Index,
    counters: &CounterTable,
    conn: &mut AnyConnection,
) -> Result<Option<Fault>> {
    let is_counter = |name: &&String| {
        let mut names = counters.counters.iter().map(|counter| &counter.name);
        names.any(|counter| counter == *name)
    };
    let columns = if conn.database() == POSTGRES {
        columns_of_postgres(index, counters, conn)?
    } else {
        index.columns.clone()
    };
    let held_counters = columns.iter().filter(is_counter).joined(", ");
    if held_counters.is_empty() {
        return Ok(None);
    }
    let what = format!("The index {} holds {held_counters}.", index.name);
    let cost = "Every increment of that counter also writes this index, and on PostgreSQL all the \
                others: the update can't be heap-only.";
    Ok(Some(slow("counter_index", what, cost).remedy(
        "Drop it, on PostgreSQL with DROP INDEX CONCURRENTLY: to sort by a count, materialize it \
         into a column of the entity's table.",
    )))
}

/// Returns an index's columns, including those in its expressions, its condition and its INCLUDE.
/// If any of them changes, the update isn't heap-only.
fn columns_of_postgres(
    index: &Index,
    counters: &CounterTable,
    conn: &mut AnyConnection,
) -> Result<Vec<String>> {
    let columns = sql_with(
        "SELECT DISTINCT a.attname::text
         FROM pg_index x
         JOIN pg_class i ON i.oid = x.indexrelid
         JOIN pg_depend d ON d.classid = CAST('pg_class'::regclass AS oid) AND d.objid = i.oid
             AND d.refclassid = d.classid AND d.refobjid = x.indrelid
         JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = d.refobjsubid
         WHERE x.indrelid = CAST(to_regclass({table}) AS oid) AND i.relname = {index}
         ORDER BY 1",
        &[
            ("table", &POSTGRES.table_name(&counters.table)),
            ("index", &index.name),
        ],
    );
    Ok(columns.typed::<Text>().load(conn)?)
}
