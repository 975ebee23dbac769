//! `show`: what is in a counter table, or of one entity.

mod figures;
mod text;

use anyhow::{Result, bail};
use chrono::{Days, NaiveDate, Utc};
use clap::Args;
use serde::Serialize;

use crate::catalogue::counter_table;
use crate::database::Size;
use crate::entity;
use crate::options::{Options, Outcome};
use crate::sql::sql;

use figures::Figures;

/// Show how large a counter table is, and what it has counted.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters show article_counters --days 7
  diesel-counters show article_counters 42")]
pub struct Show {
    /// The counter table, such as article_counters or blog.article_counters.
    table: String,
    /// Show only the entity with this key, such as 42. Write bytes as hexadecimal digits.
    entity: Option<String>,
    /// The number of days to show, up to today in UTC.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3660))]
    days: u64,
}

#[derive(Serialize)]
struct Shown {
    table: String,
    entity: Option<String>,
    /// Of the whole table.
    size: Option<Size>,
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

pub fn run(args: Show, options: &Options) -> Result<Outcome> {
    let shown = look(args, options)?;
    options.print(&shown, || text::of(&shown))?;
    Ok(Outcome::Good)
}

fn look(args: Show, options: &Options) -> Result<Shown> {
    let conn = &mut options.connect()?;
    let table = counter_table(conn, &args.table)?;
    let condition = match (&args.entity, &table.entity) {
        (Some(text), Some(key)) => entity::equal(conn.database(), key, text)?,
        (None, _) => sql("1 = 1"),
        (Some(_), None) => bail!(
            "{} counts for one thing only: leave out the entity",
            table.table
        ),
    };
    let figures = Figures {
        table: &table,
        condition,
    };
    let today = Utc::now().date_naive();
    let totals = figures.totals(conn)?;
    let series = figures.series(today - Days::new(args.days - 1), today, conn)?;
    let counters = table.counters.iter().zip(&totals.sums).enumerate();
    let counters = counters.map(|(i, (column, total))| Counted {
        counter: column.name.clone(),
        total: *total,
        days: series
            .iter()
            .map(|(day, counts)| OfDay {
                day: *day,
                count: counts[i],
            })
            .collect(),
    });
    let is_whole = args.entity.is_none();
    Ok(Shown {
        counters: counters.collect(),
        size: match is_whole {
            true => conn.database().size(&table.table, conn)?,
            false => None,
        },
        // Not for keys of types that the command does not merge.
        rows_to_merge: match is_whole {
            true => figures::rows_to_merge(&table, conn).ok(),
            false => None,
        },
        rows: totals.rows,
        entities: totals.entities,
        slots: totals.slots,
        first_day: totals.first_day,
        last_day: totals.last_day,
        table: table.table.to_string(),
        entity: args.entity,
    })
}
