//! Tables that lose rows in a crash, or don't roll back.

use crate::catalogue::Table;
use crate::database::{Database, MYSQL};
use crate::fault::{Fault, wrong};

use super::alter;

/// Finds a table that loses rows in a crash, or doesn't roll back.
pub fn storage(table: &Table, database: Database) -> Option<Fault> {
    let storage = table.unsafe_storage.as_ref()?;
    let what = format!("The storage of {table} is {storage}.");
    let (cost, change) = if database == MYSQL {
        let cost =
            "Its rows don't roll back with a transaction: then the counts don't match the rows.";
        (cost, "ENGINE = InnoDB")
    } else {
        let cost = "A server crash empties it: then the counts don't match the rows.";
        (cost, "SET LOGGED")
    };
    let fault = wrong("storage", what, cost).run(alter(table, database, change));
    Some(fault.remedy("Change it. This rewrites the table, and blocks writes."))
}
