//! The targets of a definition, and what cannot be one.

use anyhow::{Context, Result, bail};
use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;

use super::definition::{Count, Definition};
use super::expression::Expression;
use super::keys::{key_of, refuse_others};
use super::target::{ParentTable, Target};
use crate::catalogue::{self, Column, CounterTable, Kind, Table, is_zero, table};
use crate::code_of_others::{self, Access};
use crate::connection::AnyConnection;
use crate::database::{Database, Joined, POSTGRES};
use crate::sql::sql;

/// The targets of a definition, in the order in which it names them. Triggers write and lock them
/// in this order, so that whoever has several definitions can choose one order for all.
pub fn targets(
    definition: &Definition,
    rows: &Table,
    conn: &mut AnyConnection,
) -> Result<Vec<Target>> {
    let database = conn.database();
    let mut targets: Vec<Target> = Vec::new();
    for count in &definition.counts {
        let (mut found, counter) = find(count, definition, conn)?;
        let (table, wide) = (&found.table, found.table.wide_foreign_keys.first());
        if let Some((name, _)) = wide.filter(|_| found.slots.is_some()) {
            bail!(
                "the foreign key {name} of {table} has several columns. Triggers count only beside foreign keys \
                 of one column: replace it with one for each column, or drop it and delete the counters in the \
                 program"
            );
        }
        let entity = entity(count, &found, rows, database)?;
        refuse_others(count, &entity, &found, rows, conn)?;
        refuse_foreign_keys(&entity, &found, rows)?;
        let text = count.weight.as_ref().unwrap_or(&definition.by);
        let weight = weight(text, rows, database)?;
        let mut places = targets.iter();
        let place = match places.position(|target| target.table.is(&found.table)) {
            Some(place) if targets[place].entity != found.entity => {
                bail!("\"{count}\": {table} is counted in by two keys. Write two definitions")
            }
            Some(place) => place,
            None => {
                let parents = found.parents().filter(|_| found.slots.is_some());
                for (column, parent) in parents.collect::<Vec<_>>() {
                    let table = catalogue::parent(&parent, conn)?;
                    found.parents.extend(table.map(|table| ParentTable {
                        column,
                        table,
                        key: parent.column,
                    }));
                }
                targets.push(found);
                targets.len() - 1
            }
        };
        if !targets[place].add(counter, entity, weight) {
            bail!("count has \"{count}\" twice");
        }
    }
    for target in &targets {
        let mut only = target.only.iter().flat_map(Expression::columns);
        if let Some(name) = only.find(|name| target.names.iter().any(|counter| counter == name)) {
            bail!("only has {name}, which the triggers change");
        }
    }
    Ok(targets)
}

fn weight(text: &str, rows: &Table, database: Database) -> Result<Expression> {
    let is_decimal = |column: &Column| ["numeric", "decimal"].contains(&&*column.plain_type());
    let has_fraction = |column: &&Column| column.kind == Kind::Real || is_decimal(column);
    if let Some(Column { sql_type, .. }) = rows.column(text).filter(has_fraction) {
        bail!(
            "{rows}.{text} is {sql_type}, and a counter has whole numbers. Give it whole numbers, such as \
             \"ROUND({text} * 100)\""
        );
    }
    Expression::of_rows(text, rows, database)
}

/// The columns of the row that name the entity.
fn entity(count: &Count, target: &Target, rows: &Table, database: Database) -> Result<Vec<Column>> {
    let (table, key) = (&target.table, &target.entity);
    let names = count.columns.as_deref().unwrap_or_default();
    if key.len() != names.len() {
        let of = key.iter().map(|column| &column.name).joined(", ");
        let (of, columns) = match key.len() {
            0 => ("one thing only".to_owned(), String::new()),
            len => (format!("each {of}"), vec!["COLUMN"; len].join(",") + ":"),
        };
        bail!(
            "{table} counts for {of}: write \"{columns}{table}.COUNTER\" in count, with as many columns of {rows} \
             as name it"
        );
    }
    if target.slots.is_some() && table.is(rows) {
        bail!("{rows} is the counter table itself");
    }
    let columns = names.iter().zip(key);
    let columns = columns.map(|(name, key)| column_of_entity(name, key, table, rows, database));
    columns.collect()
}

/// The column of the row that has the values of a column of the counter table's key.
fn column_of_entity(
    name: &str,
    key: &Column,
    table: &Table,
    rows: &Table,
    database: Database,
) -> Result<Column> {
    const NONE: &str = "an entity is named by columns, and not by expressions";
    let column = rows.column(name);
    let column = column.with_context(|| format!("{rows} has no column {name}: {NONE}"))?;
    let (one, other) = (format!("{rows}.{name}"), format!("{table}.{}", key.name));
    let [of_rows, of_key] = [column, key].map(|column| database.stored_as(column.kind));
    if !of_rows.fits(of_key) {
        let [one_type, other_type] = [&column.sql_type, &key.sql_type];
        bail!("{one} is {one_type}, and {other} is {other_type}: it cannot have the same values");
    }
    // Texts that a foreign key takes as equal are one entity. Otherwise an exact key counts for
    // each of them. PostgreSQL compares no two collations.
    let is_of_texts = column.refers_to.is_none() && key.refers_to.is_none();
    let is_exact = database != POSTGRES && is_of_texts && key.loose_collation.is_none();
    if column.loose_collation != key.loose_collation && !is_exact {
        bail!(
            "{one} and {other} have different collations: a text could be one entity in the one, and two in \
             the other. Give them the same collation first"
        );
    }
    Ok(column.clone())
}

/// Refuses foreign keys that would change counts, or refuse them.
fn refuse_foreign_keys(entity: &[Column], target: &Target, rows: &Table) -> Result<()> {
    let (table, is_slotted) = (&target.table, target.slots.is_some());
    for (i, counted) in target.parents() {
        let (of_rows, key) = (&entity[i], &target.entity[i]);
        let (column, key_column) = (&of_rows.name, &key.name);
        let refers_to = of_rows.refers_to.as_ref();
        let refers_to = refers_to.filter(|parent| parent.is_same(&counted));
        // If the key of an entity changes, its counts go along. The rows that the foreign key
        // changes with it would be counted once more: a trigger cannot tell that from an update
        // that moves a count.
        let (of, name, moves) = match is_slotted {
            true => (table, key_column, Some(&counted)),
            false => (rows, column, refers_to),
        };
        if let Some(parent) = moves.filter(|parent| parent.updates()) {
            let (action, parent, key) = (&parent.on_update, &parent.table, &parent.column);
            bail!(
                "the foreign key of {of}.{name} has ON UPDATE {action}: an update of {parent}.{key} would count \
                 its rows twice. Remove ON UPDATE {action} first"
            );
        }
        // The row with the counter and the counted rows follow the same update, one after the
        // other.
        let follow =
            [of_rows, key].map(|column| column.refers_to.as_ref().filter(|one| one.updates()));
        if let ([Some(of_rows), Some(_)], false) = (follow, is_slotted) {
            let (action, parent) = (&of_rows.on_update, &of_rows.table);
            bail!(
                "the foreign keys of {rows}.{column} and {table}.{key_column} change with an update of {parent}, \
                 which would count its rows twice. Remove ON UPDATE {action} first"
            );
        }
        let Some(parent) = refers_to else {
            continue;
        };
        // A row that can be there before its entity is counted before it, too.
        let deferrable = &parent.deferrable;
        if !parent.is_deferrable() || *deferrable == counted.deferrable {
            continue;
        }
        if !is_slotted {
            bail!(
                "the foreign key of {rows}.{column} is {deferrable}: a row that is there before its row of \
                 {table} would not be counted in it. Make it NOT DEFERRABLE, or count in a counter table"
            );
        }
        let (parent, of_key) = (&parent.table, &counted.deferrable);
        bail!(
            "the foreign key of {rows}.{column} is {deferrable}, and that of {table}.{key_column} is {of_key}: it \
             would refuse the count of a row that is there before its row of {parent}. Make it {deferrable} too: \
             ALTER TABLE {table} ALTER CONSTRAINT … {deferrable}"
        );
    }
    Ok(())
}

/// The counters of the table of this name.
fn find(
    count: &Count,
    definition: &Definition,
    conn: &mut AnyConnection,
) -> Result<(Target, String)> {
    let (counter, period) = (&*count.counter, definition.period);
    let table = match CounterTable::try_from(table(conn, &count.table)?) {
        Ok(counters) => {
            let table = &counters.table;
            let mark = counters.mark();
            if let Some(mark) = mark.as_ref().filter(|mark| mark.period != period) {
                let of_table = mark.period;
                bail!(
                    "{table} has the period {of_table}, as the comment of its day says, and these triggers have the \
                     period {period}: run `diesel-counters generate triggers`. Tables of several periods need \
                     definitions of their own"
                );
            }
            if definition.only.is_some() {
                bail!(
                    "only is a condition of the row that has the counter, and {table} has several: write a \
                     definition of its own for it"
                );
            }
            if count.key.is_some() {
                bail!("{table} is a counter table, which is found by its primary key: name no key");
            }
            let names = counters.counters.iter().map(|column| &*column.name);
            if !names.clone().any(|name| name == counter) {
                match &*names.joined(", ") {
                    "" => bail!("{table} has no counters"),
                    names => bail!("{table} has no counter {counter}; its counters are {names}"),
                }
            }
            let stock = mark.iter().flat_map(|mark| &mark.stock);
            let guarded = counters.guarded(false, conn.database());
            if stock.chain(&guarded).any(|name| name == counter) {
                bail!(
                    "{table}.{counter} is a stock, or a CHECK keeps it at 0 or more. A trigger takes a deleted row \
                     off the row of the connection, which can be below 0 while the count is not: count in another \
                     counter"
                );
            }
            let found = Target {
                slots: Some([counters.day, counters.slot]),
                entity: counters.entity,
                table: counters.table,
                ..Target::default()
            };
            return Ok((found, counter.to_owned()));
        }
        Err(table) => table,
    };
    let is_only_row = matches!(count.columns.as_deref(), Some([]));
    let key = match is_only_row && count.key.is_none() {
        true => Vec::new(),
        false => key_of(count, &table)?,
    };
    let is_in_key =
        |name: &String| table.primary_key.contains(name) || key.iter().any(|key| key.name == *name);
    let column = table.column(counter);
    let Some(column) = column.filter(|column| !is_in_key(&column.name)) else {
        bail!("{table} has no column {counter} to count in, besides its key");
    };
    let why = match column.default.as_deref() {
        _ if column.generated => "is generated by the database".to_owned(),
        _ if !column.kind.is_integer() => format!("is {}", column.sql_type),
        _ if column.nullable => "may be NULL".to_owned(),
        None => "has no default".to_owned(),
        Some(default) if !is_zero(default) => format!("has the default {default}"),
        Some(_) => String::new(),
    };
    if !why.is_empty() {
        let must = "a column that is counted in is an integer NOT NULL DEFAULT 0";
        bail!("{table}.{counter} {why}: {must}");
    }
    if is_only_row {
        code_of_others::refuse(&table, Access::Reads, conn)?;
        let name = conn.database().table_name(&table);
        let rows = format!("SELECT COUNT(*) FROM (SELECT 1 FROM {name} LIMIT 2) AS few");
        if sql(rows).typed::<BigInt>().get_result::<i64>(conn)? > 1 {
            bail!("\"{count}\" counts in the only row of {table}, which has several rows");
        }
    }
    if key.is_empty() && !is_only_row {
        bail!("{table} has no primary key: {counter} cannot be counted in it");
    }
    let only = definition.only.as_deref();
    let only = only.map(|text| Expression::of_rows(text, &table, conn.database()));
    let (entity, only, counter) = (key, only.transpose()?, column.name.clone());
    let found = Target {
        table,
        entity,
        only,
        ..Target::default()
    };
    Ok((found, counter))
}
