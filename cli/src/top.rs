//! `top`: the most counted.

use anyhow::{Context, Result};
use chrono::NaiveDate;
use clap::Args;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde::Serialize;

use crate::catalogue::{counter_table, sum};
use crate::entity;
use crate::options::{Options, Outcome};
use crate::output::{bar, columns, thousands, width};
use crate::sql::{quoted, sql};

/// Show which entities have the highest total of a counter.
#[derive(Args)]
pub struct Top {
    /// The counter table.
    table: String,
    /// The counter.
    counter: String,
    /// How many.
    #[arg(short, default_value_t = 10, value_parser = clap::value_parser!(i64).range(1..))]
    n: i64,
    /// From this day on, such as 2026-01-31.
    #[arg(long, value_name = "DATE")]
    from: Option<NaiveDate>,
    /// Until this day, and with it.
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

pub fn run(args: Top, options: &Options) -> Result<Outcome> {
    let ranking = rank(args, options)?;
    options.print(&ranking, || text(&ranking))?;
    Ok(Outcome::Good)
}

fn rank(args: Top, options: &Options) -> Result<Ranking> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = Text, column_name = "key_as_text")]
        entity: String,
        #[diesel(sql_type = Nullable<BigInt>)]
        total: Option<i64>,
    }

    let conn = &mut options.connect()?;
    let dialect = conn.dialect();
    let counters = counter_table(conn, &args.table)?;
    let counter = counters.counter(&args.counter)?;
    let key = counters.of_entities()?;
    let (name, day) = (
        quoted(dialect, &key.name),
        quoted(dialect, &counters.day.name),
    );

    let mut query = sql(format!(
        "SELECT {} AS key_as_text, {} AS total FROM {} WHERE 1 = 1",
        entity::as_text(dialect, key),
        sum(dialect, &quoted(dialect, &counter.name)),
        counters.sql_name(dialect),
    ));
    if let Some(from) = args.from {
        query = query.sql(format!(" AND {day} >= ")).bind(from);
    }
    if let Some(to) = args.to {
        query = query.sql(format!(" AND {day} <= ")).bind(to);
    }
    let rows: Vec<Row> = query
        // As exact as it gets: what is beyond BIGINT is the first to be told.
        .sql(format!(
            " GROUP BY {name} ORDER BY SUM({}) DESC, {name} LIMIT ",
            quoted(dialect, &counter.name)
        ))
        .bind(args.n)
        .load(conn)?;
    let ranked = rows.into_iter().map(|row| {
        let total = row.total.with_context(|| {
            format!(
                "the total {} of {} is beyond BIGINT",
                counter.name, row.entity
            )
        })?;
        Ok(Ranked {
            entity: row.entity,
            total,
        })
    });
    Ok(Ranking {
        top: ranked.collect::<Result<_>>()?,
        table: counters.table.to_string(),
        counter: args.counter,
        from: args.from,
        to: args.to,
    })
}

fn text(ranking: &Ranking) -> String {
    if ranking.top.is_empty() {
        return format!("Nothing is counted in {} in these days.\n", ranking.table);
    }
    let greatest = ranking
        .top
        .iter()
        .map(|ranked| ranked.total)
        .max()
        .unwrap_or(0);
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
