//! The counters: their types, defaults and checks.

use anyhow::Result;
use diesel_counters::Dialect;

use super::columns::{change_type, count, is_whole};
use super::fault::Fault;
use super::shape::{Shape, is_zero};
use crate::catalogue::{Column, Kind};
use crate::connection::AnyConnection;
use crate::output::thousands;

pub fn faults(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for counter in &shape.counters {
        faults.extend(counter_type(shape, counter, conn)?);
        // What is no whole number is perhaps no counter, and is looked at first.
        if is_whole(counter, shape.dialect) {
            faults.extend(null_counter(shape, counter, conn)?);
            faults.extend(default(shape, counter));
        }
    }
    if shape.dialect == Dialect::Sqlite && !shape.table.strict {
        faults.extend(unchecked(shape, conn)?);
    }
    Ok(faults)
}

fn counter_type(
    shape: &Shape<'_>,
    counter: &Column,
    conn: &mut AnyConnection,
) -> Result<Option<Fault>> {
    if shape.table.holds_counts(counter) {
        return Ok(None);
    }
    let cost = match counter.kind {
        Kind::Real => {
            "A large floating-point number no longer counts by ones, and it is no counter to diesel_counters."
        }
        // There it holds 64 bits by any name.
        _ if shape.dialect == Dialect::Sqlite => {
            "It is no counter to diesel_counters, whose counters are BIGINT."
        }
        Kind::SmallInt => {
            "Increments fail from 32,767 on, and it is no counter to diesel_counters."
        }
        Kind::Integer => {
            "Increments fail from 2,147,483,647 on, and it is no counter to diesel_counters."
        }
        _ => "It is no counter to diesel_counters, whose counters are BIGINT.",
    };
    let what = format!("{} is {}, not BIGINT.", counter.name, counter.sql_type);
    let fault = Fault::wrong("counter_type", what, cost);
    let (table, name) = (shape.table_sql(), shape.quoted(&counter.name));
    Ok(Some(match shape.dialect {
        dialect if !is_whole(counter, dialect) => fault.remedy(
            "Look first whether it is a count at all, and how to round it: a change of its \
                 type would round what it holds.",
        ),
        Dialect::Sqlite => fault.rebuild(),
        Dialect::PostgreSql => fault.remedy(change_type(shape)).sql(format!(
            "ALTER TABLE {table} ALTER COLUMN {name} TYPE BIGINT;"
        )),
        // Not every MySQL minds.
        Dialect::MySql if count(shape, &format!("{name} > {}", i64::MAX), conn)? > 0 => {
            fault.remedy("First put the rows right in which it is beyond BIGINT.")
        }
        Dialect::MySql => modify(fault.remedy(change_type(shape)), shape, counter),
    }))
}

/// MySQL's change of a column has all of its definition.
fn modify(fault: Fault, shape: &Shape<'_>, counter: &Column) -> Fault {
    let (table, name) = (shape.table_sql(), shape.quoted(&counter.name));
    let fault = match counter.nullable {
        true => fault.sql(format!(
            "UPDATE {table} SET {name} = 0 WHERE {name} IS NULL;"
        )),
        false => fault,
    };
    fault.sql(format!(
        "ALTER TABLE {table} MODIFY {name} BIGINT NOT NULL DEFAULT 0;"
    ))
}

fn null_counter(
    shape: &Shape<'_>,
    counter: &Column,
    conn: &mut AnyConnection,
) -> Result<Option<Fault>> {
    if !counter.nullable {
        return Ok(None);
    }
    let (table, name) = (shape.table_sql(), shape.quoted(&counter.name));
    let stored = match count(shape, &format!("{name} IS NULL"), conn)? {
        0 => String::new(),
        1 => " One row has it.".to_owned(),
        rows => format!(" {} rows have it.", thousands(rows)),
    };
    let fault = Fault::wrong(
        "null_counter",
        format!("{} may be NULL.{stored}", counter.name),
        "NULL + 1 is NULL: what is counted in such a row is lost.",
    );
    Ok(Some(match shape.dialect {
        Dialect::Sqlite => fault.rebuild(),
        Dialect::MySql if !shape.table.holds_counts(counter) => {
            fault.remedy("What changes its type forbids it.")
        }
        Dialect::MySql => modify(
            fault.remedy("Forbid it. The whole table is rewritten."),
            shape,
            counter,
        ),
        Dialect::PostgreSql => fault
            .remedy(
                "Forbid it. The second statement reads the whole table, and nobody reads or \
                 writes it meanwhile.",
            )
            .sql(format!(
                "UPDATE {table} SET {name} = 0 WHERE {name} IS NULL;"
            ))
            .sql(format!(
                "ALTER TABLE {table} ALTER COLUMN {name} SET DEFAULT 0, ALTER COLUMN {name} SET NOT NULL;"
            )),
    }))
}

/// Of what may be NULL the default is put right with that.
fn default(shape: &Shape<'_>, counter: &Column) -> Option<Fault> {
    if counter.nullable || counter.default.as_deref().is_some_and(is_zero) {
        return None;
    }
    let fault = match &counter.default {
        None => Fault::wrong(
            "no_default",
            format!("{} has no default.", counter.name),
            "An increment of other counters fails when it makes a row.",
        ),
        Some(default) => Fault::wrong(
            "default_not_0",
            format!("The default of {} is {default}, not 0.", counter.name),
            "An increment of other counters adds that much to it when it makes a row.",
        ),
    };
    let (table, name) = (shape.table_sql(), shape.quoted(&counter.name));
    Some(match shape.dialect {
        Dialect::Sqlite => fault.rebuild(),
        Dialect::MySql if !shape.table.holds_counts(counter) => {
            fault.remedy("What changes its type gives it the default 0.")
        }
        Dialect::PostgreSql | Dialect::MySql => fault
            .remedy("Give it the default 0. No row is changed.")
            .sql(format!(
                "ALTER TABLE {table} ALTER COLUMN {name} SET DEFAULT 0;"
            )),
    })
}

/// SQLite stores anything in a column of a table that is not STRICT.
fn unchecked(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let definition = shape.table.definition.as_deref().unwrap_or_default();
    let unchecked: Vec<_> = shape
        .counters
        .iter()
        .filter(|counter| !has_check(definition, &counter.name))
        .map(|counter| counter.name.as_str())
        .collect();
    if !unchecked.is_empty() {
        let (names, has) = match unchecked.as_slice() {
            [name] => ((*name).to_owned(), "has"),
            names => (names.join(", "), "have"),
        };
        faults.push(
            Fault::wrong(
                "unchecked",
                format!("{names} {has} no CHECK (typeof(…) = 'integer')."),
                "Another program can store what is no integer, and SQLite's own + turns into \
                 floating point when it overflows.",
            )
            .rebuild(),
        );
    }
    // In a REAL column every number is one of those.
    let integers = shape
        .counters
        .iter()
        .filter(|counter| counter.kind != Kind::Real);
    for counter in integers {
        let name = shape.quoted(&counter.name);
        let rows = count(
            shape,
            &format!("typeof({name}) NOT IN ('integer', 'null')"),
            conn,
        )?;
        if rows > 0 {
            let rows = match rows {
                1 => "One row has".to_owned(),
                rows => format!("{} rows have", thousands(rows)),
            };
            faults.push(
                Fault::wrong(
                    "no_integer",
                    format!("{rows} a value of {} that is no integer.", counter.name),
                    "A sum over it is an error.",
                )
                .remedy("Look at it, and put the count right before anything else.")
                .sql(format!(
                    "SELECT * FROM {} WHERE typeof({name}) NOT IN ('integer', 'null');",
                    shape.table_sql()
                )),
            );
        }
    }
    Ok(faults)
}

/// However it is spaced and quoted.
fn has_check(definition: &str, counter: &str) -> bool {
    let plain = |text: &str| -> String {
        let kept = text
            .chars()
            .filter(|c| !c.is_whitespace() && !"\"`[]".contains(*c));
        kept.collect::<String>().to_lowercase()
    };
    plain(definition).contains(&plain(&format!("typeof({counter})='integer'")))
}
