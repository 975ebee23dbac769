//! `check`: live tables against the shape of a counter table.

mod cascade;
mod columns;
mod counters;
mod fault;
mod indexes;
mod key;
mod partitions;
mod rebuild;
mod shape;
mod storage;
mod text;

use anyhow::{Result, bail};
use clap::Args;
use serde::Serialize;

use crate::catalogue::{Table, table, tables};
use crate::connection::AnyConnection;
use crate::options::{Options, Outcome};

use fault::Fault;
use shape::Shape;

/// Hold tables against the shape of a counter table, and say what is wrong with them.
///
/// Without TABLE: all counter tables, those named …_counters, and those with a column slot
/// next to a DATE in a unique key. Exits with 3 where something is wrong or slow.
#[derive(Args)]
pub struct Check {
    /// The tables.
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
    /// On SQLite: what rebuilds the table, where a fault needs that.
    rebuild: Vec<String>,
    /// What to know before that, or why it is not here.
    rebuild_note: Option<String>,
}

pub fn run(args: Check, options: &Options) -> Result<Outcome> {
    let conn = &mut options.connect()?;
    let found: Vec<_> = if args.tables.is_empty() {
        let all = tables(conn)?.into_iter();
        all.filter(shape::is_meant_to_count).collect()
    } else {
        let named = args.tables.iter().map(|name| table(conn, name));
        named.collect::<Result<Vec<_>>>()?
    };
    if found.is_empty() {
        bail!(
            "this database has no counter table: is it the right one? \
             `diesel-counters generate migration` makes one"
        );
    }
    let checked = found.into_iter().map(|table| check(table, conn));
    let tables = checked.collect::<Result<Vec<_>>>()?;
    let good = tables.iter().all(|table| table.good);
    let report = Report { good, tables };
    options.print(&report, || text::of(&report.tables))?;
    Ok(if good { Outcome::Good } else { Outcome::Found })
}

fn check(table: Table, conn: &mut AnyConnection) -> Result<Checked> {
    let dialect = conn.dialect();
    let name = table.to_string();
    let (faults, rebuild) = match Shape::guess(&table, dialect) {
        Some(shape) => {
            let mut faults = key::faults(&shape, conn)?;
            faults.extend(storage::fault(&shape));
            faults.extend(partitions::fault(&shape, conn)?);
            faults.extend(columns::faults(&shape, conn)?);
            faults.extend(counters::faults(&shape, conn)?);
            faults.extend(indexes::faults(&shape));
            let cascade = cascade::fault(&shape, conn)?;
            let rebuild = match faults.iter().any(|fault| fault.needs_rebuild) {
                true => Some(rebuild::of(&shape, conn)?),
                false => None,
            };
            faults.extend(cascade);
            (faults, rebuild)
        }
        None => (vec![key::no_key(&table)], None),
    };
    Ok(Checked {
        table: name,
        good: faults.iter().all(Fault::is_good),
        faults,
        rebuild_note: rebuild.as_ref().map(|rebuild| rebuild.note.clone()),
        rebuild: rebuild.map_or(Vec::new(), |rebuild| rebuild.sql),
    })
}
