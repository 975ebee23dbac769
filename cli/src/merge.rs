//! `compact` and `fold`: fewer rows for the same counts.

use anyhow::{Result, bail};
use chrono::NaiveDate;
use clap::Args;
use diesel::sql_types::Untyped;
use diesel_counters::__private::{Name, Shape, TableName};
use diesel_counters::{Compact, DEFAULT_SLOTS, Period, Slot};
use indicatif::ProgressBar;
use serde_json::json;

use crate::any_key::AnyKeys;
use crate::catalogue::{Column, CounterTable, Mark, counter_table, statement_of};
use crate::database::{Database, SQLITE};
use crate::holder;
use crate::options::{self, Options};
use crate::output::{printable, thousands};
use crate::period;

/// Merge the slots of past days into one row for each entity and day.
///
/// The counts do not change. Programs can count and read at the same time. The command can be
/// stopped at any time, and run again.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters compact article_counters --dry-run
  diesel-counters compact article_counters")]
pub struct CompactArgs {
    /// Merge the days before this one, such as 2026-01-31 [default: yesterday, in UTC]. If the
    /// table counts by week, month or year, merge the periods before that of this day.
    #[arg(long, value_name = "DATE")]
    before: Option<NaiveDate>,
    #[command(flatten)]
    merge: MergeArgs,
}

/// Merge each entity's old days into months, or into one row without a day. This cannot be undone.
///
/// Totals do not change, but the counts of each of these days are lost. The count of a month, week
/// or year is stored under its first day. Programs can count and read at the same time. The command
/// can be stopped at any time, and run again.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters fold article_counters --before 2026-01-01 --into month --dry-run
  diesel-counters fold article_counters --before 2026-01-01 --into month")]
pub struct FoldArgs {
    /// Merge the days before this one, such as 2026-01-31. If the table counts by week, month or
    /// year, merge the periods before that of this day.
    #[arg(long, value_name = "DATE")]
    before: NaiveDate,
    /// Keep one row for each of these periods. Those before that of --before are merged. It is not
    /// shorter than the period that the table counts by.
    // A fold into days would be a `compact`.
    #[arg(long, default_value_t = Period::Total, value_parser = period::parser_of_longer())]
    into: Period,
    #[command(flatten)]
    merge: MergeArgs,
}

#[derive(Args)]
struct MergeArgs {
    /// The counter table, such as article_counters or blog.article_counters.
    #[arg(value_parser = options::name)]
    table: String,
    /// The number of rows that one transaction merges at most.
    #[arg(long, value_name = "ROWS", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1000))]
    batch: u16,
    #[command(flatten)]
    period: PeriodArg,
    /// Only print how many rows would be merged.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args)]
struct PeriodArg {
    /// The period that the table counts by, as in counter_table! [default: that of the database;
    /// see `diesel-counters check`].
    #[arg(long, value_parser = period::parser())]
    period: Option<Period>,
}

impl PeriodArg {
    /// The table's period, or days if neither the database nor the option has it, which is an error
    /// if it `is_needed`. Two different periods are always one, except on SQLite, where the option
    /// overrides that of the database.
    fn of(&self, table: &CounterTable, database: Database, is_needed: bool) -> Result<Period> {
        let name = &table.table;
        match (table.mark().map(|mark| mark.period), self.period) {
            // A comment of SQLite cannot be changed, when the table counts by another period from
            // then on.
            (_, Some(given)) if database == SQLITE => Ok(given),
            (Some(stored), Some(given)) if stored != given => {
                bail!("--period {given}: {name} has the period {stored}, as the database says")
            }
            (None, None) if is_needed => {
                let advice = advice(table, database);
                bail!(
                    "the database does not say by which period {name} counts, which this depends \
                     on: give --period, as in its counter_table!, or {advice}"
                )
            }
            (stored, given) => Ok(stored.or(given).unwrap_or_default()),
        }
    }
}

/// How to write the period into the database.
fn advice(table: &CounterTable, database: Database) -> String {
    const OTHERS: &str = "(or week, month, year, total in place of day)";
    let mark = Mark::default();
    match statement_of(table, &mark, database) {
        Some(statement) => format!("run {statement} {OTHERS}"),
        None => format!(
            "have the line `-- {mark}` {OTHERS} in its CREATE TABLE, as `generate migration` \
             writes it"
        ),
    }
}

/// Returns whether another session has the lock of the merge, so that this run did nothing.
pub fn compact(args: CompactArgs, options: &Options) -> Result<bool> {
    let before = args.before.unwrap_or(yesterday());
    run(args.merge, Period::Day, before, options)
}

/// Returns the same as [`compact`].
pub fn fold(args: FoldArgs, options: &Options) -> Result<bool> {
    run(args.merge, args.into, args.before, options)
}

/// In UTC.
fn yesterday() -> NaiveDate {
    let today = chrono::Utc::now().date_naive();
    today.pred_opt().unwrap_or(today)
}

fn run(args: MergeArgs, into: Period, before: NaiveDate, options: &Options) -> Result<bool> {
    if before > yesterday() {
        let yesterday = yesterday();
        let days = format!("{yesterday} and later days, in UTC; give that day or an earlier one");
        bail!("--before {before}: transactions can still count on {days}");
    }
    let conn = &mut options.connect()?;
    let table = counter_table(conn, &args.table)?;
    // A merge of slots, and a fold of all days into one row, are right without it.
    let is_needed = ![Period::Day, Period::Total].contains(&into);
    let period = args.period.of(&table, conn.database(), is_needed)?;
    let shape = shape(&table, period)?;
    if is_needed && into < shape.period {
        let name = &table.table;
        bail!("{name} has the period {period}: fold it into that or a longer period");
    }
    let keys = AnyKeys::new(&table.entity, conn.database())?;
    // It is drawn on a terminal only.
    let bar = ProgressBar::new(0);
    // The types of the key are known at run time only, to `keys`.
    let merge = Compact::<Untyped, Untyped>::folding(&shape, into, before)
        .batch(args.batch.into())
        .on_progress(|so_far| {
            bar.set_length(so_far.merged + so_far.left);
            bar.set_position(so_far.merged);
        });
    let result = if args.dry_run {
        merge.dry_run(conn)
    } else {
        merge.execute_loading(&keys, conn)
    };
    // An error is not printed into the bar.
    bar.finish_and_clear();
    let done = result?;
    let is_busy = done.already_running;
    let holder = if is_busy {
        holder::of_merge(shape.table, conn)
    } else {
        None
    };
    let report = json!({
        "table": table.table.to_string(),
        "before": before,
        "dry_run": args.dry_run,
        "merged_rows": done.merged,
        "rows_left": done.left,
        "longest_transaction_seconds": done.longest_transaction.as_secs_f64(),
        "already_running": is_busy,
        "holder": holder,
    });
    options.print(&report, || {
        let table = printable(&table.table.to_string());
        let left = thousands(done.left as i64);
        if is_busy {
            const HIDDEN: &str = "a session that has ended since, or is not shown";
            let holder = printable(holder.as_deref().unwrap_or(HIDDEN));
            return format!(
                "{table}: nothing was merged, because another run has the lock of its merge: \
                 {holder}\n"
            );
        }
        if args.dry_run {
            return format!("{table}: {left} rows before {before} would be merged\n");
        }
        let merged = thousands(done.merged as i64);
        let longest = done.longest_transaction.as_millis();
        format!(
            "{table}: {merged} rows before {before} merged, {left} left; the longest transaction \
             took {longest} ms\n"
        )
    })?;
    Ok(is_busy)
}

/// The shape of a table whose rows are to be merged. It is an error if that would lose what a
/// column has.
fn shape(counters: &CounterTable, period: Period) -> Result<Shape<'_>> {
    let table = &counters.table;
    if let Some(counter) = counters.counters.iter().find(|counter| counter.nullable) {
        let name = &counter.name;
        let see = format!("see `diesel-counters check {table}`");
        bail!("{table}.{name} can be NULL, and a merge would lose that: {see}");
    }
    let entity = counters.entity.iter();
    let key: Vec<&Column> = entity.chain([&counters.day, &counters.slot]).collect();
    let is_lost = |column: &&Column| {
        // The database computes a generated column itself.
        !column.generated && !key.contains(column) && !counters.counters.contains(column)
    };
    if let Some(Column { name, .. }) = table.columns.iter().find(is_lost) {
        bail!(
            "{table}.{name} is not a counter, and a merge would lose its values: make it a BIGINT, \
             or move it to another table"
        );
    }
    let generated = table.columns.iter().filter(|column| column.generated);
    let counted = counters.counters.iter();
    Ok(Shape {
        table: TableName {
            schema: table.schema.as_deref().map(Name),
            name: Name(&table.name),
        },
        // A label lives as long as the program, which has one table.
        label: table.to_string().leak(),
        key: key.iter().map(|column| Name(&column.name)).collect(),
        counters: counted.map(|column| Name(&column.name)).collect(),
        others: generated.map(|column| Name(&column.name)).collect(),
        period,
        slots: DEFAULT_SLOTS,
        choice: Slot::Connection,
        today: || chrono::Utc::now().date_naive(),
    })
}
