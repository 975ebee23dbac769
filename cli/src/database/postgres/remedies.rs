//! The faults of a table on PostgreSQL, and the SQL that removes them.

use super::Postgres;
use crate::catalogue::{Index, Shape, Table, is_zero};
use crate::database::{Change, Costs, Database, Fault, Script, Severity};

pub const COSTS: Costs = Costs {
    no_unique_key: "Each increment fails: its ON CONFLICT needs a unique key.",
    auto_increment_key: None,
    unique_index: "An increment fails if only this index has such a row already.",
    counter_index: "Each increment of that counter writes this index and all others: it cannot be \
                    a heap-only update.",
};

const REWRITES: &str = "This rewrites the whole table, and blocks reads and writes.";

pub fn change(change: &Change<'_>, table: &Table) -> Script {
    let alter = |what: String| format!("ALTER TABLE {} {what};", Postgres.table_name(table));
    match change {
        Change::Type(column, to) => {
            let name = Postgres.quoted(&column.name);
            let using = match (*to, Postgres.as_day(column)) {
                ("DATE", Some(day)) => format!(" USING {day}"),
                _ => String::new(),
            };
            Script::new(
                alter(format!("ALTER COLUMN {name} TYPE {to}{using}")),
                REWRITES,
            )
        }
        Change::Counter(column) => {
            let name = Postgres.quoted(&column.name);
            let has_type = table.holds_counts(column);
            let mut changes = Vec::new();
            if !has_type {
                changes.push(format!("ALTER COLUMN {name} TYPE BIGINT"));
            }
            if column.nullable || !column.default.as_deref().is_some_and(is_zero) {
                changes.push(format!("ALTER COLUMN {name} SET DEFAULT 0"));
            }
            let mut sql = Vec::new();
            if column.nullable {
                changes.push(format!("ALTER COLUMN {name} SET NOT NULL"));
                let table = Postgres.table_name(table);
                sql.push(format!(
                    "UPDATE {table} SET {name} = 0 WHERE {name} IS NULL;"
                ));
            }
            sql.push(alter(changes.join(", ")));
            let locks = match (has_type, column.nullable) {
                (false, _) => REWRITES,
                (true, true) => {
                    "The second statement reads the whole table, and blocks reads and writes."
                }
                (true, false) => "This changes no row.",
            };
            Script { sql, locks }
        }
        Change::Default(column) => {
            let name = Postgres.quoted(&column.name);
            Script::new(alter(format!("ALTER COLUMN {name} SET DEFAULT …")), "")
        }
        Change::Collation(column) => {
            let (name, sql_type) = (Postgres.quoted(&column.name), &column.sql_type);
            let to = format!("ALTER COLUMN {name} TYPE {sql_type} COLLATE \"C\"");
            Script::new(
                alter(to),
                "This rewrites the table or its indexes, and blocks reads and writes.",
            )
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
            let script = change(&Change::Type(entity, "TEXT"), shape.table);
            fault.change("Change its type.", Some(script))
        })
    });
    faults.collect()
}
