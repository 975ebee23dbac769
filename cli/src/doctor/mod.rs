//! `doctor`: are counters what is slow, and why?

mod advice;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod print;
mod report;
mod slots;
#[cfg(feature = "sqlite")]
mod sqlite;
mod target;
mod watch;

use anyhow::{Result, bail};

use crate::catalogue;
use crate::connection::AnyConnection;
use crate::options::{Options, Outcome};
use report::{History, NotSeen, Report, Wait};
use target::Target;

/// Says whether a table's counters are what is slow, and why.
///
/// It shows who waits for which row of the table and who holds it, what the database
/// knows of the time since it started, how slots are filled, and what to do. It changes
/// nothing. It ends with 3 when it saw contention: a wait, a deadlock of this table in the
/// last day, SQLite's write lock held, or a lock that it waited for itself in vain.
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

/// A database that is looked at.
trait Observed {
    /// The product and its version.
    fn version(&mut self) -> Result<String>;

    /// Who waits for rows of the table, the longest first.
    fn waits(&mut self) -> Result<Vec<Wait>>;

    /// Whether somebody holds the only write lock there is.
    fn is_write_locked(&mut self) -> Result<bool> {
        Ok(false)
    }

    /// What it has added up since it started, and how it is set.
    fn history(&mut self) -> Result<History>;

    /// What could not be looked at so far.
    fn not_seen(&mut self) -> Vec<NotSeen>;
}

pub fn run(doctor: Doctor, options: &Options) -> Result<Outcome> {
    let conn = &mut options.connect()?;
    let table = catalogue::table(conn, &doctor.table).or_else(|error| {
        // Even the catalogue waits for whoever has the table to itself.
        match locked_by(conn, &doctor.table)? {
            Some(holder) => bail!(print::visible(&holder)),
            None => Err(error),
        }
    })?;
    let target = Target::of(table, conn)?;
    let mut report = look(conn, &target, doctor.watch)?;
    match slots::days(conn, &target) {
        Ok(days) => report.days = days,
        Err(error) => {
            let missed = NotSeen::failed("how slots are filled", &error.to_string());
            report.not_seen.push(missed);
        }
    }
    report.contention = report.saw_contention();
    report.advice = advice::advice(&report, &target);
    options.print(&report, || print::text(&report))?;
    Ok(if report.contention {
        Outcome::Found
    } else {
        Outcome::Good
    })
}

fn locked_by(conn: &mut AnyConnection, table: &str) -> Result<Option<String>> {
    match conn {
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(conn) => postgres::locked_by(conn, table),
        #[allow(unreachable_patterns, reason = "not of a build with all databases")]
        _ => {
            let _ = table;
            Ok(None)
        }
    }
}

fn look(conn: &mut AnyConnection, target: &Target, seconds: Option<u64>) -> Result<Report> {
    match conn {
        #[cfg(feature = "sqlite")]
        AnyConnection::Sqlite(conn) => observe(&mut sqlite::Sqlite::new(conn), target, seconds),
        #[cfg(feature = "postgres")]
        AnyConnection::Postgres(conn) => {
            observe(&mut postgres::Postgres::new(conn, target)?, target, seconds)
        }
        #[cfg(feature = "mysql")]
        AnyConnection::Mysql(conn) => {
            observe(&mut mysql::Mysql::new(conn, target)?, target, seconds)
        }
    }
}

fn observe(database: &mut impl Observed, target: &Target, seconds: Option<u64>) -> Result<Report> {
    let watch = seconds
        .map(|seconds| watch::watch(database, seconds))
        .transpose()?;
    Ok(Report {
        table: target.display.clone(),
        database: database.version()?,
        contention: false,
        waits: database.waits()?,
        watch,
        history: database.history()?,
        days: Vec::new(),
        layout: target.layout(),
        not_seen: database.not_seen(),
        advice: Vec::new(),
    })
}
