//! The primary key.

use anyhow::Result;
use diesel_counters::Dialect;

use super::columns::count;
use super::fault::Fault;
use super::shape::Shape;
use crate::catalogue::{Index, Table};
use crate::connection::AnyConnection;
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

pub fn faults(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if shape.entity.len() > 1 {
        faults.push(too_many_columns(shape));
    } else if shape.table.primary_key != shape.key() {
        faults.push(with_remedy(wrong_key(shape), shape, conn)?);
    } else if let Some(index) = shape.table.indexes.iter().find(|i| i.primary && !i.whole) {
        let fault = Fault::wrong(
            "deferrable_key",
            format!("Its primary key {} is DEFERRABLE.", index.name),
            "Each increment fails: ON CONFLICT takes no such key.",
        );
        faults.push(with_remedy(fault, shape, conn)?);
    }
    faults.extend(nullable(shape));
    Ok(faults)
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
    if is_same_set(key, &shape.key()) {
        Fault::slow(
            "key_order",
            format!("Its primary key is ({is}), not ({wanted})."),
            "The rows of one entity are not next to each other: to read its count is to look \
             through all of them. diesel_counters does not compile with it.",
        )
    } else if unique_by_key(shape).is_none() {
        Fault::wrong(
            "no_unique_key",
            match by_key(shape).find(|index| !index.whole) {
                Some(index) => format!(
                    "Only {} makes ({wanted}) unique, and it is partial, deferrable or invalid.",
                    index.name
                ),
                None => format!("Nothing makes ({wanted}) unique."),
            },
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
            match key.is_empty() {
                true => format!("({wanted}) is unique, but there is no primary key."),
                false => format!("({wanted}) is unique, but its primary key is ({is})."),
            },
            "Each increment keeps two indexes. diesel_counters does not compile with it.",
        )
    }
}

fn with_remedy(fault: Fault, shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Fault> {
    if shape.dialect == Dialect::Sqlite {
        return Ok(fault.rebuild());
    }
    let wanted = shape.key().join(", ");
    if let Some(first) = obstacle(shape, conn)? {
        return Ok(fault.remedy(format!("{first} Then make ({wanted}) the primary key.")));
    }
    let meanwhile = match shape.dialect {
        Dialect::PostgreSql => "Nobody reads or writes the table while its index is made.",
        _ => "The whole table is rewritten.",
    };
    let new = format!(
        "ADD PRIMARY KEY ({})",
        quoted_list(shape.dialect, shape.key())
    );
    let mut changes = removals(shape, shape.dialect);
    changes.push(new);
    let remedy = format!("Make ({wanted}) the primary key, in this order. {meanwhile}");
    Ok(fault.remedy(remedy).sql(format!(
        "ALTER TABLE {} {};",
        shape.table_sql(),
        changes.join(", ")
    )))
}

/// Rows with which there can be no such key.
fn obstacle(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<&'static str>> {
    let day = shape.quoted(&shape.day.name);
    if unique_by_key(shape).is_none() && shape.has_several_rows_of_one_key(&day, conn)? {
        return Ok(Some("First add up the rows that have the same of these."));
    }
    let nulls = shape
        .key()
        .into_iter()
        .map(|name| shape.quoted(name) + " IS NULL");
    let nulls = nulls.collect::<Vec<_>>().join(" OR ");
    Ok(match count(shape, &nulls, conn)? {
        0 => None,
        _ => Some("First put the rows right that have NULL in one of these."),
    })
}

/// What the new primary key replaces: the old one with its number of a row, and a unique
/// index of the same columns.
fn removals(shape: &Shape<'_>, dialect: Dialect) -> Vec<String> {
    let table = shape.table;
    let old = table.indexes.iter().find(|index| index.primary);
    // Another one may be somebody's.
    let id = table
        .columns
        .iter()
        .find(|column| column.auto_increment && table.primary_key == [column.name.as_str()]);
    let mut removals = Vec::new();
    if let Some(id) = id {
        removals.push(format!("DROP COLUMN {}", shape.quoted(&id.name)));
    }
    match (dialect, old) {
        // It goes with its column.
        (_, Some(_)) if id.is_some() => {}
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
    by_key(shape).find(|index| index.whole)
}

fn by_key<'t>(shape: &Shape<'t>) -> impl Iterator<Item = &'t Index> {
    let key = shape.key();
    let unique = shape.table.indexes.iter().filter(|index| index.unique);
    unique.filter(move |index| is_same_set(&index.columns, &key))
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
