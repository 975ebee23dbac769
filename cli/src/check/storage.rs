//! A table whose rows a crash or a rollback loses.

use anyhow::Result;
use diesel_counters::Dialect;

use super::change::{Script, mysql::COPIES, postgres::REWRITES};
use super::fault::{Fault, faults};
use crate::catalogue::Shape;
use crate::connection::AnyConnection;

faults! {
    UNLOGGED = Wrong, "unlogged": "A crash of the server empties it.";
    NO_TRANSACTIONS = Wrong, "no_transactions":
        "Counts do not roll back with the rest of a transaction.";
}

pub fn check(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let Some(storage) = &shape.table.unsafe_storage else {
        return Ok(Vec::new());
    };
    let table = conn.database().table_name(shape.table);
    let (fault, remedy, change, locks) = match conn.dialect() {
        Dialect::MySql => (
            NO_TRANSACTIONS.found(format!(
                "Its engine is {storage}, which has no transactions."
            )),
            "Move it to InnoDB.",
            "ENGINE = InnoDB",
            COPIES,
        ),
        Dialect::PostgreSql | Dialect::Sqlite => (
            UNLOGGED.found(format!("The table is {storage}.")),
            "Make it a logged table.",
            "SET LOGGED",
            REWRITES,
        ),
    };
    let sql = format!("ALTER TABLE {table} {change};");
    Ok(vec![fault.change(remedy, Some(Script { sql, locks }))])
}
