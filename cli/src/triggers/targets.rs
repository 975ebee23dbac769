//! The targets of a definition, and what cannot be one.

use anyhow::{Context, Result, bail};
use diesel_counters::Dialect;

use super::definition::{Count, Definition, Period};
use super::expression::{Expression, plain_type};
use super::sql;
use super::target::{ParentTable, Target};
use crate::catalogue::{
    self, Column, CounterTable, Kind, MAX_COLUMNS, Parent, Table, is_zero, other, table,
    wide_foreign_key,
};
use crate::connection::AnyConnection;
use crate::database::Database;

/// The targets of a definition, in the order in which it names them. Triggers write and lock them in this
/// order, so that whoever has several definitions can choose one order for all.
pub fn targets(
    definition: &Definition,
    rows: &Table,
    dialect: Dialect,
    conn: &mut AnyConnection,
) -> Result<Vec<Target>> {
    let database = conn.database();
    let mut targets: Vec<Target> = Vec::new();
    for count in &definition.counts {
        let (mut found, counter) = find(count, definition.period, conn)?;
        if let (Some(_), Some(name)) = (&found.slots, wide_foreign_key(&found.table, conn)?) {
            bail!(
                "the foreign key {name} of {} has several columns. Triggers count only beside foreign keys of \
                 one column: replace it with one for each column, or drop it and delete the counters in the \
                 program",
                found.table
            );
        }
        let entity = entity(count, &found, rows, database)?;
        refuse_early_rows(&entity, &found, rows)?;
        refuse_moved_keys(&entity, &found, rows)?;
        let text = count.weight.as_ref().unwrap_or(&definition.by);
        let weight = weight(text, rows, dialect)?;
        let mut places = targets.iter();
        let place = match places.position(|target| target.is_of(&found.table)) {
            Some(place) => place,
            None => {
                for (column, parent) in found.parents().collect::<Vec<_>>() {
                    let table = catalogue::parent(&parent, conn)?;
                    found.parents.extend(table.map(|table| ParentTable {
                        column,
                        table,
                        key: parent.column.clone(),
                    }));
                }
                targets.push(found);
                targets.len() - 1
            }
        };
        if !targets[place].add(counter, entity, weight) {
            bail!("--count {count} is there twice");
        }
    }
    Ok(targets)
}

fn weight(text: &str, rows: &Table, dialect: Dialect) -> Result<Expression> {
    let sql = sql::of(dialect);
    let weight = Expression::of_rows(text, rows, sql, dialect)?;
    let column = rows.column(text);
    let has_fraction = |column: &&Column| {
        let sql_type = plain_type(column);
        column.kind == Kind::Real || ["numeric", "decimal"].contains(&&*sql_type)
    };
    if let Some(column) = column.filter(has_fraction) {
        bail!(
            "{rows}.{text} is {}, and a counter has whole numbers. Give it whole numbers, such as \
             \"CAST({text} * 100 AS {})\"",
            column.sql_type,
            sql.integer
        );
    }
    Ok(weight)
}
/// The columns of the row that name the entity.
fn entity(count: &Count, target: &Target, rows: &Table, database: Database) -> Result<Vec<Column>> {
    let (names, table, key) = (&count.columns, &target.table, &target.entity);
    if key.is_empty() && !names.is_empty() {
        bail!(
            "{table} counts for one thing only: write --count {table}.COUNTER, without {}",
            names.join(",")
        );
    }
    if key.len() != names.len() {
        let columns: Vec<_> = key.iter().map(|column| &*column.name).collect();
        bail!(
            "{table} counts for each {}: write --count {}:{table}.COUNTER, with the column{} of {rows} that \
             name{} it",
            columns.join(", "),
            vec!["COLUMN"; key.len()].join(","),
            if key.len() == 1 { "" } else { "s" },
            if key.len() == 1 { "s" } else { "" },
        );
    }
    if target.slots.is_some() && target.is_of(rows) {
        bail!("{rows} is the counter table itself");
    }
    let columns = names.iter().zip(key);
    columns
        .map(|(name, key)| column_of_entity(name, key, target, rows, database))
        .collect()
}

/// The column of the row that has the values of a column of the counter table's key.
fn column_of_entity(
    name: &str,
    key: &Column,
    target: &Target,
    rows: &Table,
    database: Database,
) -> Result<Column> {
    let (table, is_slotted) = (&target.table, target.slots.is_some());
    let column = rows.column(name).with_context(|| {
        format!(
            "{rows} has no column {name}: an entity is named by columns, and not by expressions"
        )
    })?;
    let [of_rows, of_key] = [column, key].map(|column| database.stored_as(column.kind));
    if !of_rows.fits(of_key) {
        bail!(
            "{rows}.{name} is {}, and {table}.{} is {}: it cannot have the same values",
            column.sql_type,
            key.name,
            key.sql_type
        );
    }
    if column.loose_collation != key.loose_collation {
        bail!(
            "{rows}.{name} and {table}.{} have different collations: a text could be one entity in \
             the one, and two in the other. Give them the same collation first",
            key.name
        );
    }
    // A trigger cannot tell such an update of the rows from one that moves a count.
    let moves = key.refers_to.as_ref().filter(|_| is_slotted);
    if let Some(parent) = moves.filter(|parent| parent.on_update == "CASCADE") {
        bail!(
            "the foreign key of {table}.{} has ON UPDATE CASCADE: an update of {}.{} would count its \
             rows twice. Remove ON UPDATE CASCADE first",
            key.name,
            parent.table,
            parent.column
        );
    }
    Ok(column.clone())
}

/// If the key of a row with counts changes, the row takes its counts along. Its foreign key would then
/// count the rows that it changes once more.
fn refuse_moved_keys(entity: &[Column], target: &Target, rows: &Table) -> Result<()> {
    for (column, counted) in target.parents().filter(|_| target.slots.is_none()) {
        let parent = entity[column].refers_to.as_ref();
        let acts = |parent: &&Parent| !["NO ACTION", "RESTRICT"].contains(&&*parent.on_update);
        if let Some(parent) = parent
            .filter(|parent| parent.is_same(&counted))
            .filter(acts)
        {
            bail!(
                "the foreign key of {rows}.{} has ON UPDATE {}: an update of {}.{} would count its rows twice. \
                 Remove ON UPDATE {1} first, or count in a counter table",
                entity[column].name,
                parent.on_update,
                parent.table,
                parent.column
            );
        }
    }
    Ok(())
}

/// A row that can be there before its entity is counted before it, too.
fn refuse_early_rows(entity: &[Column], target: &Target, rows: &Table) -> Result<()> {
    for (column, counted) in target.parents() {
        let (of_rows, key) = (&entity[column], &target.entity[column]);
        let Some(parent) = &of_rows.refers_to else {
            continue;
        };
        let is_early = parent.is_deferrable() && parent.deferrable != counted.deferrable;
        if !(parent.is_same(&counted) && is_early) {
            continue;
        }
        let (table, deferrable) = (&target.table, &parent.deferrable);
        if target.slots.is_none() {
            bail!(
                "the foreign key of {rows}.{} is {deferrable}: a row that is there before its row of {table} \
                 would not be counted in it. Make it NOT DEFERRABLE, or count in a counter table",
                of_rows.name
            );
        }
        bail!(
            "the foreign key of {rows}.{} is {deferrable}, and that of {table}.{} is {}: it would refuse \
             the count of a row that is there before its row of {}. Make it {deferrable} too: ALTER \
             TABLE {table} ALTER CONSTRAINT … {deferrable}",
            of_rows.name,
            key.name,
            counted.deferrable,
            parent.table
        );
    }
    Ok(())
}

/// The counters of the table of this name.
fn find(count: &Count, period: Period, conn: &mut AnyConnection) -> Result<(Target, String)> {
    let (name, counter) = (&*count.table, &*count.counter);
    let target = |table, entity, slots| Target {
        table,
        entity,
        slots,
        names: Vec::new(),
        sources: Vec::new(),
        parents: Vec::new(),
    };
    let found = match table(conn, name) {
        Ok(found) => found,
        Err(error) => match other((None, name), conn)? {
            None => return Err(error),
            Some(other) => bail!(
                "{name} is {other}: count in a table that it reads, or in a new one, which \
                 `diesel-counters generate migration` creates"
            ),
        },
    };
    let table = match CounterTable::try_from(found) {
        Ok(counters) => {
            let of_table = counters.period().ok().flatten();
            if let Some(of_table) = of_table.filter(|of_table| *of_table != period) {
                bail!(
                    "{} {}, as the comment of its day says: give --period {of_table}",
                    counters.table,
                    of_table.counted()
                );
            }
            let counter = counters.counter(counter)?.name.clone();
            let slots = Some([counters.day, counters.slot]);
            return Ok((target(counters.table, counters.entity, slots), counter));
        }
        Err(table) => table,
    };
    let of_entity = table.primary_key.len().saturating_sub(2);
    let last: Vec<_> = table.primary_key.iter().skip(of_entity).collect();
    if let [day, slot] = &*last {
        let [day, slot] = [day, slot].map(|name| table.column(name));
        let has_both = day.is_some_and(|day| table.holds_days(day))
            && slot.is_some_and(|slot| table.holds_slots(slot));
        if has_both && of_entity > MAX_COLUMNS {
            bail!(
                "the key of {table} has {of_entity} columns before its day and slot: a counter table has up to \
                 {MAX_COLUMNS}"
            );
        }
    }
    let column = table.column(counter);
    let Some(column) = column.filter(|column| !table.primary_key.contains(&column.name)) else {
        bail!("{table} has no column {counter} to count in, besides its key");
    };
    let default = column.default.as_deref();
    let why = match default {
        _ if column.generated => Some("is generated by the database".to_owned()),
        _ if !table.holds_counts(column) => Some(format!("is {}", column.sql_type)),
        _ if column.nullable => Some("may be NULL".to_owned()),
        None => Some("has no default".to_owned()),
        Some(default) if !is_zero(default) => Some(format!("has the default {default}")),
        Some(_) => None,
    };
    if let Some(why) = why {
        bail!("{table}.{counter} {why}: a column that is counted in is BIGINT NOT NULL DEFAULT 0");
    }
    let key: Option<Vec<_>> = table
        .primary_key
        .iter()
        .map(|key| table.column(key))
        .collect();
    let key: Vec<_> = key.unwrap_or_default().into_iter().cloned().collect();
    if key.is_empty() {
        bail!("{table} has no primary key: {counter} cannot be counted in it");
    }
    let counter = column.name.clone();
    Ok((target(table, key, None), counter))
}
