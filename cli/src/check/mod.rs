//! `check`: compares live tables with the shape of a counter table.

mod columns;
mod indexes;
mod migrations;
mod notes;
mod partitions;
mod slot_function;
mod stocks;
mod storage;
mod text_keys;
mod triggers;

use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::catalogue::{self, CounterTable, Table, is_meant_to_count, table};
use crate::connection::{AnyConnection, backend_name};
use crate::database::{Database, Joined, SQLITE};
use crate::options::{self, Options};
use crate::output::{printable, wrapped};
use crate::triggers::{File, LiveTrigger, Trigger, live_triggers};

use crate::fault::{Fault, Severity, TableFaults, wrong};

/// Find out what is wrong or slow about your counter tables, and print the SQL that fixes it.
///
/// Without TABLE, checks every table named …_counters, and every other counter table that has a
/// counter with NOT NULL DEFAULT 0. If there is a counters.toml, also checks that the database has
/// the triggers in it.
///
/// Changes nothing. Exits with 3 if it finds a fault.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters check
  diesel-counters check article_counters")]
pub struct CheckArgs {
    /// The tables to check, for example article_counters or blog.article_counters.
    #[arg(value_name = "TABLE", value_parser = options::name)]
    tables: Vec<String>,
    /// The file that says what triggers count [default: counters.toml in this directory, or in the
    /// nearest one above it, if there is one].
    #[arg(long, value_parser = options::file)]
    file: Option<PathBuf>,
    /// The directory of the migrations [default: the one in diesel.toml, or migrations next to
    /// counters.toml, if there is one].
    #[arg(long, value_name = "DIR", value_parser = options::file, env = "MIGRATION_DIRECTORY")]
    migrations: Option<PathBuf>,
}

#[derive(Serialize)]
struct Checked {
    table: String,
    good: bool,
    faults: Vec<Fault>,
}

impl From<TableFaults> for Checked {
    fn from(TableFaults { table, mut faults }: TableFaults) -> Self {
        // Notes come last.
        faults.sort_by_key(|fault| fault.severity);
        let good = faults.iter().all(|fault| fault.severity == Severity::Note);
        Checked {
            table,
            good,
            faults,
        }
    }
}

/// Returns whether it found a fault.
pub fn run(args: CheckArgs, options: &Options) -> Result<bool> {
    let file = File::find(args.file.as_deref())?;
    let conn = &mut options.connect()?;
    let (found, not_checked) = tables_to_check(&args.tables, conn)?;
    // If you name no table, check all triggers: they can also count in tables that aren't among
    // these.
    let named: &[Table] = if args.tables.is_empty() { &[] } else { &found };
    let live = live_triggers(conn)?;
    let mut own = Vec::new();
    let mut of_triggers = Vec::new();
    if let Some(file) = &file {
        let migrations = args.migrations.as_deref();
        (of_triggers, own) = triggers::check(file, migrations, named, &live, conn)?;
    }
    if found.is_empty() && of_triggers.is_empty() {
        let tables = catalogue::counter_tables_hint(conn)?;
        bail!(
            "found no table to check. Is this the right database? To check a table anyway, name \
             it; {tables}"
        );
    }
    note_not_checked(not_checked);
    let mut all = Vec::new();
    for table in &found {
        all.push(TableFaults {
            table: table.to_string(),
            faults: check(table, file.as_ref(), &own, &live, conn)?,
        });
    }
    all.extend(of_triggers);
    if args.tables.is_empty() {
        all.extend(notes::journal(conn)?);
    }
    let checked: Vec<_> = all.into_iter().map(Checked::from).collect();
    let good = checked.iter().all(|table| table.good);
    let report = json!({ "good": good, "tables": checked });
    options.print(&report, || checked.iter().map(text).collect())?;
    Ok(!good)
}

/// Returns the tables with these names, or without names the counter tables. Also returns the
/// tables that aren't checked because nobody named one.
fn tables_to_check(names: &[String], conn: &mut AnyConnection) -> Result<(Vec<Table>, Vec<Table>)> {
    if names.is_empty() {
        let all = catalogue::tables(conn)?.into_iter();
        return Ok(all.partition(is_meant_to_count));
    }
    let named = names.iter().map(|name| table(conn, name));
    let not_checked = Vec::new();
    Ok((named.collect::<Result<_>>()?, not_checked))
}

/// Says which tables look like counter tables but aren't checked. A table of bookings, for example,
/// can have such a key.
fn note_not_checked(others: Vec<Table>) {
    for table in others {
        let Ok(counters) = CounterTable::try_from(table) else {
            continue;
        };
        let is_named = counters.day.name == "day" && counters.slot.name == "slot";
        if is_named && !counters.counters.is_empty() {
            let name = counters.table.to_string();
            eprintln!(
                "diesel-counters: {} has the key of a counter table, but no counter that is NOT \
                 NULL DEFAULT 0: to check it, name it",
                printable(&name)
            );
        }
    }
}

/// Returns the faults of a table.
fn check(
    table: &Table,
    file: Option<&File>,
    own: &[Trigger],
    live: &[LiveTrigger],
    conn: &mut AnyConnection,
) -> Result<Vec<Fault>> {
    let database = conn.database();
    let Ok(counters) = CounterTable::try_from(table.clone()) else {
        // Triggers can also count in columns of an ordinary table.
        let mut definitions = file.iter().flat_map(|file| &file.triggers);
        let only_this = std::slice::from_ref(table);
        if definitions.any(|definition| triggers::counts_in(definition, only_this)) {
            return Ok(Vec::new());
        }
        return Ok(vec![not_a_counter_table(table, database)]);
    };
    let mut faults = text_keys::text_keys(&counters, conn)?;
    faults.extend(columns::columns(&counters, database));
    faults.extend(storage::storage(table, database));
    faults.extend(stocks::stocks(&counters, database));
    faults.extend(indexes::indexes(&counters, conn)?);
    faults.extend(partitions::partitions(&counters, conn)?);
    faults.extend(notes::other_triggers(table, own, live));
    faults.extend(notes::period(&counters, database));
    Ok(faults)
}

/// Returns the fault of a table with another primary key than a counter table's.
fn not_a_counter_table(table: &Table, database: Database) -> Fault {
    let columns = table.primary_key.iter();
    let key = columns
        .filter_map(|name| table.column(name))
        .map(|column| format!("{} {}", column.name, column.sql_type))
        .joined(", ");
    let what = format!(
        "Its primary key isn't the columns of an entity, up to five, then a DATE and a SMALLINT: \
         ({key})."
    );
    let cost = "It isn't a counter table: diesel_counters doesn't compile with it.";
    let backend = backend_name(database);
    wrong("key", what, cost).remedy(format!(
        "Change the key, or create a counter table with another name: `diesel-counters generate \
         migration … --counters … --entity … --backend {backend}`."
    ))
}

/// Says how to make a change to a table, which SQLite can't.
fn how_to_change(database: Database, change: &str) -> String {
    if database == SQLITE {
        return "SQLite can't change that: create another table with `diesel-counters generate \
                migration`, and copy the rows."
            .to_owned();
    }
    change.to_owned()
}

/// Returns `ALTER TABLE article_counters …;` for the change `…`, which SQLite can't make.
fn alter(table: &Table, database: Database, change: &str) -> Option<String> {
    let name = database.table_name(table);
    (database != SQLITE).then(|| format!("ALTER TABLE {name} {change};"))
}

/// Writes what `check` prints about a table.
fn text(checked: &Checked) -> String {
    let is_fault = |fault: &&Fault| fault.severity != Severity::Note;
    let summary = match checked.faults.iter().filter(is_fault).count() {
        0 => "good".to_owned(),
        1 => "1 fault".to_owned(),
        several => format!("{several} faults"),
    };
    let mut text = format!("{}: {summary}\n", printable(&checked.table));
    text.extend(checked.faults.iter().map(fault_text));
    if !checked.faults.is_empty() {
        text.push('\n');
    }
    text
}

/// Writes a fault: its severity, and to the right of it what is wrong, what to do, and the SQL.
fn fault_text(fault: &Fault) -> String {
    const WIDTH: usize = 71;
    let (word, color) = match fault.severity {
        Severity::Wrong => ("wrong", AnsiColor::Red),
        Severity::Slow => ("slow ", AnsiColor::Yellow),
        Severity::Note => ("note ", AnsiColor::Cyan),
    };
    let style = Style::new().bold().fg_color(Some(color.into()));
    let mut text = format!("\n  {style}{word}{style:#}  ");
    let sentences = [&*fault.what, fault.cost, &fault.remedy].map(printable);
    let given = sentences.iter().filter(|sentence| !sentence.is_empty());
    let lines = given.flat_map(|sentence| wrapped(sentence, WIDTH));
    text += &(lines.joined("\n         ") + "\n");
    // Don't wrap the SQL, so that it can be copied.
    for line in fault.sql.iter().flat_map(|statement| statement.lines()) {
        text += &format!("           {}\n", printable(line));
    }
    text
}
