//! Finds a target's key: the columns that name the same rows as the column of the counted rows
//! does.
//!
//! A foreign key says which table's rows a column names. That can go by way of other foreign keys:
//! if a profile and a post both refer to a user, they name the same one.

use anyhow::{Result, bail};

use super::definition::{Count, Definition};
use super::target::Target;
use crate::catalogue::{self, Column, CounterTable, Parent, Table, table};
use crate::connection::AnyConnection;
use crate::database::{Database, Joined};

/// What foreign keys say about a key and the columns of the rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// They have the same values.
    Same,
    /// Nothing is known, so trust the definition.
    Unknown,
    /// They have the values of different tables.
    Other,
}

/// Fills in the key of every ordinary table that isn't found by its primary key. The definition
/// keeps it, whatever foreign keys there are later.
pub fn name_keys(definition: &mut Definition, conn: &mut AnyConnection) -> Result<()> {
    let rows = table(conn, &definition.rows)?;
    for count in &mut definition.counts {
        let target = table(conn, &count.table)?;
        // Columns that are wrong are refused later, with the reason.
        let names = count.columns.as_deref().unwrap_or_default();
        let is_counter_table = CounterTable::try_from(target.clone()).is_ok();
        if names.is_empty() || count.key.is_some() || is_counter_table {
            continue;
        }
        let of_rows = names.iter().map(|name| rows.column(name).cloned());
        let Some(of_rows) = of_rows.collect::<Option<Vec<_>>>() else {
            continue;
        };
        // The keys that foreign keys prove right, and those that they don't prove wrong.
        let mut proved = Vec::new();
        let mut possible = Vec::new();
        let from = EntityColumns {
            table: &rows,
            columns: &of_rows,
        };
        for key in target.keys(of_rows.len()) {
            let is_counted = key.iter().any(|column| column.name == count.counter);
            if is_counted || !fit(&of_rows, &key, conn.database()) {
                continue;
            }
            let to = EntityColumns {
                table: &target,
                columns: &key,
            };
            match proof(from, to, key.len() == 1, conn)? {
                Proof::Same => proved.push(key),
                Proof::Unknown => possible.push(key),
                Proof::Other => {}
            }
        }
        let found = if proved.is_empty() { possible } else { proved };
        match &*found {
            // This is refused later, with the reason.
            [] => {}
            [key] => {
                let key = names_of(key);
                count.key = (key != target.primary_key).then_some(key);
            }
            several => {
                let keys = several
                    .iter()
                    .map(|key| names_of(key).join(" and "))
                    .joined(", ");
                let named = names.join(",");
                let first = names_of(&several[0]).join(",");
                bail!(
                    "{target} has several keys: {keys}. Name the one that has the values of \
                     {named}, such as \"{named}:{target}({first}).{}\"",
                    count.counter
                );
            }
        }
    }
    Ok(())
}

/// Returns the columns that name the entity in an ordinary table. The definition may give the key.
pub fn key_of(count: &Count, table: &Table) -> Result<Vec<Column>> {
    let Some(names) = &count.key else {
        let key = table.primary_key.iter().map(|name| table.column(name));
        return Ok(key.flatten().cloned().collect());
    };
    let mut keys = table.keys(names.len()).into_iter();
    let is_named = |key: &Vec<Column>| key.iter().all(|column| names.contains(&column.name));
    let Some(key) = keys.find(is_named) else {
        bail!(
            "{table} has no unique index on ({}). A key must be unique at all times: its columns \
             are NOT NULL, and the index has no condition, no expression, and is NOT DEFERRABLE",
            names.join(", ")
        );
    };
    // Keep the definition's order, which matches the columns of the rows.
    let find = |name: &String| key.iter().find(|column| column.name == *name).cloned();
    Ok(names.iter().filter_map(find).collect())
}

/// Refuses a target whose counts are for other entities than the rows refer to.
pub fn refuse_others(
    count: &Count,
    of_rows: &[Column],
    target: &Target,
    rows: &Table,
    conn: &mut AnyConnection,
) -> Result<()> {
    let table = &target.table;
    let key = &target.entity;
    let is_own = target.slots.is_none() && count.key.is_none() && key.len() == 1;
    let from = EntityColumns {
        table: rows,
        columns: of_rows,
    };
    let to = EntityColumns {
        table,
        columns: key,
    };
    if proof(from, to, is_own, conn)? != Proof::Other {
        return Ok(());
    }
    // Find out which of the columns it is.
    for (column, key) in of_rows.iter().zip(key) {
        let Some(parent) = &column.refers_to else {
            continue;
        };
        let from = EntityColumns {
            table: rows,
            columns: std::slice::from_ref(column),
        };
        let to = EntityColumns {
            table,
            columns: std::slice::from_ref(key),
        };
        if proof(from, to, is_own, conn)? != Proof::Other {
            continue;
        }
        let name = &column.name;
        let key_name = &key.name;
        let refers_to = format!("{rows}.{name} refers to {}.{}", parent.table, parent.column);
        let Some(other) = &key.refers_to else {
            bail!(
                "{refers_to}, and {table}.{key_name} is the key of {table}: no foreign key says \
                 that they have the same values. Add the foreign key to the unique column of \
                 {table} that has the values of {name}, or name that column: \"{name}:{table}(COLUMN).{}\"",
                count.counter
            );
        };
        bail!(
            "{refers_to}, and {table}.{key_name} to {}.{}: rows would count for the wrong \
             entities. Count by a column that refers to {}",
            other.table,
            other.column,
            other.table
        );
    }
    Ok(())
}

/// Returns what foreign keys say about columns of the rows and a key of another table. If `is_own`,
/// a key without a foreign key names its own table's rows.
fn proof(
    from: EntityColumns<'_>,
    to: EntityColumns<'_>,
    is_own: bool,
    conn: &mut AnyConnection,
) -> Result<Proof> {
    let mut proved = Proof::Unknown;
    for (column, key) in from.columns.iter().zip(to.columns) {
        let of_rows = Reached::from(from.table, column);
        let of_key = Reached::from(to.table, key);
        if meet(of_rows, of_key, conn)? {
            proved = Proof::Same;
        } else if column.refers_to.is_some() && (is_own || key.refers_to.is_some()) {
            return Ok(Proof::Other);
        }
    }
    Ok(proved)
}

/// Columns of a table that name an entity.
#[derive(Clone, Copy)]
struct EntityColumns<'t> {
    table: &'t Table,
    columns: &'t [Column],
}

/// Whether foreign keys lead from these two columns to a common one. Follows them step by step,
/// because the first step often finds it.
fn meet(mut one: Reached, mut other: Reached, conn: &mut AnyConnection) -> Result<bool> {
    loop {
        let known = other.columns();
        if one.columns().iter().any(|column| known.contains(column)) {
            return Ok(true);
        }
        if one.next.is_empty() && other.next.is_empty() {
            return Ok(false);
        }
        one.follow(conn)?;
        other.follow(conn)?;
    }
}

/// A column's name, with its table.
#[derive(Clone, PartialEq, Eq)]
struct ColumnName {
    schema: String,
    table: String,
    column: String,
}

impl From<&Parent> for ColumnName {
    fn from(parent: &Parent) -> Self {
        ColumnName {
            schema: parent.in_schema.clone(),
            table: parent.table.clone(),
            column: parent.column.clone(),
        }
    }
}

/// The columns that contain every value of a given one: itself, and what foreign keys lead to from
/// there.
struct Reached {
    /// Columns whose own foreign keys have been looked up.
    followed: Vec<ColumnName>,
    /// Columns whose own foreign keys haven't been looked up yet.
    next: Vec<Parent>,
}

impl Reached {
    fn from(table: &Table, column: &Column) -> Self {
        let itself = ColumnName {
            schema: table.in_schema.clone(),
            table: table.name.clone(),
            column: column.name.clone(),
        };
        Reached {
            followed: vec![itself],
            next: column.parents().cloned().collect(),
        }
    }

    fn columns(&self) -> Vec<ColumnName> {
        let next = self.next.iter().map(ColumnName::from);
        self.followed.iter().cloned().chain(next).collect()
    }

    /// Goes one more step. This follows a column only once, so a circle of foreign keys comes to an
    /// end.
    fn follow(&mut self, conn: &mut AnyConnection) -> Result<()> {
        for parent in std::mem::take(&mut self.next) {
            let name = ColumnName::from(&parent);
            if self.followed.contains(&name) {
                continue;
            }
            self.followed.push(name);
            let table = catalogue::parent(&parent, conn)?;
            if let Some(column) = table
                .as_ref()
                .and_then(|table| table.column(&parent.column))
            {
                self.next.extend(column.parents().cloned());
            }
        }
        Ok(())
    }
}

/// Whether a key can hold the values of these columns.
fn fit(of_rows: &[Column], key: &[Column], database: Database) -> bool {
    of_rows.iter().zip(key).all(|(column, key)| {
        let kind = database.stored_as(column.kind);
        let kind_of_key = database.stored_as(key.kind);
        kind.fits(kind_of_key) && column.loose_collation == key.loose_collation
    })
}

fn names_of(key: &[Column]) -> Vec<String> {
    key.iter().map(|column| column.name.clone()).collect()
}
