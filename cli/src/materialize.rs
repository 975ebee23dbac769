//! `materialize`: totals in a column of another table.

use anyhow::{Context, Result, bail};
use clap::Args;
use diesel::connection::Connection;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use serde::Serialize;

use crate::catalogue::{Kind, counter_table, sum, table};
use crate::entity;
use crate::options::{Options, Outcome};
use crate::output::{progress_bar, thousands};
use crate::sql::{quoted, sql};

/// Copy a counter's totals into a column of the table that it counts for.
///
/// It reads both tables, and writes only the rows that differ, in short transactions. It
/// waits for rows that others have locked; what they have written into the column meanwhile
/// is left for the next time.
#[derive(Args)]
pub struct Materialize {
    /// The counter table.
    table: String,
    /// The counter.
    counter: String,
    /// The BIGINT column that takes the totals, such as articles.total_views.
    #[arg(long, value_name = "TABLE.COLUMN")]
    into: String,
    /// How many rows one transaction writes at most.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..))]
    batch: u16,
    /// Only say how many rows would be written.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Serialize)]
struct Report {
    table: String,
    counter: String,
    into: String,
    dry_run: bool,
    rows_that_differ: usize,
    rows_written: usize,
}

/// A row whose column is not the total.
#[derive(QueryableByName)]
struct Differing {
    #[diesel(sql_type = Text, column_name = "key_as_text")]
    key: String,
    #[diesel(sql_type = Nullable<BigInt>)]
    held: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    total: Option<i64>,
}

pub fn run(args: Materialize, options: &Options) -> Result<Outcome> {
    let conn = &mut options.connect()?;
    let dialect = conn.dialect();
    let counters = counter_table(conn, &args.table)?;
    let counter = counters.counter(&args.counter)?;
    let entity = counters.of_entities()?;
    let Some((into_table, into_column)) = args.into.rsplit_once('.') else {
        bail!("--into {}: say it as TABLE.COLUMN", args.into);
    };
    let parent = table(conn, into_table)?;
    let Some(column) = parent.column(into_column) else {
        bail!("{parent} has no column {into_column}");
    };
    if let Some(counted) = &counters.parent {
        if (&counted.in_schema, &counted.table) != (&parent.in_schema, &parent.name) {
            bail!(
                "{} counts for {}, as its foreign key says, and not for {parent}",
                counters.table,
                counted.table
            );
        }
    }
    if column.kind != Kind::BigInt || column.generated || parent.primary_key.contains(&column.name)
    {
        bail!(
            "{parent}.{into_column} is {}{}: totals go into a BIGINT column of their own",
            column.sql_type,
            if parent.primary_key.contains(&column.name) {
                ", and the key"
            } else {
                ""
            },
        );
    }
    let key = match &*parent.primary_key {
        [key] => parent
            .column(key)
            .filter(|key| are_alike(key.kind, entity.kind)),
        _ => None,
    };
    let key = key.with_context(|| {
        format!(
            "{parent}'s primary key is not a single {}, as {}.{} is",
            entity.sql_type, counters.table, entity.name
        )
    })?;

    let (of, into) = (parent.sql_name(dialect), quoted(dialect, into_column));
    let total = format!(
        "(SELECT {} FROM {} AS counted WHERE counted.{} = {of}.{})",
        sum(
            dialect,
            &format!("counted.{}", quoted(dialect, &counter.name))
        ),
        counters.sql_name(dialect),
        quoted(dialect, &entity.name),
        quoted(dialect, &key.name),
    );
    let differing: Vec<Differing> = sql(format!(
        "SELECT {} AS key_as_text, {into} AS held, {total} AS total FROM {of} \
         WHERE {into} IS NULL OR {total} IS NULL OR {into} <> {total} ORDER BY {}",
        entity::as_text(dialect, key),
        quoted(dialect, &key.name),
    ))
    .load(conn)?;

    let mut report = Report {
        table: counters.table.to_string(),
        counter: args.counter,
        into: args.into,
        dry_run: args.dry_run,
        rows_that_differ: differing.len(),
        rows_written: 0,
    };
    if !args.dry_run {
        let bar = progress_bar();
        bar.set_length(differing.len() as u64);
        for batch in differing.chunks(args.batch.into()) {
            report.rows_written += conn.transaction(|conn| {
                batch.iter().try_fold(0, |written, row| {
                    let total = row
                        .total
                        .with_context(|| format!("the total of {} is beyond BIGINT", row.key))?;
                    let update = sql(format!("UPDATE {of} SET {into} = ")).bind(total);
                    let update = update
                        .sql(" WHERE ")
                        .then(entity::equals(dialect, key, &row.key)?);
                    let update = match row.held {
                        Some(held) => update.sql(format!(" AND {into} = ")).bind(held),
                        None => update.sql(format!(" AND {into} IS NULL")),
                    };
                    anyhow::Ok(written + update.execute(conn)?)
                })
            })?;
            bar.inc(batch.len() as u64);
        }
        bar.finish_and_clear();
    }
    options.print(&report, || text(&report))?;
    Ok(Outcome::Good)
}

/// Whether values of the two can be the same.
fn are_alike(a: Kind, b: Kind) -> bool {
    let is_integer = |kind| matches!(kind, Kind::SmallInt | Kind::Integer | Kind::BigInt);
    a == b || is_integer(a) && is_integer(b)
}

fn text(report: &Report) -> String {
    let rows = |number: usize| thousands(number.try_into().unwrap_or(i64::MAX));
    let Report { into, .. } = report;
    if report.dry_run {
        return format!(
            "{into}: {} rows would be written\n",
            rows(report.rows_that_differ)
        );
    }
    format!("{into}: {} rows written\n", rows(report.rows_written))
}
