//! `check`: compares live tables with the shape of a counter table.

mod columns;
mod counters;
mod faults;
mod key;
mod text;
mod triggers;

use anyhow::{Result, bail};
use clap::Args;
use diesel::RunQueryDsl;
use diesel::sql_types::BigInt;
use serde::Serialize;

use crate::catalogue::{Shape, Table, is_meant_to_count, table};
use crate::connection::AnyConnection;
use crate::database::{Fault, Rebuild};
use crate::options::Options;
use crate::sql::sql;

use faults::{CASCADE, REPLACED};
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
    /// If a fault needs that.
    #[serde(flatten)]
    rebuild: Rebuild,
}

/// Returns whether it found a fault.
pub fn run(args: Check, options: &Options) -> Result<bool> {
    let conn = &mut options.connect()?;
    let found: Vec<_> = if args.tables.is_empty() {
        let all = conn.database().tables(None, conn)?.into_iter();
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
            rebuild: Rebuild::default(),
        }));
    }
    let good = tables.iter().all(|table| table.good);
    let report = Report { good, tables };
    options.print(&report, || text::of(&report.tables))?;
    Ok(!good)
}

fn check(table: Table, triggers: &mut Triggers, conn: &mut AnyConnection) -> Result<Checked> {
    let mut faults = Vec::new();
    let mut rebuild = Rebuild::default();
    match Shape::guess(&table) {
        Some(shape) => {
            let database = conn.database();
            faults.extend(key::faults(&shape, conn)?);
            faults.extend(columns::faults(&shape, conn)?);
            faults.extend(counters::faults(&shape, conn)?);
            faults.extend(database.faults(&shape, conn)?);
            faults.extend(counters::of_indexes(&shape, database));
            faults.extend(cascade(&shape, conn)?);
            if faults.iter().any(|fault| fault.needs_rebuild) {
                rebuild = database.rebuild(&shape, conn)?;
            }
        }
        None => faults.push(key::no_key(&table)),
    }
    faults.extend(triggers.faults(&table));
    Ok(Checked {
        table: table.to_string(),
        good: faults.iter().all(|fault| fault.severity.is_good()),
        faults,
        rebuild,
    })
}

/// `REPLACE INTO` deletes the row that it replaces, and a cascade deletes the counts with it.
fn cascade(shape: &Shape<'_>, conn: &mut AnyConnection) -> Result<Option<Fault>> {
    let parent = shape.entity.first().and_then(|key| key.refers_to.as_ref());
    let Some(parent) = parent.filter(|parent| parent.cascades()) else {
        return Ok(None);
    };
    let Some(replaces) = conn.database().replaces(parent, conn)? else {
        return Ok(None);
    };
    let table = &parent.table;
    let instead = format!(
        "Write {table} with {} instead: on_conflict(…).do_update() in Diesel, not replace_into.",
        replaces.upsert
    );
    Ok(Some(match replaces.found.is_empty() {
        true => CASCADE
            .found(format!("REPLACE INTO {table} can delete counts."))
            .remedy(instead),
        false => {
            let fault = REPLACED.found(replaces.found.join(" "));
            fault.remedy(format!("{instead} {}", replaces.remedy))
        }
    }))
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
