//! The faults of a table on PostgreSQL, and the SQL that removes them.

use super::Postgres;
use crate::catalogue::{Index, Shape, Table};
use crate::database::{Change, Database, Fault, Script, Severity};

const REWRITES: &str = "This rewrites the whole table, and blocks reads and writes.";

pub fn change(change: &Change<'_>, table: &Table) -> Script {
    let table_name = Postgres.table_name(table);
    let alter = |what: String| format!("ALTER TABLE {table_name} {what};");
    match change {
        Change::Column {
            column,
            sql_type,
            default,
            is_counter,
        } => {
            let name = Postgres.quoted(&column.name);
            let may_be_null = *is_counter && column.nullable;
            let using = match (sql_type, Postgres.as_day(column)) {
                (Some("DATE"), Some(day)) => format!(" USING {day}"),
                _ => String::new(),
            };
            let changes = [
                sql_type.map(|to| format!("TYPE {to}{using}")),
                default.map(|default| format!("SET DEFAULT {default}")),
                may_be_null.then(|| "SET NOT NULL".to_owned()),
            ];
            let changes = changes.iter().flatten();
            let changes: Vec<_> = changes
                .map(|to| format!("ALTER COLUMN {name} {to}"))
                .collect();
            let zero = format!("UPDATE {table_name} SET {name} = 0 WHERE {name} IS NULL;");
            let zero = may_be_null.then_some(zero);
            Script {
                sql: zero
                    .into_iter()
                    .chain([alter(changes.join(", "))])
                    .collect(),
                locks: match (sql_type, may_be_null) {
                    (Some(_), _) => REWRITES,
                    (None, true) => {
                        "The second statement reads the whole table, and blocks reads and writes."
                    }
                    (None, false) => "This changes no row.",
                },
            }
        }
        Change::PrimaryKey(key) => Script::new(
            alter(key.replace(&Postgres, drop_constraint)),
            "This blocks reads and writes while the index is built.",
        ),
        Change::DropIndex(index) => Script::new(drop_index(index, table), ""),
    }
}

fn drop_constraint(index: &Index) -> Option<String> {
    let name = Postgres.quoted(&index.name);
    index
        .of_constraint
        .then(|| format!("DROP CONSTRAINT {name}"))
}

fn drop_index(index: &Index, table: &Table) -> String {
    if let Some(drop) = drop_constraint(index) {
        return format!("ALTER TABLE {} {drop};", Postgres.table_name(table));
    }
    let names = table.schema.iter().chain([&index.name]);
    let name: Vec<_> = names.map(|name| Postgres.quoted(name)).collect();
    // Without CONCURRENTLY every increment would wait for the lock. PostgreSQL does not accept it
    // for an index of a partitioned table.
    let concurrently = if table.partitioned {
        ""
    } else {
        "CONCURRENTLY "
    };
    format!("DROP INDEX {concurrently}{};", name.join("."))
}

pub fn unlogged(table: &Table) -> Option<Fault> {
    let stored = table.unsafe_storage.as_ref()?;
    let fault = Severity::Wrong.of(
        "unlogged",
        format!("The table is {stored}."),
        "A crash of the server empties it.",
    );
    let sql = format!("ALTER TABLE {} SET LOGGED;", Postgres.table_name(table));
    Some(fault.change("Make it a logged table.", Some(Script::new(sql, REWRITES))))
}

/// `CHAR(n)`, which `format_type` writes in these ways.
pub fn fixed_width(shape: &Shape<'_>) -> Vec<Fault> {
    let faults = shape.entity.iter().filter_map(|entity| {
        let name = entity.sql_type.split('(').next()?;
        matches!(name, "character" | "bpchar").then(|| {
            let fault = Severity::Slow.of(
                "fixed_width",
                format!("{} is {}, not TEXT.", entity.name, entity.sql_type),
                "Diesel binds a TEXT. PostgreSQL compares it with the column as TEXT, which no \
                 index has: each read scans the whole table.",
            );
            let script = change(&Change::sql_type(entity, "TEXT"), shape.table);
            fault.change("Change its type.", Some(script))
        })
    });
    faults.collect()
}
