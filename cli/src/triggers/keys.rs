//! The key of a target: it names the same rows as the column of the counted rows.
//!
//! A column names the rows of the table that its foreign key refers to, by way of other foreign
//! keys, too: a profile and a post that both refer to a user name the same one.

use anyhow::{Result, bail};

use super::definition::{Count, Definition};
use super::target::Target;
use crate::catalogue::{self, Column, CounterTable, Parent, Table, table};
use crate::connection::AnyConnection;
use crate::database::{Database, Joined};

/// What foreign keys say of a key and the columns of the rows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// They have the same values.
    Same,
    /// Nothing: the definition's word counts.
    Unknown,
    /// They have those of different tables.
    Other,
}

/// Names the key of each ordinary table that is found by another one than its primary key. A
/// definition keeps it, whatever foreign keys there are later.
pub fn name_keys(definition: &mut Definition, conn: &mut AnyConnection) -> Result<()> {
    let rows = table(conn, &definition.rows)?;
    for count in &mut definition.counts {
        let target = table(conn, &count.table)?;
        let names = count.columns.as_deref().unwrap_or_default();
        let is_counter_table = CounterTable::try_from(target.clone()).is_ok();
        if names.is_empty() || count.key.is_some() || is_counter_table {
            continue;
        }
        let of_rows = names.iter().map(|name| rows.column(name).cloned());
        let Some(of_rows) = of_rows.collect::<Option<Vec<_>>>() else {
            continue;
        };
        let (mut proved, mut possible) = (Vec::new(), Vec::new());
        for key in target.keys(of_rows.len()) {
            let is_counted = key.iter().any(|column| column.name == count.counter);
            if is_counted || !fit(&of_rows, &key, conn.database()) {
                continue;
            }
            match proof((&rows, &of_rows), (&target, &key), key.len() == 1, conn)? {
                Proof::Same => proved.push(key),
                Proof::Unknown => possible.push(key),
                Proof::Other => {}
            }
        }
        let found = if proved.is_empty() { possible } else { proved };
        match &*found {
            // It is refused with its reason.
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
                let (named, first) = (names.join(","), names_of(&several[0]).join(","));
                bail!(
                    "{target} has several keys: {keys}. Name the one that has the values of {named}, such as \
                     \"{named}:{target}({first}).{}\"",
                    count.counter
                );
            }
        }
    }
    Ok(())
}

/// The columns that name the entity in an ordinary table, of which the definition can name the key.
pub fn key_of(count: &Count, table: &Table) -> Result<Vec<Column>> {
    let Some(names) = &count.key else {
        let key = table.primary_key.iter().map(|name| table.column(name));
        return Ok(key.flatten().cloned().collect());
    };
    let mut keys = table.keys(names.len()).into_iter();
    let is_named = |key: &Vec<Column>| key.iter().all(|column| names.contains(&column.name));
    let Some(key) = keys.find(is_named) else {
        bail!(
            "{table} has no unique index of ({}): a key has each row once at any time, so its columns are NOT \
             NULL, and the index has no condition, no expression, and is NOT DEFERRABLE",
            names.join(", ")
        );
    };
    let find = |name: &String| key.iter().find(|column| column.name == *name).cloned();
    Ok(names.iter().filter_map(find).collect())
}

/// Refuses a target that has the counts of other entities than those that the rows refer to.
pub fn refuse_others(
    count: &Count,
    of_rows: &[Column],
    target: &Target,
    rows: &Table,
    conn: &mut AnyConnection,
) -> Result<()> {
    let (table, key) = (&target.table, &target.entity);
    let is_own = target.slots.is_none() && count.key.is_none() && key.len() == 1;
    if proof((rows, of_rows), (table, key), is_own, conn)? != Proof::Other {
        return Ok(());
    }
    for (column, key) in of_rows.iter().zip(key) {
        let Some(parent) = &column.refers_to else {
            continue;
        };
        let of_rows = std::slice::from_ref(column);
        let of_key = std::slice::from_ref(key);
        if proof((rows, of_rows), (table, of_key), is_own, conn)? != Proof::Other {
            continue;
        }
        let (name, key_name) = (&column.name, &key.name);
        let refers_to = format!("{rows}.{name} refers to {}.{}", parent.table, parent.column);
        let Some(other) = &key.refers_to else {
            bail!(
                "{refers_to}, and {table}.{key_name} is the key of {table}: no foreign key says that they have the \
                 same values. Give the unique column of {table} that has the values of {name} the foreign key, or \
                 name it: \"{name}:{table}(COLUMN).{}\"",
                count.counter
            );
        };
        bail!(
            "{refers_to}, and {table}.{key_name} to {}.{}: rows would count for the wrong entities. Count by a \
             column that refers to {}",
            other.table,
            other.column,
            other.table
        );
    }
    Ok(())
}

/// What foreign keys say of columns of the rows, and of a key of another table. If `is_own`, a key
/// without a foreign key names the rows of its own table.
fn proof(
    (rows, of_rows): (&Table, &[Column]),
    (table, key): (&Table, &[Column]),
    is_own: bool,
    conn: &mut AnyConnection,
) -> Result<Proof> {
    let mut proved = Proof::Unknown;
    for (column, key) in of_rows.iter().zip(key) {
        if are_same(&[(rows, column), (table, key)], conn)? {
            proved = Proof::Same;
        } else if column.refers_to.is_some() && (is_own || key.refers_to.is_some()) {
            return Ok(Proof::Other);
        }
    }
    Ok(proved)
}

/// A schema, a table and a column.
type Place = (String, String, String);

/// Whether foreign keys lead from two columns to one. It follows them step by step: the first one
/// often does.
fn are_same(columns: &[(&Table, &Column); 2], conn: &mut AnyConnection) -> Result<bool> {
    let mut steps = columns.map(|(table, column)| Steps {
        places: vec![(
            table.in_schema.clone(),
            table.name.clone(),
            column.name.clone(),
        )],
        next: column.parents().cloned().collect(),
    });
    loop {
        let known = [0, 1].map(|one| steps[one].reached());
        if known[0].iter().any(|place| known[1].contains(place)) {
            return Ok(true);
        }
        if steps.iter().all(|steps| steps.next.is_empty()) {
            return Ok(false);
        }
        for steps in &mut steps {
            steps.follow(conn)?;
        }
    }
}

/// The columns that have each value of one: itself, and what foreign keys refer to from there.
struct Steps {
    places: Vec<Place>,
    /// Those whose own foreign keys are not known yet.
    next: Vec<Parent>,
}

impl Steps {
    fn reached(&self) -> Vec<Place> {
        let next = self.next.iter().map(place);
        self.places.iter().cloned().chain(next).collect()
    }

    fn follow(&mut self, conn: &mut AnyConnection) -> Result<()> {
        for parent in std::mem::take(&mut self.next) {
            if self.places.contains(&place(&parent)) {
                continue;
            }
            self.places.push(place(&parent));
            let table = catalogue::parent(&parent, conn)?;
            let column = table.and_then(|table| table.column(&parent.column).cloned());
            self.next
                .extend(column.iter().flat_map(|column| column.parents().cloned()));
        }
        Ok(())
    }
}

fn place(parent: &Parent) -> Place {
    (
        parent.in_schema.clone(),
        parent.table.clone(),
        parent.column.clone(),
    )
}

/// Whether a key can have the values of these columns.
fn fit(of_rows: &[Column], key: &[Column], database: Database) -> bool {
    of_rows.iter().zip(key).all(|(column, key)| {
        let [kind, of_key] = [column, key].map(|one| database.stored_as(one.kind));
        kind.fits(of_key) && column.loose_collation == key.loose_collation
    })
}

fn names_of(key: &[Column]) -> Vec<String> {
    key.iter().map(|column| column.name.clone()).collect()
}
