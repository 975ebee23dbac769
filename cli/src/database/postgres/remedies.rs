//! The faults of a table on PostgreSQL, and the SQL that removes them.

use super::Postgres;
use crate::catalogue::{Index, Shape, Table};
use crate::database::{Change, Database, Fault, Script, faults};

faults! {
    UNLOGGED = Wrong, "unlogged": "A crash of the server empties it.";
    FIXED_WIDTH = Slow, "fixed_width":
        "Diesel binds a TEXT. PostgreSQL compares it with the column as TEXT, which no index has: \
         each read scans the whole table.";
}

const REWRITES: &str = "This rewrites the whole table, and blocks reads and writes.";

pub fn change(change: &Change<'_>, table: &Table) -> Script {
    let alter = |what: &str| format!("ALTER TABLE {} {what};", Postgres.table_name(table));
    match change {
        Change::Column {
            column,
            sql_type,
            default,
            not_null,
        } => {
            let name = Postgres.quoted(&column.name);
            let using = match (sql_type, Postgres.as_day(column)) {
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
            sql: match Postgres.drop_in_alter(index) {
                Some(drop) => alter(&drop),
                None => drop_index(index, table),
            },
            locks: "",
        },
    }
}

fn drop_index(index: &Index, table: &Table) -> String {
    let name = Postgres.quoted_in(table.schema.as_deref(), &index.name);
    // Without CONCURRENTLY every increment would wait for the lock. PostgreSQL does not accept it
    // for an index of a partitioned table.
    let drop = match table.partitioned {
        true => "DROP INDEX",
        false => "DROP INDEX CONCURRENTLY",
    };
    format!("{drop} {name};")
}

pub fn unlogged(table: &Table) -> Option<Fault> {
    let stored = table.unsafe_storage.as_ref()?;
    let fault = UNLOGGED.found(format!("The table is {stored}."));
    let sql = format!("ALTER TABLE {} SET LOGGED;", Postgres.table_name(table));
    let locks = REWRITES;
    Some(fault.change("Make it a logged table.", Some(Script { sql, locks })))
}

/// `CHAR(n)`, which `format_type` writes in these ways.
pub fn fixed_width(shape: &Shape<'_>) -> Vec<Fault> {
    let faults = shape.entity.iter().filter_map(|entity| {
        let name = entity.sql_type.split('(').next()?;
        matches!(name, "character" | "bpchar").then(|| {
            let what = format!("{} is {}, not TEXT.", entity.name, entity.sql_type);
            let script = change(&Change::sql_type(entity, "TEXT"), shape.table);
            FIXED_WIDTH
                .found(what)
                .change("Change its type.", Some(script))
        })
    });
    faults.collect()
}
