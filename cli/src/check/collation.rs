//! Collations of the key that take different texts as equal.

use anyhow::Result;
use diesel_counters::Dialect;

use super::change::{Change, change};
use super::fault::{Fault, faults};
use crate::catalogue::{self, Column, Shape};
use crate::connection::AnyConnection;
use crate::database::TELLS_TEXTS_APART;

faults! {
    COLLATION = Wrong, "collation": "It takes 'Foo' and 'foo' as equal, and counts them as one.";
    PADDING = Hint, "padding":
        "It takes 'foo ', with a space at its end, and 'foo' as equal, and counts them as one.";
}

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for column in &shape.entity {
        faults.extend(of_column(shape, column, conn)?);
    }
    Ok(faults)
}

fn of_column(
    shape: &Shape<'_>,
    entity: &Column,
    conn: &mut AnyConnection,
) -> Result<Option<Fault>> {
    let Some(collation) = &entity.loose_collation else {
        return Ok(None);
    };
    // Texts that the parent's key takes as equal are one entity.
    if let Some(parent) = &entity.refers_to {
        let table = catalogue::parent(parent, conn)?;
        let column = table.as_ref().and_then(|t| t.column(&parent.column));
        if column.is_none_or(|column| column.loose_collation.as_ref() == Some(collation)) {
            return Ok(None);
        }
    }
    let fault = match only_ignores_spaces(collation, conn.dialect()) {
        true => PADDING,
        false => COLLATION,
    };
    let exact_type = exact_type(entity, conn.dialect());
    let to = Change::sql_type(entity, &exact_type);
    let script = change(&to, shape.table, conn.database());
    let fault = fault.found(format!("{} has the collation {collation}.", entity.name));
    Ok(Some(fault.change(
        "Give it a collation that tells them apart, and the same one to each column that it is \
         joined to.",
        script,
    )))
}

fn only_ignores_spaces(collation: &str, dialect: Dialect) -> bool {
    dialect == Dialect::MySql && !collation.ends_with("_ci")
}

/// The type of a column of texts, with a collation that tells all texts apart.
fn exact_type(column: &Column, dialect: Dialect) -> String {
    let sql_type = &column.sql_type;
    match (dialect, sql_type.strip_prefix("char")) {
        (Dialect::PostgreSql, _) => format!("{sql_type} COLLATE \"C\""),
        // CHAR drops the spaces at the end, whatever its collation.
        (Dialect::MySql, Some(width)) => format!("varchar{width} {TELLS_TEXTS_APART}"),
        (Dialect::MySql, None) => format!("{sql_type} {TELLS_TEXTS_APART}"),
        (Dialect::Sqlite, _) => sql_type.clone(),
    }
}
