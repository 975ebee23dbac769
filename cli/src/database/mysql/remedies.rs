//! The faults of a table on MySQL and MariaDB, and the SQL that removes them.

use super::Mysql;
use crate::catalogue::{Index, Table};
use crate::database::{Change, Database, Fault, Script, Severity};

const COPIES: &str = "This copies the whole table, and blocks writes.";

pub fn change(change: &Change<'_>, table: &Table) -> Script {
    let table_name = Mysql.table_name(table);
    let alter = |what: String| format!("ALTER TABLE {table_name} {what};");
    match change {
        Change::Column {
            column,
            sql_type,
            default,
            is_counter,
        } => {
            let name = Mysql.quoted(&column.name);
            let may_be_null = *is_counter && column.nullable;
            if let (None, Some(default), false) = (sql_type, default, may_be_null) {
                let default = format!("ALTER COLUMN {name} SET DEFAULT {default}");
                return Script::new(alter(default), "This changes no row.");
            }
            let zero = format!("UPDATE {table_name} SET {name} = 0 WHERE {name} IS NULL;");
            let zero = may_be_null.then_some(zero);
            // MODIFY needs the whole definition.
            let sql_type = sql_type.unwrap_or("BIGINT");
            let default = if *is_counter { " DEFAULT 0" } else { "" };
            let modify = alter(format!("MODIFY {name} {sql_type} NOT NULL{default}"));
            Script {
                sql: zero.into_iter().chain([modify]).collect(),
                locks: COPIES,
            }
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
