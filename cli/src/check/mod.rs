//! `check`: compares live tables with the shape of a counter table.

mod days;
mod file;
mod lost;
mod modes;
mod rights;
mod shape;
mod triggers;

use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::catalogue::{self, CounterTable, Table, is_meant_to_count, table};
use crate::connection::AnyConnection;
use crate::database::Joined;
use crate::options::{self, Options};
use crate::output::{printable, wrapped};
use crate::triggers::File;

use crate::fault::{Fault, Severity, wrong};

/// Find what is wrong or slow about counter tables, and print the SQL that corrects it.
///
/// It checks the triggers of `generate triggers` too, and compares them with counters.toml.
///
/// It changes nothing. Without TABLE, it checks all counter tables, and all tables named
/// …_counters. Exits with 3 if it finds a fault.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters check
  diesel-counters check article_counters")]
pub struct Check {
    /// The tables to check, such as article_counters or blog.article_counters.
    #[arg(value_name = "TABLE", value_parser = options::name)]
    tables: Vec<String>,
    /// The file that says what triggers count [default: counters.toml of this directory, or of the
    /// nearest one above it, if there is one].
    #[arg(long, value_parser = options::file)]
    file: Option<PathBuf>,
}

#[derive(Serialize)]
struct Checked {
    table: String,
    good: bool,
    faults: Vec<Fault>,
}

/// Returns whether it found a fault.
pub fn run(args: Check, options: &Options) -> Result<bool> {
    let file = File::find(args.file.as_deref())?;
    let conn = &mut options.connect()?;
    let found: Vec<_> = if args.tables.is_empty() {
        let all = catalogue::tables(conn)?.into_iter();
        all.filter(is_meant_to_count).collect()
    } else {
        let named = args.tables.iter().map(|name| table(conn, name));
        named.collect::<Result<_>>()?
    };
    let named = if args.tables.is_empty() { &[] } else { &*found };
    let mut of_triggers = triggers::check(named, conn)?;
    if named.is_empty() {
        of_triggers.extend(lost::functions(conn)?);
    }
    if let Some(file) = &file {
        for (rows, faults) in file::check(file, named, conn)? {
            match of_triggers.iter_mut().find(|(table, _)| *table == rows) {
                Some((_, others)) => others.extend(faults),
                None => of_triggers.push((rows, faults)),
            }
        }
    }
    if found.is_empty() && of_triggers.is_empty() {
        bail!(
            "this database has no counter table: is it the right database? \
             `diesel-counters generate migration` prints one"
        );
    }
    let mut tables = Vec::new();
    for table in &found {
        tables.push((table.to_string(), check(table, conn)?));
    }
    tables.extend(of_triggers);
    let tables = tables.into_iter().map(|(table, faults)| Checked {
        good: faults.iter().all(|fault| fault.severity == Severity::Note),
        table,
        faults,
    });
    let tables: Vec<_> = tables.collect();
    let good = tables.iter().all(|table| table.good);
    let report = json!({ "good": good, "tables": tables });
    options.print(&report, || tables.iter().map(text).collect())?;
    Ok(!good)
}

fn check(table: &Table, conn: &mut AnyConnection) -> Result<Vec<Fault>> {
    let Ok(counters) = CounterTable::try_from(table.clone()) else {
        return Ok(vec![not_a_counter_table(table)]);
    };
    let mut faults = Vec::new();
    for check in shape::CHECKS {
        faults.extend(check(&counters, conn)?);
    }
    // A table that has to be created again, or changed, gets a comment then.
    if faults.iter().all(|fault| fault.severity == Severity::Note) {
        faults.extend(shape::period(&counters, conn));
    }
    Ok(faults)
}

fn not_a_counter_table(table: &Table) -> Fault {
    let key = table.primary_key.iter();
    let key = key.filter_map(|name| table.column(name));
    let key = key.map(|column| format!("{} {}", column.name, column.sql_type));
    let what =
        "Its primary key is not the columns of an entity, up to five, then a DATE and a SMALLINT";
    let what = format!("{what}: ({}).", key.joined(", "));
    let cost = "It is not a counter table: diesel_counters does not compile with it.";
    let generate = format!("diesel-counters generate migration {}", table.name);
    wrong("no_key", what, cost).remedy(format!(
        "Change the key, or create a counter table beside it: {generate} --counters … --entity …"
    ))
}

fn text(checked: &Checked) -> String {
    let faults = checked.faults.iter();
    let faults = faults.filter(|fault| fault.severity != Severity::Note);
    let summary = match faults.count() {
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
        text += &(lines
            .flat_map(|line| wrapped(line, 71))
            .joined("\n         ")
            + "\n");
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
