//! Notes: worth knowing about a table or a database, but not faults.

use anyhow::Result;
use diesel::RunQueryDsl;
use diesel::sql_types::Text;

use super::how_to_change;
use crate::catalogue::{CounterTable, Mark, Table, mark_statement};
use crate::connection::AnyConnection;
use crate::database::{Database, Joined, SQLITE};
use crate::fault::{Fault, TableFaults, note};
use crate::sql::sql;
use crate::triggers;
use crate::triggers::{Cascade, Counting, LiveTrigger, Trigger, TriggerTable};

/// Notes that the database doesn't say which period the table counts by.
pub fn period(counters: &CounterTable, database: Database) -> Option<Fault> {
    if counters.mark().is_some() {
        return None;
    }
    let what = "The database doesn't say which period a row covers.";
    let cost = "To fold into weeks, months or years, you have to say --period.";
    let write = "Write it into a comment: day, which is the default, or the week, month, year or \
                 total of your counter_table!. This changes no row.";
    let statement = mark_statement(counters, &Mark::default(), database);
    let fault = note("period", what, cost).remedy(how_to_change(database, write));
    Some(fault.run(statement))
}

/// Finds the application's own triggers and rules on a table that is counted in. `own` are the
/// triggers that counters.toml asks for.
pub fn other_triggers(table: &Table, own: &[Trigger], live: &[LiveTrigger]) -> Option<Fault> {
    let is_own = |live: &LiveTrigger| {
        own.iter()
            .any(|own| own.name == live.name && own.table == live.table)
    };
    let of_table = live
        .iter()
        .filter(|live| live.table == TriggerTable::of(table));
    let others = of_table.filter(|live| !is_own(live)).map(|live| &live.name);
    let names = others.joined(", ");
    if names.is_empty() {
        return None;
    }
    let what = format!("{table} has triggers or rules that counters.toml doesn't name: {names}.");
    let cost = "If one of them skips or changes a row that is counted, the count is wrong.";
    Some(note("other_triggers", what, cost).remedy("Read them."))
}

/// Notes that an SQLite database has no write-ahead log.
pub fn journal(conn: &mut AnyConnection) -> Result<Option<TableFaults>> {
    if conn.database() != SQLITE {
        return Ok(None);
    }
    let mode: String = sql("PRAGMA journal_mode")
        .typed::<Text>()
        .get_result(conn)?;
    // A database in memory can't have another mode.
    if ["wal", "memory", "off"].contains(&&*mode) {
        return Ok(None);
    }
    let what = format!("Its journal mode is {mode}, not WAL.");
    let cost = "Readers and the writer wait for each other: with six threads, WAL made more than \
                20 times as many requests.";
    let fault = note("journal", what, cost)
        .remedy("Set it once, while no program uses the file. The file keeps it.")
        .run("PRAGMA journal_mode = WAL;".to_owned());
    Ok(Some(TableFaults {
        table: "database".to_owned(),
        faults: vec![fault],
    }))
}

/// Notes the foreign keys that delete counted rows without running a trigger.
pub fn cascades(counting: &Counting, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let found = triggers::cascades(counting, conn)?;
    let notes = found.iter().map(|cascade| {
        note("cascade", cascade.to_string(), Cascade::COST).remedy(cascade.remedy())
    });
    Ok(notes.collect())
}
