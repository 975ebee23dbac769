//! `check`: compares live tables with the shape of a counter table.

mod fault;
mod owners;
mod shape;
mod triggers;
mod writes;

use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use crate::catalogue::{self, Shape, Table, is_meant_to_count, table};
use crate::connection::AnyConnection;
use crate::options::Options;
use crate::output::{printable, wrapped};

use fault::{Fault, Severity, wrong};
use triggers::Triggers;

/// Find what is wrong or slow about counter tables, and print the SQL that corrects it.
///
/// It checks the triggers of `generate trigger` too.
///
/// It changes nothing. Without TABLE, it checks all counter tables, all tables named …_counters,
/// and those with a DATE and a column named slot in a unique key. Exits with 3 if it finds a fault.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters check
  diesel-counters check article_counters")]
pub struct Check {
    /// The tables to check, such as article_counters or blog.article_counters.
    #[arg(value_name = "TABLE")]
    tables: Vec<String>,
}

#[derive(Serialize)]
struct Report {
    good: bool,
    tables: Vec<Checked>,
}

#[derive(Serialize)]
struct Checked {
    table: String,
    good: bool,
    faults: Vec<Fault>,
}

/// Returns whether it found a fault.
pub fn run(args: Check, options: &Options) -> Result<bool> {
    let conn = &mut options.connect()?;
    let found: Vec<_> = if args.tables.is_empty() {
        let all = catalogue::tables(conn)?.into_iter();
        all.filter(is_meant_to_count).collect()
    } else {
        let named = args.tables.iter().map(|name| table(conn, name));
        named.collect::<Result<_>>()?
    };
    let mut triggers = Triggers::load(conn)?;
    if found.is_empty() && triggers.is_empty() {
        bail!(
            "this database has no counter table: is it the right database? \
             `diesel-counters generate migration` creates one"
        );
    }
    let mut tables = Vec::new();
    for table in found {
        let faults = check(&table, &mut triggers, conn)?;
        tables.push(Checked::new(table.to_string(), faults));
    }
    if args.tables.is_empty() {
        let left = triggers.left().into_iter();
        tables.extend(left.map(|(table, faults)| Checked::new(table, faults)));
    }
    let good = tables.iter().all(|table| table.good);
    let report = Report { good, tables };
    options.print(&report, || report.tables.iter().map(text).collect())?;
    Ok(!good)
}

fn check(table: &Table, triggers: &mut Triggers, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    match Shape::guess(table) {
        Some(shape) => {
            for check in shape::CHECKS {
                faults.extend(check(&shape, conn)?);
            }
            // A table that has to be created again, or changed, gets a comment then.
            if faults.iter().all(|fault| fault.severity == Severity::Note) {
                faults.extend(shape::period(&shape, conn)?);
            }
        }
        None => {
            let what = "It has no columns of a day and a slot.";
            let cost = "It is not a counter table: diesel_counters cannot count in it.";
            faults.push(wrong("no_key", what, cost).remedy(format!(
                "Create a counter table beside it: \
                 diesel-counters generate migration create_{}_counters --counters … --entity …",
                table.name
            )));
        }
    }
    faults.extend(triggers.faults(table));
    Ok(faults)
}

impl Checked {
    fn new(table: String, faults: Vec<Fault>) -> Self {
        let good = faults.iter().all(|fault| fault.severity == Severity::Note);
        Checked {
            table,
            good,
            faults,
        }
    }
}

fn text(checked: &Checked) -> String {
    let faults = checked.faults.iter();
    let summary = match faults
        .filter(|fault| fault.severity != Severity::Note)
        .count()
    {
        0 => "good".to_owned(),
        1 => "1 fault".to_owned(),
        faults => format!("{faults} faults"),
    };
    let mut text = format!("{}: {summary}\n", printable(&checked.table));
    for fault in &checked.faults {
        let (word, color) = match fault.severity {
            Severity::Wrong => ("wrong", AnsiColor::Red),
            Severity::Slow => ("slow ", AnsiColor::Yellow),
            Severity::Note => ("note ", AnsiColor::Cyan),
        };
        let style = Style::new().bold().fg_color(Some(color.into()));
        text += &format!("\n  {style}{word}{style:#}  ");
        let lines = [&*fault.what, fault.cost, &fault.remedy].map(printable);
        let lines = lines.iter().filter(|line| !line.is_empty());
        let lines = lines.flat_map(|line| wrapped(line, 71));
        text += &(lines.collect::<Vec<_>>().join("\n         ") + "\n");
        // The SQL is not wrapped, so that it can be copied.
        for line in fault.sql.iter().flat_map(|statement| statement.lines()) {
            text += &format!("           {}\n", printable(line));
        }
    }
    if !checked.faults.is_empty() {
        text.push('\n');
    }
    text
}
