//! The columns that are no counters.

use anyhow::Result;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use diesel_counters::Dialect;

use super::fault::Fault;
use super::shape::Shape;
use crate::catalogue::{Column, Kind, parent_table};
use crate::connection::AnyConnection;
use crate::generate::TELLS_TEXTS_APART;
use crate::sql::sql;

pub fn faults(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults: Vec<_> = [day(shape, conn)?, slot(shape, conn)?]
        .into_iter()
        .flatten()
        .collect();
    for column in &shape.entity {
        faults.extend(fixed_width(shape, column));
        faults.extend(collation(shape, column, conn)?);
    }
    faults.extend(other_columns(shape));
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

/// Whether it holds whole numbers only.
pub fn is_whole(column: &Column, dialect: Dialect) -> bool {
    match column.kind {
        Kind::SmallInt | Kind::Integer | Kind::BigInt => true,
        // Without a sign, or of a size that diesel_counters has no use for.
        Kind::Other if dialect == Dialect::MySql => ["tiny", "small", "medium", "", "big"]
            .iter()
            .any(|size| column.sql_type.starts_with(&format!("{size}int"))),
        _ => false,
    }
}

pub fn change_type(shape: &Shape<'_>) -> &'static str {
    match shape.dialect {
        Dialect::PostgreSql => {
            "Change its type. The whole table is rewritten, and nobody reads or writes it meanwhile."
        }
        _ => "Change its type. The whole table is copied, and nobody writes it meanwhile.",
    }
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

/// PostgreSQL's `CHAR(n)`, which `format_type` writes in these ways.
fn fixed_width(shape: &Shape<'_>, entity: &Column) -> Option<Fault> {
    let name = entity.sql_type.split('(').next().unwrap_or_default();
    let is_fixed = matches!(name, "character" | "bpchar");
    (is_fixed && shape.dialect == Dialect::PostgreSql).then(|| {
        Fault::slow(
            "fixed_width",
            format!("{} is {}, not TEXT.", entity.name, entity.sql_type),
            "Diesel binds a TEXT. PostgreSQL compares it with the column as TEXT, of which there \
             is no index: each read scans the whole table.",
        )
        .remedy(change_type(shape))
        .sql(format!(
            "ALTER TABLE {} ALTER COLUMN {} TYPE TEXT;",
            shape.table_sql(),
            shape.quoted(&entity.name)
        ))
    })
}

fn collation(
    shape: &Shape<'_>,
    entity: &Column,
    conn: &mut AnyConnection,
) -> Result<Option<Fault>> {
    let Some(collation) = &entity.loose_collation else {
        return Ok(None);
    };
    // What the parent's key takes for one is one entity.
    if let Some(parent) = &entity.refers_to {
        let table = parent_table(conn, parent)?;
        let column = table.as_ref().and_then(|t| t.column(&parent.column));
        if column.is_none_or(|column| column.loose_collation.as_ref() == Some(collation)) {
            return Ok(None);
        }
    }
    let what = format!("{} has the collation {collation}.", entity.name);
    let only_pads = shape.dialect == Dialect::MySql && !collation.ends_with("_ci");
    let fault = match only_pads {
        true => Fault::hint(
            "padding",
            what,
            "It takes 'foo ', with a space at its end, for 'foo', and counts them as one.",
        ),
        false => Fault::wrong(
            "collation",
            what,
            "It takes 'Foo' for 'foo', and counts them as one.",
        ),
    };
    let (table, name) = (shape.table_sql(), shape.quoted(&entity.name));
    let sql_type = &entity.sql_type;
    let fault = fault.remedy(
        "Give it one that tells them apart, and a column that it is joined to the same one. The \
         table is rewritten or its indexes are, and nobody writes it meanwhile.",
    );
    Ok(Some(match shape.dialect {
        Dialect::MySql => fault.sql(format!(
            "ALTER TABLE {table} MODIFY {name} {} {TELLS_TEXTS_APART} NOT NULL;",
            // CHAR drops the spaces at the end, whatever the collation.
            match sql_type.strip_prefix("char") {
                Some(width) => format!("VARCHAR{width}"),
                None => sql_type.to_uppercase(),
            }
        )),
        Dialect::PostgreSql => fault.sql(format!(
            "ALTER TABLE {table} ALTER COLUMN {name} TYPE {sql_type} COLLATE \"C\";"
        )),
        Dialect::Sqlite => fault.rebuild(),
    }))
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
