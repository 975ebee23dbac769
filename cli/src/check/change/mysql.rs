//! Changes on MySQL and MariaDB.

use super::{Change, Script};
use crate::catalogue::{Index, Table};
use crate::database::MYSQL;

pub const COPIES: &str = "This copies the whole table, and blocks writes.";

pub fn change(change: &Change<'_>, table: &Table) -> Script {
    let alter = |what: &str| format!("ALTER TABLE {} {what};", MYSQL.table_name(table));
    let (what, locks) = match change {
        Change::Column {
            column,
            sql_type,
            default,
            not_null,
        } => {
            let name = MYSQL.quoted(&column.name);
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
        Change::DropIndex(index) => (drop_in_alter(index), ""),
    };
    let sql = alter(&what);
    Script { sql, locks }
}

pub fn drop_in_alter(index: &Index) -> String {
    match index.primary {
        true => "DROP PRIMARY KEY".to_owned(),
        false => format!("DROP INDEX {}", MYSQL.quoted(&index.name)),
    }
}
