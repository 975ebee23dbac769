//! The primary key.

use anyhow::Result;

use super::change::{Change, change, drop_in_alter};
use super::fault::{Fault, Known, Severity, faults};
use super::{several_rows, words};
use crate::catalogue::{Index, MAX_COLUMNS, Shape, Table};
use crate::connection::AnyConnection;
use crate::database::Database;

faults! {
    NO_KEY = Wrong, "no_key": "It is not a counter table: diesel_counters cannot count in it.";
    KEY_COLUMNS = Wrong, "key_columns":
        "diesel_counters does not compile with it: an entity has up to five columns.";
    KEY_ORDER = Slow, "key_order":
        "The rows of one entity are not next to each other: a read of its count scans all rows. \
         diesel_counters does not compile with it.";
    NOT_PRIMARY_KEY = Slow, "not_primary_key":
        "Each increment writes two indexes. diesel_counters does not compile with it.";
    DEFERRABLE_KEY = Wrong, "deferrable_key":
        "Each increment fails: ON CONFLICT does not accept such a key.";
}

pub fn no_key(table: &Table) -> Fault {
    let fault = NO_KEY.found("It has no columns of a day and a slot.");
    fault.remedy(format!(
        "Create a counter table beside it: \
         diesel-counters generate migration create_{}_counters --counters … --entity …",
        table.name
    ))
}

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    if shape.entity.len() > MAX_COLUMNS {
        faults.push(too_many_columns(shape));
    } else if shape.table.primary_key != shape.key() {
        faults.push(with_remedy(wrong_key(shape, conn.database()), shape, conn)?);
    } else if let Some(index) = shape.table.indexes.iter().find(|i| i.primary && !i.whole) {
        let fault = DEFERRABLE_KEY.found(format!("Its primary key {} is DEFERRABLE.", index.name));
        faults.push(with_remedy(fault, shape, conn)?);
    }
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

fn wrong_key(shape: &Shape<'_>, database: Database) -> Fault {
    let (key, words) = (&shape.table.primary_key, words::of(database.0));
    let (is, wanted) = (key.join(", "), shape.key().join(", "));
    if is_same_set(key, &shape.key()) {
        return KEY_ORDER.found(format!("Its primary key is ({is}), not ({wanted})."));
    }
    if unique_by_key(shape).is_none() {
        return Known(Severity::Wrong, "no_unique_key", words.no_unique_key).found(
            match by_key(shape).next() {
                Some(index) => format!(
                    "Only {} makes ({wanted}) unique, and it is partial, deferrable or invalid.",
                    index.name
                ),
                None => format!("Nothing makes ({wanted}) unique."),
            },
        );
    }
    if let (Some(_), Some(cost)) = (shape.row_number(), words.auto_increment_key) {
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
    let change_key = Change::PrimaryKey(new_key(shape, database));
    let script = change(&change_key, shape.table, database);
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
fn new_key(shape: &Shape<'_>, database: Database) -> String {
    let number = shape.row_number();
    let column = number.map(|number| format!("DROP COLUMN {}", database.quoted(&number.name)));
    // The old key goes with its column.
    let mut indexes = shape.table.indexes.iter();
    let old = indexes.find(|index| index.primary && number.is_none());
    let unique = unique_by_key(shape).filter(|index| !index.primary);
    let dropped = old.into_iter().chain(unique);
    let dropped = dropped.filter_map(|index| drop_in_alter(index, database));
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
