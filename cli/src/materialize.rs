//! `materialize`: totals in a column of another table.

use std::ops::Bound;

use anyhow::{Context, Result, bail};
use chrono::NaiveDate;
use clap::Args;
use diesel::connection::LoadConnection;
use diesel_counters::__private::{KeyTypes, Name, OwnedKey, Shape, TotalColumn};
use diesel_counters::{CounterBackend, Materialized};
use serde_json::json;

use crate::any_key::with_key;
use crate::catalogue::{Column, CounterTable, Kind, Table, counter_table, table};
use crate::connection::AnyConnection;
use crate::layout::{shape, table_name};
use crate::options::Options;
use crate::output::{printable, progress_bar, thousands};
use crate::period::PeriodArg;

/// Copy a counter's totals, or its counts of some days, into a column of the table of its entities.
///
/// It compares all rows, and writes those that differ, in short transactions. Programs can count
/// at the same time. If another transaction changes the column of a row meanwhile, the next run
/// writes that row.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters materialize article_counters views --into articles.total_views
  diesel-counters materialize article_counters views --into articles.recent_views --last-days 90")]
pub struct Materialize {
    /// The counter table, such as article_counters or blog.article_counters.
    table: String,
    /// The counter, such as views.
    counter: String,
    /// The BIGINT column that takes the totals, such as articles.total_views.
    #[arg(long, value_name = "TABLE.COLUMN")]
    into: String,
    /// Copy the counts of the last days only, today in UTC included. If the table counts by week, month
    /// or year, these are the whole periods that overlap them; so are those of --from and --to.
    #[arg(long, value_name = "DAYS", conflicts_with_all = ["from", "to"], value_parser = clap::value_parser!(u32).range(1..))]
    last_days: Option<u32>,
    /// The first day that counts, such as 2026-01-31 [default: all days].
    #[arg(long, value_name = "DATE")]
    from: Option<NaiveDate>,
    /// The last day that counts [default: all days].
    #[arg(long, value_name = "DATE")]
    to: Option<NaiveDate>,
    #[command(flatten)]
    period: PeriodArg,
    /// The number of rows that one transaction writes at most.
    #[arg(long, value_name = "ROWS", default_value_t = 1000, value_parser = clap::value_parser!(u16).range(1..=1000))]
    batch: u16,
    /// Only print how many rows would be written.
    #[arg(long)]
    dry_run: bool,
}

pub fn run(args: Materialize, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let counters = counter_table(conn, &args.table)?;
    let mut shape = shape(&counters, [counters.counter(&args.counter)?]);
    let is_of_days = args.last_days.is_some() || args.from.is_some() || args.to.is_some();
    let period = args.period.of(&counters, conn.database(), is_of_days)?;
    shape.period = period.into();
    let (parent, column) = into(&args.into, &counters, conn)?;
    let key = key_of(&parent, &counters)?;
    let into = TotalColumn {
        table: table_name(&parent),
        key: key.iter().map(|column| Name(&column.name)).collect(),
        column: Name(&column),
    };
    let done = with_key!(&*key, conn, copy(&shape, into.clone(), &args))?;
    let report = json!({
        "table": counters.table.to_string(),
        "counter": args.counter,
        "into": args.into,
        "dry_run": args.dry_run,
        "rows_that_differ": done.different,
        "rows_written": done.written,
    });
    options.print(&report, || {
        let into = printable(&args.into);
        match args.dry_run {
            true => format!(
                "{into}: {} rows would be written\n",
                thousands(done.different)
            ),
            false => format!("{into}: {} rows written\n", thousands(done.written)),
        }
    })
}

fn copy<ST, K, Conn>(
    shape: &Shape<'_>,
    into: TotalColumn<'_>,
    args: &Materialize,
    conn: &mut Conn,
) -> Result<Materialized>
where
    ST: KeyTypes,
    K: OwnedKey<ST, Conn::Backend>,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let bar = progress_bar("rows");
    let mut done = Materialized::default();
    let copy =
        diesel_counters::Materialize::<'_, ST, K>::of_shape(shape, into).batch(args.batch.into());
    let copy = match args.last_days {
        Some(days) => copy.last_days(days),
        None => copy.between((
            args.from.map_or(Bound::Unbounded, Bound::Included),
            args.to.map_or(Bound::Unbounded, Bound::Included),
        )),
    };
    if args.dry_run {
        return Ok(copy.dry_run(conn)?);
    }
    let copied = copy
        .on_progress(|so_far| {
            bar.set_length(so_far.different);
            bar.set_position(so_far.written);
            done = so_far;
        })
        .execute(conn);
    bar.finish_and_clear();
    copied?;
    Ok(done)
}

/// The table and the column that take the totals.
fn into(name: &str, counters: &CounterTable, conn: &mut AnyConnection) -> Result<(Table, String)> {
    let Some((table_name, column_name)) = name.rsplit_once('.') else {
        bail!("--into {name}: write it as TABLE.COLUMN, such as articles.total_views");
    };
    let parent = table(conn, table_name)?;
    let Some(column) = parent.column(column_name) else {
        bail!("{parent} has no column {column_name}");
    };
    let other = counters
        .parent
        .as_ref()
        .filter(|counted| !parent.is_of(counted));
    // A table with a key of several columns can be another parent.
    if let Some(other) = other.filter(|_| parent.primary_key.len() < 2) {
        let (counters, other) = (&counters.table, &other.table);
        bail!("the foreign key of {counters} refers to {other}, not to {parent}");
    }
    let key = match &counters.parent {
        _ if parent.primary_key.contains(&column.name) => ", and the primary key",
        Some(counted) if counted.column == column.name => ", and what the foreign key refers to",
        _ => "",
    };
    if column.kind != Kind::BigInt || column.generated || !key.is_empty() {
        bail!(
            "{parent}.{column_name} is {}{key}: totals need a BIGINT column of their own",
            column.sql_type,
        );
    }
    Ok((parent, column_name.to_owned()))
}

/// The column that the foreign key refers to, or else the primary key of the parent table, if its
/// values can be those of the first columns of the entity's key.
fn key_of(parent: &Table, counters: &CounterTable) -> Result<Vec<Column>> {
    let entity = counters.of_entities()?;
    let first = &entity[0];
    let names = match &counters.parent {
        Some(counted) if parent.is_of(counted) => std::slice::from_ref(&counted.column),
        _ => &*parent.primary_key,
    };
    // MySQL can know the column in another case, as a migration wrote it after REFERENCES.
    let same = |name: &str| {
        let mut columns = parent.columns.iter();
        columns.find(|column| column.name.eq_ignore_ascii_case(name))
    };
    let is_never_null = |key: &Column| !key.nullable || parent.primary_key == [&*key.name];
    let columns = entity.iter().zip(names).map(|(entity, name)| {
        let column = parent.column(name).or_else(|| same(name))?;
        (column.kind.is_like(entity.kind) && is_never_null(column)).then(|| column.clone())
    });
    let key: Option<Vec<Column>> = columns.collect();
    let key = key.filter(|key| !key.is_empty() && key.len() == names.len());
    key.with_context(|| {
        format!(
            "{}.{} is {}, and {parent} has no key that begins like it and is NOT NULL",
            counters.table, first.name, first.sql_type
        )
    })
}
