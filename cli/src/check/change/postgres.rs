//! Changes on PostgreSQL.

use super::{Change, Script, as_day};
use crate::catalogue::{Index, Table};
use crate::database::POSTGRES;

pub const REWRITES: &str = "This rewrites the whole table, and blocks reads and writes.";

pub fn change(change: &Change<'_>, table: &Table) -> Script {
    let alter = |what: &str| format!("ALTER TABLE {} {what};", POSTGRES.table_name(table));
    match change {
        Change::Column {
            column,
            sql_type,
            default,
            not_null,
        } => {
            let name = POSTGRES.quoted(&column.name);
            let using = match (sql_type, as_day(column, POSTGRES)) {
                (Some("DATE"), Some(day)) => format!(" USING {day}"),
                _ => String::new(),
            };
            let changes = [
                sql_type.map(|to| format!("ALTER COLUMN {name} TYPE {to}{using}")),
                default.map(|to| format!("ALTER COLUMN {name} SET DEFAULT {to}")),
                not_null.then(|| format!("ALTER COLUMN {name} SET NOT NULL")),
            ];
            let changes: Vec<_> = changes.into_iter().flatten().collect();
            Script {
                sql: alter(&changes.join(", ")),
                locks: match (sql_type, not_null) {
                    (Some(_), _) => REWRITES,
                    (None, true) => "This reads the whole table, and blocks reads and writes.",
                    (None, false) => "This changes no row.",
                },
            }
        }
        Change::PrimaryKey(changes) => Script {
            sql: alter(changes),
            locks: "This blocks reads and writes while the index is built.",
        },
        Change::DropIndex(index) => Script {
            sql: match drop_in_alter(index) {
                Some(drop) => alter(&drop),
                None => drop_index(index, table),
            },
            locks: "",
        },
    }
}

fn drop_index(index: &Index, table: &Table) -> String {
    let name = POSTGRES.quoted_in(table.schema.as_deref(), &index.name);
    // Without CONCURRENTLY every increment would wait for the lock. PostgreSQL does not accept it
    // for an index of a partitioned table.
    let drop = match table.partitioned {
        true => "DROP INDEX",
        false => "DROP INDEX CONCURRENTLY",
    };
    format!("{drop} {name};")
}

pub fn drop_in_alter(index: &Index) -> Option<String> {
    let name = POSTGRES.quoted(&index.name);
    let is_of_constraint = index.of_constraint;
    is_of_constraint.then(|| format!("DROP CONSTRAINT {name}"))
}
