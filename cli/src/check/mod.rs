//! `check`: compares live tables with the shape of a counter table.

mod cascade;
mod change;
mod collation;
mod counters;
mod day_and_slot;
mod fault;
mod fixed_width;
mod indexes;
mod integers;
mod no_default;
mod nodes;
mod null_key;
mod owners;
mod partitions;
mod period;
mod primary_key;
mod storage;
mod strict;
mod text;
mod triggers;
mod words;
mod writes;

use anyhow::{Result, bail};
use clap::Args;
use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;
use serde::Serialize;

use crate::catalogue::{self, Shape, Table, is_meant_to_count, table};
use crate::connection::AnyConnection;
use crate::options::Options;
use crate::sql::sql;

use fault::Fault;
use triggers::Triggers;

/// What a table is checked for, in the order of the output.
const CHECKS: [FindFaults; 14] = [
    primary_key::check,
    null_key::check,
    day_and_slot::check,
    strict::check,
    collation::check,
    no_default::check,
    counters::check,
    storage::check,
    partitions::check,
    fixed_width::check,
    integers::check,
    indexes::check,
    cascade::check,
    nodes::check,
];

type FindFaults = fn(&Shape<'_>, &mut AnyConnection) -> Result<Vec<Fault>>;

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
    let checked = found
        .into_iter()
        .map(|table| check(table, &mut triggers, conn));
    let mut tables = checked.collect::<Result<Vec<_>>>()?;
    if args.tables.is_empty() {
        tables.extend(triggers.left().into_iter().map(|(table, faults)| Checked {
            table,
            good: faults.iter().all(|fault| fault.severity.is_good()),
            faults,
        }));
    }
    let good = tables.iter().all(|table| table.good);
    let report = Report { good, tables };
    options.print(&report, || text::of(&report.tables))?;
    Ok(!good)
}

fn check(table: Table, triggers: &mut Triggers, conn: &mut AnyConnection) -> Result<Checked> {
    let mut faults = Vec::new();
    match Shape::guess(&table) {
        Some(shape) => {
            for check in CHECKS {
                faults.extend(check(&shape, conn)?);
            }
            // A table that has to be created again, or changed, gets a comment then.
            if faults.iter().all(|fault| fault.severity.is_good()) {
                faults.extend(period::check(&shape, conn)?);
            }
        }
        None => faults.push(primary_key::no_key(&table)),
    }
    faults.extend(triggers.faults(&table));
    Ok(Checked {
        table: table.to_string(),
        good: faults.iter().all(|fault| fault.severity.is_good()),
        faults,
    })
}

/// Whether several rows have the same key, with the SQL `day` in place of the day.
fn several_rows(shape: &Shape<'_>, day: &str, conn: &mut AnyConnection) -> Result<bool> {
    let database = conn.database();
    let entity = shape.entity.iter().map(|c| database.quoted(&c.name) + ", ");
    let found = sql(format!(
        "SELECT COUNT(*) FROM (SELECT 1 AS one FROM {} GROUP BY {}{day}, {} \
         HAVING COUNT(*) > 1) AS several",
        database.table_name(shape.table),
        entity.collect::<String>(),
        database.quoted(&shape.slot.name),
    ));
    let found: i64 = found.typed::<BigInt>().get_result(conn)?;
    Ok(found > 0)
}
