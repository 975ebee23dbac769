//! The columns: their types, defaults and checks.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::Dialect;

use super::fault::Fault;
use super::shape::{Shape, is_zero};
use crate::catalogue::{Column, Kind};
use crate::connection::AnyConnection;
use crate::output::thousands;
use crate::sql::sql;

pub fn faults(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults: Vec<_> = [day(shape, conn)?, slot(shape, conn)?]
        .into_iter()
        .flatten()
        .collect();
    faults.extend(
        shape
            .entity
            .iter()
            .filter_map(|column| collation(shape, column)),
    );
    for counter in &shape.counters {
        faults.extend(counter_type(shape, counter, conn)?);
        // What is no whole number is perhaps no counter, and is looked at first.
        if is_whole(counter, shape.dialect) {
            faults.extend(null_counter(shape, counter, conn)?);
            faults.extend(default(shape, counter));
        }
    }
    faults.extend(other_columns(shape));
    if shape.dialect == Dialect::Sqlite && !shape.table.strict {
        faults.extend(unchecked(shape, conn)?);
    }
    Ok(faults)
}

fn day(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let day = shape.day;
    if shape.table.holds_days(day) {
        return Ok(None);
    }
    let fault = Fault::wrong(
        "day_type",
        format!("{} is {}, not DATE.", day.name, day.sql_type),
        "diesel_counters does not compile with it; and what holds a time as well, or a day in \
         several spellings, has many rows for one day.",
    );
    if shape.dialect == Dialect::Sqlite {
        return Ok(Some(fault.rebuild()));
    }
    let Some(as_day) = as_day(shape) else {
        return Ok(Some(fault.remedy(
            "Look at how it says a day, and of which time zone; then make it a DATE.",
        )));
    };
    if shape.has_several_rows_of_one_key(&as_day, conn)? {
        return Ok(Some(fault.remedy(
            "First add up the rows of one day, of which there are several; then make it a DATE.",
        )));
    }
    let (table, name) = (shape.table_sql(), shape.quoted(&day.name));
    Ok(Some(fault.remedy(change_type(shape)).sql(
        match shape.dialect {
            Dialect::MySql => format!("ALTER TABLE {table} MODIFY {name} DATE NOT NULL;"),
            _ => format!("ALTER TABLE {table} ALTER COLUMN {name} TYPE DATE USING {as_day};"),
        },
    )))
}

/// The day, where there is no doubt which it is: days are of UTC.
fn as_day(shape: &Shape<'_>) -> Option<String> {
    let name = shape.quoted(&shape.day.name);
    match (shape.dialect, shape.day.sql_type.as_str()) {
        (Dialect::PostgreSql, "timestamp without time zone") => Some(format!("{name}::DATE")),
        (Dialect::PostgreSql, "timestamp with time zone") => {
            Some(format!("({name} AT TIME ZONE 'UTC')::DATE"))
        }
        // One of fractions of a second would be rounded, to the next day too.
        (Dialect::MySql, "datetime") => Some(format!("DATE({name})")),
        _ => None,
    }
}

fn slot(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let slot = shape.slot;
    if shape.table.holds_slots(slot) {
        return Ok(None);
    }
    let fault = Fault::wrong(
        "slot_type",
        format!("{} is {}, not SMALLINT.", slot.name, slot.sql_type),
        "diesel_counters does not compile with it.",
    );
    let (table, name) = (shape.table_sql(), shape.quoted(&slot.name));
    Ok(Some(match shape.dialect {
        Dialect::Sqlite => fault.rebuild(),
        dialect
            if !is_whole(slot, dialect)
                || count(shape, &format!("{name} NOT BETWEEN 0 AND 32767"), conn)? > 0 =>
        {
            fault.remedy("Look at what it holds; then make it a SMALLINT.")
        }
        Dialect::PostgreSql => fault.remedy(change_type(shape)).sql(format!(
            "ALTER TABLE {table} ALTER COLUMN {name} TYPE SMALLINT;"
        )),
        Dialect::MySql => fault.remedy(change_type(shape)).sql(format!(
            "ALTER TABLE {table} MODIFY {name} SMALLINT NOT NULL;"
        )),
    }))
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

/// Whether it holds whole numbers only.
fn is_whole(column: &Column, dialect: Dialect) -> bool {
    match column.kind {
        Kind::SmallInt | Kind::Integer | Kind::BigInt => true,
        // Without a sign, or of a size that diesel_counters has no use for.
        Kind::Other if dialect == Dialect::MySql => ["tiny", "small", "medium", "", "big"]
            .iter()
            .any(|size| column.sql_type.starts_with(&format!("{size}int"))),
        _ => false,
    }
}

fn change_type(shape: &Shape<'_>) -> &'static str {
    match shape.dialect {
        Dialect::PostgreSql => {
            "Change its type. The whole table is rewritten, and nobody reads or writes it meanwhile."
        }
        _ => "Change its type. The whole table is copied, and nobody writes it meanwhile.",
    }
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

/// Of what is no counter.
fn other_columns(shape: &Shape<'_>) -> Vec<Fault> {
    let is_counter = |column: &&Column| {
        shape
            .counters
            .iter()
            .any(|counter| counter.name == column.name)
    };
    let others = shape.table.columns.iter().filter(|column| {
        !shape.is_key(column)
            && !is_counter(column)
            && !column.nullable
            && column.default.is_none()
            && !column.auto_increment
            && !column.generated
    });
    let faults = others.map(|column| {
        let (table, name) = (shape.table_sql(), shape.quoted(&column.name));
        let fault = Fault::wrong(
            "no_default",
            format!("{} is NOT NULL and has no default.", column.name),
            "An increment fails when it makes a row, because it gives the key and the counters only.",
        );
        match shape.dialect {
            Dialect::Sqlite => fault.rebuild(),
            _ => fault
                .remedy("Give it a default, with a value of yours.")
                .sql(format!("ALTER TABLE {table} ALTER COLUMN {name} SET DEFAULT …;")),
        }
    });
    faults.collect()
}

fn collation(shape: &Shape<'_>, entity: &Column) -> Option<Fault> {
    let collation = entity.loose_collation.as_ref()?;
    let (table, name) = (shape.table_sql(), shape.quoted(&entity.name));
    let fault = Fault::wrong(
        "collation",
        format!("{} has the collation {collation}.", entity.name),
        "It takes 'Foo' for 'foo', and counts them as one.",
    )
    .remedy(
        "Give it one that tells them apart; where it has a foreign key, on the other side too. The \
         table is rewritten or its indexes are, and nobody writes it meanwhile.",
    );
    Some(match shape.dialect {
        Dialect::MySql => fault.sql(format!(
            "ALTER TABLE {table} MODIFY {name} {} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL;",
            entity.sql_type.to_uppercase()
        )),
        Dialect::PostgreSql => fault.sql(format!(
            "ALTER TABLE {table} ALTER COLUMN {name} TYPE {} COLLATE \"C\";",
            entity.sql_type
        )),
        Dialect::Sqlite => fault.rebuild(),
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

pub fn count(shape: &Shape<'_>, condition: &str, conn: &mut AnyConnection) -> Result<i64> {
    #[derive(QueryableByName)]
    struct Rows {
        #[diesel(sql_type = BigInt)]
        counted: i64,
    }
    let rows: Rows = sql(format!(
        "SELECT COUNT(*) AS counted FROM {} WHERE {condition}",
        shape.table_sql()
    ))
    .get_result(conn)?;
    Ok(rows.counted)
}
