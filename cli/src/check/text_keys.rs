//! Text keys that the database compares differently from the program.

use anyhow::Result;

use crate::catalogue::{self, Column, CounterTable};
use crate::connection::AnyConnection;
use crate::database::{MYSQL, POSTGRES, SQLITE};
use crate::fault::{Fault, note, slow, wrong};

use super::how_to_change;

/// Finds text keys that the database compares differently from the program.
pub fn text_keys(counters: &CounterTable, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for column in &counters.entity {
        if conn.database() == POSTGRES {
            faults.extend(fixed_width(column));
        }
        faults.extend(loose_collation(column, conn)?);
    }
    Ok(faults)
}

/// Finds a `CHAR(n)` on PostgreSQL.
fn fixed_width(column: &Column) -> Option<Fault> {
    if !["character", "bpchar"].contains(&&*column.plain_type()) {
        return None;
    }
    let what = format!("{} is {}, not TEXT.", column.name, column.sql_type);
    let cost = "Diesel binds a TEXT, and PostgreSQL has no index to compare it with: every read \
                scans the whole table.";
    Some(slow("text_key", what, cost).remedy("Make it a TEXT."))
}

const SPACES_AT_THE_END: &str =
    "'foo' and 'foo ', with a space at its end, are the same key: they are counted as one.";

/// Finds a collation that treats different texts as one key.
fn loose_collation(column: &Column, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let Some(collation) = &column.loose_collation else {
        return Ok(None);
    };
    // Texts that the parent's key treats as equal are one entity. If this user may not see the
    // parent, assume that it has the same collation.
    if let Some(parent) = &column.refers_to {
        let table = catalogue::parent(parent, conn)?;
        let key = table
            .as_ref()
            .and_then(|table| table.column(&parent.column));
        if key.is_none_or(|key| key.loose_collation == column.loose_collation) {
            return Ok(None);
        }
    }
    let database = conn.database();
    let what = format!("{} has the collation {collation}.", column.name);
    let fault = if database == SQLITE && collation == "RTRIM" {
        wrong("text_key", what, SPACES_AT_THE_END)
    } else if database != MYSQL || collation.ends_with("_ci") {
        let cost = "'Foo' and 'foo' are the same key: they are counted as one.";
        wrong("text_key", what, cost)
    } else if collation.contains("_ai_") {
        let cost = "'résumé' and 'resume' are the same key: they are counted as one.";
        wrong("text_key", what, cost)
    } else {
        note("text_key", what, SPACES_AT_THE_END)
    };
    let exact = "If these are different keys for you, give it a collation that tells them apart, \
                 such as \"C\", utf8mb4_0900_bin or utf8mb4_nopad_bin, and the same one to every \
                 column that it is joined to.";
    Ok(Some(fault.remedy(how_to_change(database, exact))))
}
