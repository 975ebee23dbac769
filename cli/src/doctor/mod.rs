//! `doctor`: who waits for a counter's row, who holds it, and what to do.

mod advice;
pub mod database;
mod print;
pub mod report;
mod slots;
mod watch;

use anyhow::{Result, bail};

use crate::connection::{AnyConnection, who_locks};
use crate::{Global, Outcome, catalogue};
use catalogue::CounterTable;
use database::{Database, Notes};
use report::{Report, Wait};

/// Shows who waits for rows of a counter table, who holds them, and what to do.
///
/// It also shows the table's last deadlock (MySQL and MariaDB) and how its slots are filled.
/// It changes nothing. It ends with 3 when it saw contention: a session that waits, a deadlock
/// of the table in the last day, or SQLite's write lock held.
#[derive(clap::Args)]
pub struct Doctor {
    /// The counter table, which may be schema.table.
    table: String,
    /// Look five times a second for this long, and add up what is seen; Ctrl-C ends it early.
    ///
    /// On MySQL each look reads performance_schema.data_locks, which lists every row lock of
    /// the whole server: where many rows are locked, that costs a busy server time and memory.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    watch: Option<u64>,
}

pub fn run(doctor: Doctor, global: &Global) -> Result<Outcome> {
    let conn = &mut global.connect()?;
    let database = database::of(conn.dialect());
    let counters = match catalogue::counter_table(conn, &doctor.table) {
        // Even the catalogue waits for the session that has locked the whole table.
        Err(error) if !who_locks(&error).is_empty() => bail!(
            "another session has locked the whole table {}; {}",
            doctor.table,
            database.words.table_locks
        ),
        counters => counters?,
    };
    let report = report(conn, &counters, &database, doctor.watch)?;
    global.print(&report, || print::text(&report, &database.words))?;
    Ok(if report.contention {
        Outcome::Found
    } else {
        Outcome::Good
    })
}

fn report(
    conn: &mut AnyConnection,
    counters: &CounterTable,
    database: &Database,
    seconds: Option<u64>,
) -> Result<Report> {
    let mut notes = Notes::default();
    let mut look = || {
        let mut look = (database.look)(conn, counters, &mut notes)?;
        leave_out_queued(&mut look.waits);
        anyhow::Ok(look)
    };
    let watch = seconds
        .map(|seconds| watch::watch(seconds, &mut look))
        .transpose()?;
    let mut look = look()?;
    let last_deadlock = (database.last_deadlock)(conn, counters, &mut notes)?;
    let slots = slots::last_day(conn, counters, database).unwrap_or_else(|error| {
        // This command, too, is a session.
        look.table_waits += usize::from(!who_locks(&error).is_empty());
        notes.miss("how slots are filled", &error.to_string(), None);
        None
    });
    let mut report = Report {
        table: counters.table.to_string(),
        database: (database.version)(conn)?,
        contention: false,
        look,
        watch,
        last_deadlock,
        slots,
        advice: Vec::new(),
        not_seen: notes.not_seen.clone(),
    };
    report.contention = report.look.has_contention()
        || report.recent_deadlock().is_some()
        || matches!(&report.watch, Some(watch) if watch.looks_with_contention > 0);
    report.advice = advice::advice(&report, &database.words, notes.is_blind());
    Ok(report)
}

/// Leaves the holders that hold a row: the others wait for one, as the waiter does.
fn leave_out_queued(waits: &mut [Wait]) {
    let waiters: Vec<i64> = waits.iter().map(|wait| wait.waiter.id).collect();
    for wait in waits {
        let mut seen = Vec::new();
        wait.holders.retain(|holder| {
            let is_new = !seen.contains(&holder.id);
            seen.push(holder.id);
            is_new && !waiters.contains(&holder.id)
        });
    }
}

/// Whether a statement counts in the table, as far as its text tells. A COMMIT tells nothing.
pub fn counts_in(table: &CounterTable, statement: Option<&str>) -> Option<bool> {
    let statement = statement?.trim().trim_end_matches(';').to_lowercase();
    let ends = ["commit", "end"].contains(&statement.as_str());
    (!ends).then(|| statement.contains(&table.table.name.to_lowercase()))
}
