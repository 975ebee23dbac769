//! `compact` and `fold`: the same counts in fewer rows.

use std::fmt;

use anyhow::{Result, bail};
use chrono::NaiveDate;
use clap::Args;
use diesel::sql_types::Untyped;
use diesel_counters::__private::DEFAULT_SLOTS;
use diesel_counters::__private::{Name, Shape, TableName};
use diesel_counters::dsl::Compact;
use diesel_counters::{Period, Slot};
use indicatif::ProgressBar;
use serde::Serialize;
use serde_json::json;

use crate::any_key::AnyKeys;
use crate::catalogue::{Column, CounterTable, Mark, counter_table, mark_statement};
use crate::chosen::all_counter_tables;
use crate::connection::AnyConnection;
use crate::database::{Database, SQLITE};
use crate::holder;
use crate::options::{self, Options};
use crate::output::{printable, thousands, wrapped};
use crate::period;

/// Merge the slots of past days into one row per entity and day.
///
/// The counts don't change. Your programs can count and read at the same time. You can stop the
/// command at any time, and run it again.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters compact --dry-run
  diesel-counters compact
  diesel-counters compact article_counters")]
pub struct CompactArgs {
    /// Merge the days before this one, for example 2026-01-31 [default: yesterday, in UTC]. If the
    /// table counts by week, month or year, this merges the periods before the one that contains
    /// this day.
    #[arg(long, value_name = "DATE")]
    before: Option<NaiveDate>,
    #[command(flatten)]
    merge: MergeArgs,
}

/// Merge every entity's old days into months, or into one row without a day. You can't undo this.
///
/// Totals don't change, but the counts of the single days are lost. The count of a week, month or
/// year is stored under its first day. Your programs can count and read at the same time. You can
/// stop the command at any time, and run it again.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters fold --before 2026-01-01 --into month --dry-run
  diesel-counters fold --before 2026-01-01 --into month
  diesel-counters fold article_counters --before 2026-01-01 --into month")]
pub struct FoldArgs {
    /// Merge the days before this one, for example 2026-01-31. If the table counts by week, month
    /// or year, this merges the periods before the one that contains this day.
    #[arg(long, value_name = "DATE")]
    before: NaiveDate,
    /// Keep one row for each period of this length, and merge those before the one that contains
    /// --before. It can't be shorter than the period that the table counts by.
    // `day` is left out, because that's what `compact` does.
    #[arg(long, default_value_t = Period::Total, value_parser = period::longer_period_parser())]
    into: Period,
    #[command(flatten)]
    merge: MergeArgs,
}

#[derive(Args)]
struct MergeArgs {
    /// The counter table, for example article_counters or blog.article_counters [default: the
    /// counter tables that `check` checks, except those with a stock].
    #[arg(value_parser = options::name)]
    table: Option<String>,
    /// The maximum number of rows that one transaction merges.
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
    /// The period that the table counts by, as in counter_table! [default: the one in the database;
    /// see `diesel-counters check`].
    #[arg(long, value_parser = period::parser(), requires = "table")]
    period: Option<Period>,
}

impl PeriodArg {
    /// Returns the table's period. If neither the database nor the option says it, this is a day,
    /// or an error if it `is_needed`. If they say two different periods, that's an error too,
    /// except on SQLite, where the option wins.
    fn table_period(
        &self,
        table: &CounterTable,
        database: Database,
        is_needed: bool,
    ) -> Result<Period> {
        let name = &table.table;
        match (table.mark().map(|mark| mark.period), self.period) {
            // SQLite can't change a comment, so it may be out of date if the table's period has
            // changed.
            (_, Some(given)) if database == SQLITE => Ok(given),
            (Some(stored), Some(given)) if stored != given => {
                bail!("--period {given}: {name} has the period {stored}, as the database says")
            }
            (None, None) if is_needed => {
                let store_it = how_to_store_period(table, database);
                bail!(
                    "this depends on the period that {name} counts by, and the database does not \
                     say which one that is: give --period, as in its counter_table!, or {store_it}"
                )
            }
            (stored, given) => Ok(stored.or(given).unwrap_or_default()),
        }
    }
}

/// Says how to write the period into the database: `run COMMENT ON COLUMN …`.
fn how_to_store_period(table: &CounterTable, database: Database) -> String {
    const OTHERS: &str = "(or week, month, year, total instead of day)";
    let mark = Mark::default();
    match mark_statement(table, &mark, database) {
        Some(statement) => format!("run {statement} {OTHERS}"),
        None => format!(
            "put the line `-- {mark}` {OTHERS} into its CREATE TABLE, as `generate migration` \
             does"
        ),
    }
}

/// Merges the slots of past days. Returns whether a table was left as it was, because another
/// session holds the merge lock.
pub fn compact(args: CompactArgs, options: &Options) -> Result<bool> {
    let merge = Merge {
        before: args.before.unwrap_or(yesterday()),
        into: Period::Day,
        args: args.merge,
    };
    merge.run(options)
}

/// Merges old days into longer periods. Returns whether a table was left as it was, because another
/// session holds the merge lock.
pub fn fold(args: FoldArgs, options: &Options) -> Result<bool> {
    let merge = Merge {
        before: args.before,
        into: args.into,
        args: args.merge,
    };
    merge.run(options)
}

/// Returns yesterday in UTC.
fn yesterday() -> NaiveDate {
    let today = chrono::Utc::now().date_naive();
    today.pred_opt().unwrap_or(today)
}

struct Merge {
    before: NaiveDate,
    into: Period,
    args: MergeArgs,
}

/// What was merged in one table.
#[derive(Serialize)]
struct MergeReport {
    table: String,
    before: NaiveDate,
    dry_run: bool,
    merged_rows: u64,
    rows_left: u64,
    longest_transaction_seconds: f64,
    already_running: bool,
    /// The session that holds the merge lock.
    holder: Option<String>,
    /// The period that the table counts by, if it is longer than the one to fold into.
    longer_period: Option<String>,
    /// A key column with a collation that treats different texts as equal.
    #[serde(skip)]
    loose_key: Option<String>,
}

impl Merge {
    /// Merges the table that the arguments name, or all tables. Returns whether a table was left as
    /// it was, because another session holds the merge lock.
    fn run(&self, options: &Options) -> Result<bool> {
        let before = self.before;
        let yesterday = yesterday();
        if before > yesterday {
            bail!(
                "--before {before}: transactions can still count on {yesterday} and later days, in \
                 UTC; give that day or an earlier one"
            );
        }
        let conn = &mut options.connect()?;
        match &self.args.table {
            Some(name) => self.merge_named(name, options, conn),
            None => self.merge_all(options, conn),
        }
    }

    /// Merges one table, and prints the report. Returns whether the table was left as it was.
    fn merge_named(&self, name: &str, options: &Options, conn: &mut AnyConnection) -> Result<bool> {
        let table = counter_table(conn, name)?;
        let merged = self.merge(&table, conn)?;
        if let Some(longer) = merged.longer_period {
            let name = &table.table;
            bail!("{name} has the period {longer}: fold it into that or a longer period");
        }
        options.print(&merged, || merged.to_string())?;
        Ok(merged.already_running)
    }

    /// Merges the tables that `check` checks, except those with a stock, and prints the report.
    /// Returns whether one of them was left as it was.
    fn merge_all(&self, options: &Options, conn: &mut AnyConnection) -> Result<bool> {
        // If one table fails, the others are still merged.
        let mut tables = Vec::new();
        let mut failed = Vec::new();
        for table in all_counter_tables(conn)? {
            // Merging puts all units of a stock into one row. Then only one transaction at a time
            // could take some.
            let has_stock = table.mark().is_some_and(|mark| !mark.stock.is_empty());
            if has_stock {
                let name = printable(&table.table.to_string());
                eprintln!("diesel-counters: {name} has a stock: to merge it, name it");
                continue;
            }
            match self.merge(&table, conn) {
                Ok(merged) => tables.push(merged),
                Err(error) => failed.push(format!("{}: {error:#}", table.table)),
            }
        }
        options.print(&json!({ "tables": tables }), || {
            tables.iter().map(MergeReport::to_string).collect()
        })?;
        if !failed.is_empty() {
            bail!("{}", failed.join("\n"));
        }
        Ok(tables.iter().any(|merged| merged.already_running))
    }

    /// Merges the rows of one table, or only counts them for a dry run.
    fn merge(&self, table: &CounterTable, conn: &mut AnyConnection) -> Result<MergeReport> {
        let Merge { before, into, args } = self;
        let mut merged = self.empty_report(table);
        // Merging slots, or folding all days into one row, is right whatever the period is.
        let needs_period = ![Period::Day, Period::Total].contains(into);
        let period = args
            .period
            .table_period(table, conn.database(), needs_period)?;
        let shape = shape(table, period)?;
        if needs_period && *into < shape.period {
            merged.longer_period = Some(period.to_string());
            return Ok(merged);
        }
        let keys = AnyKeys::new(&table.entity, conn.database())?;
        // The bar is only drawn on a terminal.
        let bar = ProgressBar::new(0);
        // The key's types are only known at run time, by `keys`.
        let merge = Compact::<Untyped, Untyped>::folding(&shape, *into, *before)
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
        // Don't print an error into the bar.
        bar.finish_and_clear();
        let done = result?;
        merged.merged_rows = done.merged;
        merged.rows_left = done.left;
        merged.longest_transaction_seconds = done.longest_transaction.as_secs_f64();
        merged.already_running = done.already_running;
        if done.already_running {
            merged.holder = holder::merge_lock_holder(shape.table, conn);
        }
        Ok(merged)
    }

    /// Returns the report of a table in which nothing has been merged yet.
    fn empty_report(&self, table: &CounterTable) -> MergeReport {
        let mut entity = table.entity.iter();
        let loose_key = entity.find(|column| column.loose_collation.is_some());
        MergeReport {
            table: table.table.to_string(),
            before: self.before,
            dry_run: self.args.dry_run,
            merged_rows: 0,
            rows_left: 0,
            longest_transaction_seconds: 0.0,
            already_running: false,
            holder: None,
            longer_period: None,
            loose_key: loose_key.map(|column| column.name.clone()),
        }
    }
}

impl MergeReport {
    /// Says why rows are left, and what to do.
    fn why_left(&self) -> String {
        let mut why =
            "Other transactions have locked or just written the rows that are left. That is \
                       normal: the next run merges them."
                .to_owned();
        if let Some(column) = &self.loose_key {
            why += &format!(
                " If they are left again, there are keys such as Foo and foo: the collation of {} \
                 treats them as equal, and only one of them is merged. The counts are right.",
                printable(column)
            );
        }
        why
    }
}

impl fmt::Display for MergeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WIDTH: usize = 90;
        const HIDDEN: &str = "a session that has ended since, or is not shown";
        let table = printable(&self.table);
        let before = self.before;
        let [merged, left] = [self.merged_rows, self.rows_left].map(|rows| thousands(rows as i64));
        if let Some(period) = &self.longer_period {
            return writeln!(f, "{table}: nothing to fold, because it counts by {period}");
        }
        if self.already_running {
            let holder = printable(self.holder.as_deref().unwrap_or(HIDDEN));
            return writeln!(
                f,
                "{table}: nothing was merged, because another run holds its merge lock: \
                 {holder}"
            );
        }
        if self.dry_run {
            return writeln!(f, "{table}: {left} rows before {before} would be merged");
        }
        let longest_ms = (self.longest_transaction_seconds * 1000.0) as u64;
        writeln!(
            f,
            "{table}: {merged} rows before {before} merged, {left} left; the longest transaction \
             took {longest_ms} ms"
        )?;
        if self.rows_left > 0 {
            writeln!(f, "  {}", wrapped(&self.why_left(), WIDTH).join("\n  "))?;
        }
        Ok(())
    }
}

/// Returns the shape of the table to merge. Fails if merging would lose the values of a column.
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
        // The database computes generated columns itself.
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
        // Leaking the label is fine: the program merges every table once and then ends.
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
