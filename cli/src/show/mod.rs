//! `show`: what is in a counter table, or of one entity.

mod size;
mod text;

use std::collections::HashMap;

use anyhow::{Result, bail};
use chrono::{Days, NaiveDate, Utc};
use clap::Args;
use diesel::connection::LoadConnection;
use diesel_counters::__private::Shape;
use diesel_counters::{Compact, CounterBackend};
use serde::Serialize;

use crate::any_key::with_key;
use crate::catalogue::{CounterTable, counter_table};
use crate::connection::AnyConnection;
use crate::entity;
use crate::layout::shape;
use crate::options::Options;
use crate::sql::sql;
use crate::sums::{By, sums};

/// Show how large a counter table is, and what it has counted.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters show article_counters --days 7
  diesel-counters show article_counters 42")]
pub struct Show {
    /// The counter table, such as article_counters or blog.article_counters.
    table: String,
    /// Show only the entity with this key, such as 42. Write bytes as hexadecimal digits. If the key has
    /// several columns, give the values of the first ones, or of all.
    entity: Vec<String>,
    /// The number of days to show, up to today in UTC.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3660))]
    days: u64,
}

#[derive(Serialize)]
struct Shown {
    table: String,
    entity: Option<String>,
    /// Of the whole table.
    size: Option<size::Size>,
    rows: i64,
    entities: Option<i64>,
    slots: Option<i64>,
    /// Other than 1970-01-01, under which counts without a day are stored.
    first_day: Option<NaiveDate>,
    last_day: Option<NaiveDate>,
    /// The number of rows that `compact` would merge, of the whole table.
    rows_to_merge: Option<u64>,
    counters: Vec<Counted>,
}

/// One counter.
#[derive(Serialize)]
struct Counted {
    counter: String,
    total: i64,
    days: Vec<OfDay>,
}

#[derive(Serialize)]
struct OfDay {
    day: NaiveDate,
    count: i64,
}

pub fn run(args: Show, options: &Options) -> Result<()> {
    let shown = look(args, options)?;
    options.print(&shown, || text::of(&shown))
}

fn look(args: Show, options: &Options) -> Result<Shown> {
    let conn = &mut options.connect()?;
    let table = counter_table(conn, &args.table)?;
    if args.entity.len() > table.entity.len() {
        bail!(
            "the key of {} has {} columns besides the day and the slot: leave out {}",
            table.table,
            table.entity.len(),
            args.entity[table.entity.len()..].join(", ")
        );
    }
    let mut condition = sql("1 = 1");
    for (text, key) in args.entity.iter().zip(&table.entity) {
        condition = condition
            .sql(" AND ")
            .then(entity::equal(conn.database(), key, text)?);
    }
    let rows = (&condition, (None, None));
    let totals = sums(&table, &table.counters, By::Nothing, rows, None, conn)?;
    let [totals] = &totals[..] else {
        bail!("{} returned no sums", table.table);
    };
    let last = Utc::now().date_naive();
    let first = last - Days::new(args.days - 1);
    let rows = (&condition, (Some(first), Some(last)));
    let by_day = sums(&table, &table.counters, By::Day, rows, None, conn)?;
    let by_day = by_day.into_iter().map(|row| (row.day, row.sums));
    let by_day: HashMap<_, _> = by_day.collect();
    let counters = table.counters.iter().zip(&totals.sums).enumerate();
    let counters = counters.map(|(i, (column, total))| {
        let of_day = |day| OfDay {
            day,
            count: by_day.get(&Some(day)).map_or(0, |counts| counts[i]),
        };
        let days = first.iter_days().take_while(|day| *day <= last);
        Counted {
            counter: column.name.clone(),
            total: *total,
            days: days.map(of_day).collect(),
        }
    });
    let is_whole = args.entity.is_empty();
    Ok(Shown {
        counters: counters.collect(),
        size: match is_whole {
            true => size::size(&table.table, conn)?,
            false => None,
        },
        // Not for keys of types that the command does not merge.
        rows_to_merge: match is_whole {
            true => rows_to_merge(&table, conn).ok(),
            false => None,
        },
        rows: totals.rows,
        entities: totals.entities,
        slots: totals.slots,
        first_day: totals.first_day,
        last_day: totals.last_day,
        table: table.table.to_string(),
        entity: (!is_whole).then(|| args.entity.join(", ")),
    })
}

/// The number of rows that `compact` would merge.
fn rows_to_merge(table: &CounterTable, conn: &mut AnyConnection) -> Result<u64> {
    let shape = &shape(table, &table.counters);
    with_key!(&table.entity, conn, count(shape))
}

fn count<ST, K, Conn>(shape: &Shape<'_>, conn: &mut Conn) -> Result<u64>
where
    Conn: LoadConnection<Backend: CounterBackend>,
{
    Ok(Compact::<ST, K>::new(shape).dry_run(conn)?.left)
}
