//! `top`: the most counted.

use anyhow::Result;
use chrono::NaiveDate;
use clap::Args;
use serde::Serialize;

use crate::catalogue::counter_table;
use crate::options::Options;
use crate::output::{bar, columns, printable, thousands, width};
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

#[derive(Serialize)]
struct Ranking {
    table: String,
    counter: String,
    from: Option<NaiveDate>,
    to: Option<NaiveDate>,
    top: Vec<Ranked>,
}

#[derive(Serialize)]
struct Ranked {
    entity: String,
    total: i64,
}

pub fn run(args: Top, options: &Options) -> Result<()> {
    let ranking = rank(args, options)?;
    options.print(&ranking, || text(&ranking))
}

fn rank(args: Top, options: &Options) -> Result<Ranking> {
    let conn = &mut options.connect()?;
    let table = counter_table(conn, &args.table)?;
    table.of_entities()?;
    let counter = [table.counter(&args.counter)?];
    let rows = (&sql("1 = 1"), (args.from, args.to));
    let rows = sums(&table, counter, By::Entity, rows, Some(args.n), conn)?;
    let top = rows.into_iter().filter_map(|row| {
        Some(Ranked {
            entity: row.entity?,
            total: *row.sums.first()?,
        })
    });
    Ok(Ranking {
        top: top.collect(),
        table: table.table.to_string(),
        counter: args.counter,
        from: args.from,
        to: args.to,
    })
}

fn text(ranking: &Ranking) -> String {
    if ranking.top.is_empty() {
        return format!(
            "{} has no counts on these days.\n",
            printable(&ranking.table)
        );
    }
    let greatest = ranking.top.first().map_or(0, |ranked| ranked.total);
    let widest = ranking
        .top
        .iter()
        .map(|r| r.entity.chars().count())
        .max()
        .unwrap_or(0);
    let room = width()
        .saturating_sub(widest.max(6) + thousands(greatest).len().max(ranking.counter.len()) + 8);
    let rows = ranking.top.iter().map(|ranked| {
        vec![
            ranked.entity.clone(),
            thousands(ranked.total),
            bar(ranked.total, greatest, room.clamp(8, 50)),
        ]
    });
    columns(&["entity", &ranking.counter, ""], &[1], rows.collect())
}
