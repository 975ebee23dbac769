//! The faults of a table on MySQL and MariaDB, and the SQL that removes them.

use super::Mysql;
use crate::catalogue::Table;
use crate::database::{Change, Database, Fault, Script, faults};

faults! {
    NO_TRANSACTIONS = Wrong, "no_transactions":
        "Counts do not roll back with the rest of a transaction.";
}

const COPIES: &str = "This copies the whole table, and blocks writes.";

pub fn change(change: &Change<'_>, table: &Table) -> Script {
    let alter = |what: &str| format!("ALTER TABLE {} {what};", Mysql.table_name(table));
    let (what, locks) = match change {
        Change::Column {
            column,
            sql_type,
            default,
            not_null,
        } => {
            let name = Mysql.quoted(&column.name);
            match (sql_type, not_null, default) {
                (None, false, default) => (
                    format!(
                        "ALTER COLUMN {name} SET DEFAULT {}",
                        default.unwrap_or("NULL")
                    ),
                    "This changes no row.",
                ),
                // MODIFY needs the whole definition.
                (sql_type, _, default) => {
                    let sql_type = sql_type.unwrap_or(&column.sql_type);
                    let default = default.map_or(String::new(), |to| format!(" DEFAULT {to}"));
                    (
                        format!("MODIFY {name} {sql_type} NOT NULL{default}"),
                        COPIES,
                    )
                }
            }
        }
        Change::PrimaryKey(changes) => (changes.clone(), "This rewrites the whole table."),
        Change::DropIndex(index) => (Mysql.drop_in_alter(index).unwrap_or_default(), ""),
    };
    let sql = alter(&what);
    Script { sql, locks }
}

pub fn no_transactions(table: &Table) -> Option<Fault> {
    let engine = table.unsafe_storage.as_ref()?;
    let fault = NO_TRANSACTIONS.found(format!(
        "Its engine is {engine}, which has no transactions."
    ));
    let sql = format!("ALTER TABLE {} ENGINE = InnoDB;", Mysql.table_name(table));
    let locks = COPIES;
    Some(fault.change("Move it to InnoDB.", Some(Script { sql, locks })))
}
