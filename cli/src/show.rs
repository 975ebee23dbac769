//! `show`: what a counter table has counted, or one entity's counters.

use std::collections::HashMap;

use anyhow::{Result, bail};
use chrono::{Days, NaiveDate, Utc};
use clap::Args;
use serde_json::json;

use crate::catalogue::counter_table;
use crate::entity;
use crate::options::Options;
use crate::output::{columns, printable, thousands};
use crate::sql::sql;
use crate::sums::{By, sums};

/// Show what a counter table has counted.
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

pub fn run(args: Show, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let table = counter_table(conn, &args.table)?;
    if let Some(more) = args
        .entity
        .get(table.entity.len()..)
        .filter(|more| !more.is_empty())
    {
        bail!(
            "the key of {} has {} columns besides the day and the slot: leave out {}",
            table.table,
            table.entity.len(),
            more.join(", ")
        );
    }
    let mut condition = sql("1 = 1");
    for (text, key) in args.entity.iter().zip(&table.entity) {
        let equal = entity::equal(conn.database(), key, text)?;
        condition = condition.sql(" AND ").then(equal);
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
    let by_day: HashMap<_, _> = by_day.into_iter().map(|row| (row.day, row.sums)).collect();
    let counters = table.counters.iter().zip(&totals.sums).enumerate();
    let counters = counters.map(|(i, (column, total))| {
        let count = |day| by_day.get(&Some(day)).map_or(0, |counts| counts[i]);
        let days = first.iter_days().take_while(|day| *day <= last);
        let days: Vec<_> = days.map(|day| (day, count(day))).collect();
        (&*column.name, *total, days)
    });
    let counters: Vec<_> = counters.collect();
    let (name, entity) = (table.table.to_string(), args.entity.join(", "));
    let json = counters.iter().map(|(counter, total, days)| {
        let days = days
            .iter()
            .map(|(day, count)| json!({"day": day, "count": count}));
        json!({"counter": counter, "total": total, "days": days.collect::<Vec<_>>()})
    });
    let shown = json!({
        "table": name, "entity": (!args.entity.is_empty()).then_some(&entity),
        "rows": totals.rows, "counters": json.collect::<Vec<_>>(),
    });
    options.print(&shown, || {
        let of = if entity.is_empty() {
            String::new()
        } else {
            format!(", of {entity}")
        };
        let mut text = printable(&format!("{name}{of}: {} rows", thousands(totals.rows))) + "\n";
        for (counter, total, days) in &counters {
            let total = format!("{} in total", thousands(*total));
            let row = |(day, count): &(NaiveDate, i64)| vec![day.to_string(), thousands(*count)];
            text += "\n";
            text += &columns(&["", counter, &total], &[1], days.iter().map(row).collect());
        }
        text
    })
}
