//! The primary key.

use anyhow::Result;

use super::faults::{DEFERRABLE_KEY, KEY_COLUMNS, KEY_ORDER, NO_KEY, NOT_PRIMARY_KEY, NULL_KEY};
use super::several_rows;
use crate::catalogue::{Index, MAX_COLUMNS, Shape, Table};
use crate::connection::AnyConnection;
use crate::database::{Change, Database, Fault, Known, Severity};

pub fn no_key(table: &Table) -> Fault {
    let fault = NO_KEY.found("It has no columns of a day and a slot.");
    fault.remedy(format!(
        "Create a counter table beside it: \
         diesel-counters generate migration create_{}_counters --counters … --entity …",
        table.name
    ))
}

pub fn faults(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if shape.entity.len() > MAX_COLUMNS {
        faults.push(too_many_columns(shape));
    } else if shape.table.primary_key != shape.key() {
        faults.push(with_remedy(wrong_key(shape, conn.database()), shape, conn)?);
    } else if let Some(index) = shape.table.indexes.iter().find(|i| i.primary && !i.whole) {
        let fault = DEFERRABLE_KEY.found(format!("Its primary key {} is DEFERRABLE.", index.name));
        faults.push(with_remedy(fault, shape, conn)?);
    }
    faults.extend(nullable(shape));
    Ok(faults)
}

fn too_many_columns(shape: &Shape<'_>) -> Fault {
    let names: Vec<_> = shape.entity.iter().map(|column| &*column.name).collect();
    let what = format!(
        "Its key has {} columns besides the day and the slot: {}.",
        names.len(),
        names.join(", ")
    );
    let fault = KEY_COLUMNS.found(what);
    fault.remedy("Count by fewer columns, such as the id of a row that has the others.")
}

fn wrong_key(shape: &Shape<'_>, database: &dyn Database) -> Fault {
    let (key, facts) = (&shape.table.primary_key, database.facts());
    let (is, wanted) = (key.join(", "), shape.key().join(", "));
    if is_same_set(key, &shape.key()) {
        return KEY_ORDER.found(format!("Its primary key is ({is}), not ({wanted})."));
    }
    if unique_by_key(shape).is_none() {
        return Known(Severity::Wrong, "no_unique_key", facts.no_unique_key).found(
            match by_key(shape).next() {
                Some(index) => format!(
                    "Only {} makes ({wanted}) unique, and it is partial, deferrable or invalid.",
                    index.name
                ),
                None => format!("Nothing makes ({wanted}) unique."),
            },
        );
    }
    if let (Some(_), Some(cost)) = (shape.row_number(), facts.auto_increment_key) {
        return Known(Severity::Slow, "auto_increment_key", cost).found(format!(
            "Its primary key is the auto-increment {is}, and ({wanted}) is a second unique key."
        ));
    }
    NOT_PRIMARY_KEY.found(match key.is_empty() {
        true => format!("({wanted}) is unique, but there is no primary key."),
        false => format!("({wanted}) is unique, but its primary key is ({is})."),
    })
}

fn with_remedy(fault: Fault, shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Fault> {
    let wanted = shape.key().join(", ");
    let database = conn.database();
    let change = Change::PrimaryKey(new_key(shape, database));
    let script = database.change(&change, shape.table);
    if script.is_some() {
        if let Some(first) = obstacle(shape, conn)? {
            return Ok(fault.remedy(format!("{first} Then make ({wanted}) the primary key.")));
        }
    }
    let remedy = format!("Make ({wanted}) the primary key, in this order.");
    Ok(fault.change(&remedy, script))
}

/// Rows that the new key would not accept.
fn obstacle(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<&'static str>> {
    let database = conn.database();
    let day = database.quoted(&shape.day.name);
    if unique_by_key(shape).is_none() && several_rows(shape, &day, conn)? {
        return Ok(Some("First add up the rows with equal values in these."));
    }
    let key = shape.key().into_iter();
    let nulls: Vec<_> = key.map(|name| database.quoted(name) + " IS NULL").collect();
    let rows = database.count(shape.table, &nulls.join(" OR "), conn)?;
    Ok((rows > 0).then_some("First correct the rows that have NULL in one of these."))
}

/// Drops the old primary key with its number of a row, and a unique index of the same columns.
fn new_key(shape: &Shape<'_>, database: &dyn Database) -> String {
    let number = shape.row_number();
    let column = number.map(|number| format!("DROP COLUMN {}", database.quoted(&number.name)));
    // The old key goes with its column.
    let mut indexes = shape.table.indexes.iter();
    let old = indexes.find(|index| index.primary && number.is_none());
    let unique = unique_by_key(shape).filter(|index| !index.primary);
    let dropped = old.into_iter().chain(unique);
    let dropped = dropped.filter_map(|index| database.drop_in_alter(index));
    let new = format!("ADD PRIMARY KEY ({})", database.quoted_list(&shape.key()));
    let changes: Vec<_> = column.into_iter().chain(dropped).chain([new]).collect();
    changes.join(", ")
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
    names.len() == others.len() && names.iter().all(|name| others.contains(&&**name))
}

/// Only SQLite accepts NULL in a primary key.
fn nullable(shape: &Shape<'_>) -> Option<Fault> {
    let may_be_null = shape
        .key_columns()
        .filter(|column| column.nullable && shape.table.primary_key.contains(&column.name));
    let names: Vec<_> = may_be_null.map(|column| &*column.name).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(" and ");
        let fault = NULL_KEY.found(format!("{names} may be NULL, though in the primary key."));
        fault.change("", None)
    })
}
