//! The faults of a table on MySQL and MariaDB, and the SQL that removes them.

use super::Mysql;
use super::create_table::TELLS_TEXTS_APART;
use crate::catalogue::{Index, Table};
use crate::database::{Change, Costs, Database, Fault, Script, Severity};

pub const COSTS: Costs = Costs {
    no_unique_key: "Each increment adds a row of its own, and never adds to an existing one.",
    auto_increment_key: Some(
        "Each increment takes a number from it and locks in two indexes: measured on MySQL with \
         16 writers, that was slower than one row without slots.",
    ),
    unique_index: "ON DUPLICATE KEY UPDATE acts on any unique index: an increment can be added to \
                   another entity's, day's or slot's row.",
    counter_index: "Each increment of that counter writes it too.",
};

const COPIES: &str = "This copies the whole table, and blocks writes.";

pub fn change(change: &Change<'_>, table: &Table) -> Script {
    let table_name = Mysql.table_name(table);
    let alter = |what: String| format!("ALTER TABLE {table_name} {what};");
    match change {
        Change::Type(column, to) => {
            let name = Mysql.quoted(&column.name);
            Script::new(alter(format!("MODIFY {name} {to} NOT NULL")), COPIES)
        }
        Change::Counter(column) => {
            let name = Mysql.quoted(&column.name);
            if table.holds_counts(column) && !column.nullable {
                let default = format!("ALTER COLUMN {name} SET DEFAULT 0");
                return Script::new(alter(default), "This changes no row.");
            }
            let zero = format!("UPDATE {table_name} SET {name} = 0 WHERE {name} IS NULL;");
            let zero = column.nullable.then_some(zero);
            let modify = alter(format!("MODIFY {name} BIGINT NOT NULL DEFAULT 0"));
            Script {
                sql: zero.into_iter().chain([modify]).collect(),
                locks: COPIES,
            }
        }
        Change::Default(column) => {
            let name = Mysql.quoted(&column.name);
            Script::new(alter(format!("ALTER COLUMN {name} SET DEFAULT …")), "")
        }
        Change::Collation(column) => {
            let name = Mysql.quoted(&column.name);
            // CHAR drops the spaces at the end, whatever its collation.
            let to = match column.sql_type.strip_prefix("char") {
                Some(width) => format!("VARCHAR{width}"),
                None => column.sql_type.to_uppercase(),
            };
            Script::new(
                alter(format!("MODIFY {name} {to} {TELLS_TEXTS_APART} NOT NULL")),
                "This rewrites the table or its indexes, and blocks writes.",
            )
        }
        Change::PrimaryKey(key) => Script::new(
            alter(key.replace(&Mysql, |index| Some(drop(index)))),
            "This rewrites the whole table.",
        ),
        Change::DropIndex(index) => Script::new(alter(drop(index)), ""),
    }
}

fn drop(index: &Index) -> String {
    match index.primary {
        true => "DROP PRIMARY KEY".to_owned(),
        false => format!("DROP INDEX {}", Mysql.quoted(&index.name)),
    }
}

pub fn no_transactions(table: &Table) -> Option<Fault> {
    let engine = table.unsafe_storage.as_ref()?;
    let fault = Severity::Wrong.of(
        "no_transactions",
        format!("Its engine is {engine}, which has no transactions."),
        "Counts do not roll back with the rest of a transaction.",
    );
    let sql = format!("ALTER TABLE {} ENGINE = InnoDB;", Mysql.table_name(table));
    Some(fault.change("Move it to InnoDB.", Some(Script::new(sql, COPIES))))
}
