//! `top`: the most counted.

use anyhow::Result;
use chrono::NaiveDate;
use clap::Args;
use serde_json::json;

use crate::catalogue::counter_table;
use crate::options::Options;
use crate::output::{columns, printable, thousands};
use crate::sql::sql;
use crate::sums::{By, sums};

/// Show which entities have the highest total of a counter.
#[derive(Args)]
#[command(after_help = "Example:
  diesel-counters top article_counters views --from 2026-01-01 -n 20")]
pub struct Top {
    /// The counter table, such as article_counters or blog.article_counters.
    table: String,
    /// The counter, such as views.
    counter: String,
    /// The number of entities.
    #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(i64).range(1..))]
    n: i64,
    /// The first day that counts, such as 2026-01-31 [default: all days].
    #[arg(long, value_name = "DATE")]
    from: Option<NaiveDate>,
    /// The last day that counts [default: all days].
    #[arg(long, value_name = "DATE")]
    to: Option<NaiveDate>,
}

pub fn run(args: Top, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let table = counter_table(conn, &args.table)?;
    table.of_entities()?;
    let counter = [table.counter(&args.counter)?];
    let rows = (&sql("1 = 1"), (args.from, args.to));
    let rows = sums(&table, counter, By::Entity, rows, Some(args.n), conn)?;
    let top = rows
        .into_iter()
        .map(|row| (row.entity.unwrap_or_default(), row.sums[0]));
    let top: Vec<_> = top.collect();
    let name = table.table.to_string();
    let json = top
        .iter()
        .map(|(entity, total)| json!({"entity": entity, "total": total}));
    let ranking = json!({
        "table": name, "counter": args.counter, "from": args.from, "to": args.to,
        "top": json.collect::<Vec<_>>(),
    });
    options.print(&ranking, || {
        if top.is_empty() {
            return format!("{} has no counts on these days.\n", printable(&name));
        }
        let row = |(entity, total): &(String, i64)| vec![entity.clone(), thousands(*total)];
        columns(
            &["entity", &args.counter],
            &[1],
            top.iter().map(row).collect(),
        )
    })
}
