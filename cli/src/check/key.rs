//! The primary key.

use diesel_counters::Dialect;

use super::fault::Fault;
use super::shape::Shape;
use crate::catalogue::{Index, Table};
use crate::sql::quoted_list;

/// What is no counter table at all.
pub fn no_key(table: &Table) -> Fault {
    Fault::wrong(
        "no_key",
        "It has no columns of a day and a slot.",
        "It is not a counter table: diesel_counters cannot count in it.",
    )
    .remedy(format!(
        "Make a table of counters next to it: \
         diesel-counters generate migration create_{}_counters --counters … --entity …",
        table.name
    ))
}

pub fn faults(shape: &Shape<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if shape.entity.len() > 1 {
        faults.push(too_many_columns(shape));
    } else if shape.table.primary_key != shape.key() {
        faults.push(wrong_key(shape));
    }
    faults.extend(nullable(shape));
    faults
}

fn too_many_columns(shape: &Shape<'_>) -> Fault {
    let names: Vec<_> = shape
        .entity
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    Fault::wrong(
        "key_columns",
        format!(
            "Its key has {} columns besides the day and the slot: {}.",
            names.len(),
            names.join(", ")
        ),
        "diesel_counters does not compile with it: an entity is one column.",
    )
    .remedy("Count by one column, such as the id of a row that has the others.")
}

fn wrong_key(shape: &Shape<'_>) -> Fault {
    let key = &shape.table.primary_key;
    let (is, wanted) = (key.join(", "), shape.key().join(", "));
    let is_auto_increment = matches!(
        key.as_slice(),
        [id] if shape.table.column(id).is_some_and(|column| column.auto_increment)
    );
    let fault = if is_same_set(key, &shape.key()) {
        Fault::slow(
            "key_order",
            format!("Its primary key is ({is}), not ({wanted})."),
            "The rows of one entity are not next to each other: to read its count is to look \
             through all of them. diesel_counters does not compile with it.",
        )
    } else if unique_by_key(shape).is_none() {
        Fault::wrong(
            "no_unique_key",
            format!("Nothing makes ({wanted}) unique."),
            match shape.dialect {
                Dialect::MySql => {
                    "Each increment adds a row of its own, and never to one that is there."
                }
                Dialect::PostgreSql | Dialect::Sqlite => {
                    "Each increment fails: its ON CONFLICT needs a unique key."
                }
            },
        )
    } else if is_auto_increment && shape.dialect == Dialect::MySql {
        Fault::slow(
            "auto_increment_key",
            format!("Its primary key is the auto-increment {is}; ({wanted}) is unique besides."),
            "Each increment takes a number from it and locks in two indexes: measured on MySQL with \
             16 writers, that was slower than one row without slots.",
        )
    } else {
        Fault::slow(
            "not_primary_key",
            format!("({wanted}) is unique, but its primary key is ({is})."),
            "Each increment keeps two indexes. diesel_counters does not compile with it.",
        )
    };
    with_remedy(fault, shape)
}

fn with_remedy(fault: Fault, shape: &Shape<'_>) -> Fault {
    let remedy = format!(
        "Make ({}) the primary key, in this order",
        shape.key().join(", ")
    );
    let duplicates = match fault.fault {
        "no_unique_key" => ", after adding up rows that are there twice.",
        _ => ".",
    };
    let new = format!(
        "ADD PRIMARY KEY ({})",
        quoted_list(shape.dialect, shape.key())
    );
    match shape.dialect {
        Dialect::Sqlite => fault.rebuild(),
        dialect => {
            let mut changes = removals(shape, dialect);
            changes.push(new);
            fault.remedy(remedy + duplicates).sql(format!(
                "ALTER TABLE {} {};",
                shape.table_sql(),
                changes.join(", ")
            ))
        }
    }
}

/// What the new primary key replaces: the old one, a number that nothing else is for,
/// and a unique index of the same columns.
fn removals(shape: &Shape<'_>, dialect: Dialect) -> Vec<String> {
    let table = shape.table;
    let old = table.indexes.iter().find(|index| index.primary);
    let id = table
        .columns
        .iter()
        .find(|column| column.auto_increment && !shape.is_key(column));
    let mut removals = Vec::new();
    if let Some(id) = id {
        removals.push(format!("DROP COLUMN {}", shape.quoted(&id.name)));
    }
    match (dialect, old) {
        // It goes with its column.
        (_, Some(old)) if id.is_some_and(|id| old.columns == [id.name.as_str()]) => {}
        (Dialect::MySql, Some(_)) => removals.push("DROP PRIMARY KEY".to_owned()),
        (_, Some(old)) => removals.push(format!("DROP CONSTRAINT {}", shape.quoted(&old.name))),
        (_, None) => {}
    }
    if let Some(index) = unique_by_key(shape).filter(|index| !index.primary) {
        match dialect {
            Dialect::MySql => removals.push(format!("DROP INDEX {}", shape.quoted(&index.name))),
            _ if index.of_constraint => {
                removals.push(format!("DROP CONSTRAINT {}", shape.quoted(&index.name)))
            }
            _ => {}
        }
    }
    removals
}

fn unique_by_key<'t>(shape: &Shape<'t>) -> Option<&'t Index> {
    let mut unique = shape.table.indexes.iter().filter(|index| index.unique);
    unique.find(|index| is_same_set(&index.columns, &shape.key()))
}

fn is_same_set(names: &[String], others: &[&str]) -> bool {
    names.len() == others.len() && names.iter().all(|name| others.contains(&name.as_str()))
}

/// Only SQLite lets a primary key be NULL.
fn nullable(shape: &Shape<'_>) -> Option<Fault> {
    let is_primary = |name: &&str| shape.table.primary_key.iter().any(|key| key == name);
    let columns = shape.entity.iter().chain([&shape.day, &shape.slot]);
    let names: Vec<_> = columns
        .filter(|c| c.nullable)
        .map(|c| c.name.as_str())
        .filter(is_primary)
        .collect();
    (!names.is_empty()).then(|| {
        Fault::wrong(
            "null_key",
            format!("{} may be NULL, though in the primary key.", names.join(" and ")),
            "SQLite takes each NULL for another: an increment adds a row, and never to one that is there.",
        )
        .rebuild()
    })
}
