//! `show`: what is in a counter table, or of one entity.

mod figures;
mod text;

use anyhow::{Result, bail};
use chrono::{Days, NaiveDate, Utc};
use clap::Args;
use serde::Serialize;

use crate::catalogue::counter_table;
use crate::database::Size;
use crate::options::{Options, Outcome};

use figures::Rows;

/// Show how large a counter table is, and what it has counted.
#[derive(Args)]
pub struct Show {
    /// The counter table.
    table: String,
    /// One entity's key; bytes as hexadecimal digits.
    entity: Option<String>,
    /// For how many days, up to today in UTC, to show each day's counts.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3660))]
    days: u64,
}

#[derive(Serialize)]
struct Shown {
    table: String,
    entity: Option<String>,
    /// Of the whole table.
    size: Option<Size>,
    #[serde(flatten)]
    rows: Rows,
    /// How many rows a merge of the days before yesterday would remove.
    mergeable_rows: i64,
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
    let counters = counter_table(conn, &args.table)?;
    if let (Some(_), None) = (&args.entity, &counters.entity) {
        bail!(
            "{} counts for one thing only: give no entity",
            counters.table
        );
    }
    let entity = args.entity.as_deref();
    let today = Utc::now().date_naive();
    let first = today - Days::new(args.days - 1);

    let rows = figures::rows(&counters, entity, conn)?;
    let totals = figures::totals(&counters, entity, conn)?;
    let series = figures::series(&counters, entity, first, today, conn)?;
    let shown = counters
        .counters
        .iter()
        .zip(totals)
        .enumerate()
        .map(|(i, (column, total))| Counted {
            counter: column.name.clone(),
            total,
            days: series
                .iter()
                .map(|(day, counts)| OfDay {
                    day: *day,
                    count: counts[i],
                })
                .collect(),
        });
    Ok(Shown {
        counters: shown.collect(),
        size: if entity.is_none() {
            conn.database().size(&counters.table, conn)?
        } else {
            None
        },
        mergeable_rows: figures::mergeable_rows(&counters, entity, today - Days::new(1), conn)?,
        table: counters.table.to_string(),
        entity: args.entity,
        rows,
    })
}
