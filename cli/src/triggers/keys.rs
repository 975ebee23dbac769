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
        let is_counter_table = CounterTable::try_from(target.clone()).is_ok();
        if count.key.is_none() && !is_counter_table {
            let key = find_key(count, &rows, &target, conn)?;
            count.key = key.filter(|key| *key != target.primary_key);
        }
    }
    Ok(())
}

/// Returns the key of the target that the count's columns name. Returns `None` if the columns or
/// the key are wrong: they are refused later, with the reason.
fn find_key(
    count: &Count,
    rows: &Table,
    target: &Table,
    conn: &mut AnyConnection,
) -> Result<Option<Vec<String>>> {
    let names = count.columns.as_deref().unwrap_or_default();
    if names.is_empty() {
        return Ok(None);
    }
    let columns = names.iter().map(|name| rows.column(name).cloned());
    let Some(columns) = columns.collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let from = EntityColumns {
        table: rows,
        columns: &columns,
    };
    let keys = fitting_keys(count, from, target, conn)?;
    match &*keys {
        [] => Ok(None),
        [key] => Ok(Some(names_of(key))),
        [first, ..] => {
            let all = keys.iter().map(|key| names_of(key).join(" and "));
            bail!(
                "{target} has several keys: {}. Name the one that has the values of {names}, such \
                 as \"{names}:{target}({}).{}\"",
                all.joined(", "),
                names_of(first).join(","),
                count.counter,
                names = names.join(","),
            );
        }
    }
}

/// Returns the keys of the target that foreign keys prove to have the values of these columns. If
/// there are none, returns those that may have them.
fn fitting_keys(
    count: &Count,
    from: EntityColumns<'_>,
    target: &Table,
    conn: &mut AnyConnection,
) -> Result<Vec<Vec<Column>>> {
    let mut proved = Vec::new();
    let mut possible = Vec::new();
    for key in target.keys(from.columns.len()) {
        let is_counted = key.iter().any(|column| column.name == count.counter);
        if is_counted || !fit(from.columns, &key, conn.database()) {
            continue;
        }
        let to = EntityColumns {
            table: target,
            columns: &key,
        };
        let names_own_rows = key.len() == 1;
        match proof(from, to, names_own_rows, conn)? {
            Proof::Same => proved.push(key),
            Proof::Unknown => possible.push(key),
            Proof::Other => {}
        }
    }
    Ok(if proved.is_empty() { possible } else { proved })
}

/// Returns the columns that name the entity in an ordinary table: those that the definition names,
/// or else the primary key.
pub fn key_of(count: &Count, table: &Table) -> Result<Vec<Column>> {
    let Some(names) = &count.key else {
        let key = table.primary_key.iter();
        let columns = key.filter_map(|name| table.column(name));
        return Ok(columns.cloned().collect());
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
    let find_column = |name: &String| key.iter().find(|column| column.name == *name).cloned();
    Ok(names.iter().filter_map(find_column).collect())
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
    let names_own_rows = target.slots.is_none() && count.key.is_none() && key.len() == 1;
    let from = EntityColumns {
        table: rows,
        columns: of_rows,
    };
    let to = EntityColumns {
        table,
        columns: key,
    };
    if proof(from, to, names_own_rows, conn)? != Proof::Other {
        return Ok(());
    }
    // Find out which of the columns it is.
    for (column, key) in of_rows.iter().zip(key) {
        let from = EntityColumns::single(rows, column);
        let to = EntityColumns::single(table, key);
        if let Some(parent) = &column.refers_to
            && proof(from, to, names_own_rows, conn)? == Proof::Other
        {
            let refers_to = format!(
                "{rows}.{} refers to {}.{}",
                column.name, parent.table, parent.column
            );
            bail!(why_others(&refers_to, &column.name, key, table, count));
        }
    }
    Ok(())
}

/// Says why a key isn't for the entities that a column of the rows refers to. `refers_to` is a
/// sentence that says what the column refers to.
fn why_others(refers_to: &str, column: &str, key: &Column, table: &Table, count: &Count) -> String {
    let key_name = &key.name;
    match &key.refers_to {
        None => format!(
            "{refers_to}, and {table}.{key_name} is the key of {table}: no foreign key says that \
             they have the same values. Add the foreign key to the unique column of {table} that \
             has the values of {column}, or name that column: \"{column}:{table}(COLUMN).{}\"",
            count.counter
        ),
        Some(other) => format!(
            "{refers_to}, and {table}.{key_name} to {}.{}: rows would count for the wrong \
             entities. Count by a column that refers to {}",
            other.table, other.column, other.table
        ),
    }
}

/// Returns what foreign keys say about columns of the rows and a key of another table. Nothing is
/// known about a key without a foreign key, unless it names its own table's rows.
fn proof(
    from: EntityColumns<'_>,
    to: EntityColumns<'_>,
    names_own_rows: bool,
    conn: &mut AnyConnection,
) -> Result<Proof> {
    let mut proved = Proof::Unknown;
    for (column, key) in from.columns.iter().zip(to.columns) {
        let from_column = Reached::new(from.table, column);
        let from_key = Reached::new(to.table, key);
        let key_is_known = names_own_rows || key.refers_to.is_some();
        if meet(from_column, from_key, conn)? {
            proved = Proof::Same;
        } else if column.refers_to.is_some() && key_is_known {
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

impl<'t> EntityColumns<'t> {
    fn single(table: &'t Table, column: &'t Column) -> Self {
        EntityColumns {
            table,
            columns: std::slice::from_ref(column),
        }
    }
}

/// Whether foreign keys lead from these two columns to a common one. Follows them step by step,
/// because the first step often finds it.
fn meet(mut left: Reached, mut right: Reached, conn: &mut AnyConnection) -> Result<bool> {
    loop {
        let right_columns = right.columns();
        let mut left_columns = left.columns().into_iter();
        if left_columns.any(|column| right_columns.contains(&column)) {
            return Ok(true);
        }
        if left.next.is_empty() && right.next.is_empty() {
            return Ok(false);
        }
        left.follow(conn)?;
        right.follow(conn)?;
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
    /// Begins with a column and what its own foreign keys refer to.
    fn new(table: &Table, column: &Column) -> Self {
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

    /// Returns every column that has been reached so far.
    fn columns(&self) -> Vec<ColumnName> {
        let next = self.next.iter().map(ColumnName::from);
        self.followed.iter().cloned().chain(next).collect()
    }

    /// Goes one step further: reaches what the foreign keys of the next columns refer to. This
    /// follows a column only once, so a circle of foreign keys comes to an end.
    fn follow(&mut self, conn: &mut AnyConnection) -> Result<()> {
        for parent in std::mem::take(&mut self.next) {
            let name = ColumnName::from(&parent);
            if self.followed.contains(&name) {
                continue;
            }
            self.followed.push(name);
            let Some(table) = catalogue::parent(&parent, conn)? else {
                continue;
            };
            if let Some(column) = table.column(&parent.column) {
                self.next.extend(column.parents().cloned());
            }
        }
        Ok(())
    }
}

/// Whether a key can hold the values of these columns, and compares them in the same way.
fn fit(columns: &[Column], key: &[Column], database: Database) -> bool {
    columns.iter().zip(key).all(|(column, key_column)| {
        let kind = database.stored_as(column.kind);
        let key_kind = database.stored_as(key_column.kind);
        kind.fits(key_kind) && column.loose_collation == key_column.loose_collation
    })
}

/// Returns the names of a key's columns.
fn names_of(key: &[Column]) -> Vec<String> {
    key.iter().map(|column| column.name.clone()).collect()
}
