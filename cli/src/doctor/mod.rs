//! `doctor`: who waits for a counter's row, who holds it, and what to do.

mod advice;
mod print;
mod report;
mod slots;
mod watch;
mod words;

use anyhow::{Result, bail};
use diesel::RunQueryDsl;
use diesel::dsl;
use diesel::sql_types::Text;

use crate::catalogue;
use crate::connection::{AnyConnection, who_locks};
use crate::locks::{self, Looks};
use crate::options::Options;
use catalogue::CounterTable;
use report::Report;
use words::Words;

/// Show who waits for rows of a counter table, who holds them, and what to do.
///
/// It also shows the table's last deadlock (MySQL and MariaDB) and how its slots are filled.
/// It changes nothing. Exits with 3 if it finds contention: a session that waits, a deadlock
/// of the table in the last day, or SQLite's write lock held.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  diesel-counters doctor article_counters
  diesel-counters doctor article_counters --watch 30")]
pub struct Doctor {
    /// The counter table, such as article_counters or blog.article_counters.
    table: String,
    /// Look five times a second for this long, and add up what was seen [default: look once].
    ///
    /// Ctrl-C ends it early, and prints what was seen.
    ///
    /// On MySQL each look reads performance_schema.data_locks, which lists every row lock of
    /// the whole server: where many rows are locked, that costs a busy server time and memory.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    watch: Option<u64>,
}

/// Returns whether it found contention.
pub fn run(doctor: Doctor, options: &Options) -> Result<bool> {
    let conn = &mut options.connect()?;
    let words = words::of(conn.dialect());
    let counters = match catalogue::counter_table(conn, &doctor.table) {
        // Even the catalogue waits for a session that has locked the whole table.
        Err(error) if !who_locks(&error).is_empty() => bail!(
            "another session has locked the whole table {}; {}",
            doctor.table,
            words.table_locks
        ),
        counters => counters?,
    };
    let report = report(conn, &counters, doctor.watch, &words)?;
    options.print(&report, || print::text(&report, &words))?;
    Ok(report.contention)
}

fn report(
    conn: &mut AnyConnection,
    counters: &CounterTable,
    seconds: Option<u64>,
    words: &Words,
) -> Result<Report> {
    let looks = &mut Looks::at(counters, conn);
    let (mut look, watch) = watch::watch(seconds, || locks::look(looks))?;
    let version = dsl::sql::<Text>(words.version);
    let version = diesel::select(version).get_result(looks.conn)?;
    let last_deadlock = locks::last_deadlock(looks)?;
    let slots = slots::of_last_day(counters, looks.conn);
    let (day, slots) = slots.unwrap_or_else(|error| {
        // This command waits for the whole table, too.
        look.clients.table_waits += i64::from(!who_locks(&error).is_empty());
        looks.miss("how slots are filled", &error.to_string(), None);
        Default::default()
    });
    let mut report = Report {
        table: counters.table.to_string(),
        database: version,
        contention: watch.looks_with_contention > 0 || look.has_contention(),
        look,
        watch,
        last_deadlock,
        day,
        slots,
        not_seen: std::mem::take(&mut looks.not_seen),
        advice: Vec::new(),
    };
    report.contention |= report.recent_deadlock().is_some();
    report.advice = advice::advice(&report, words);
    Ok(report)
}
