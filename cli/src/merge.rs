//! `compact` and `fold`: fewer rows for the same counts.

use anyhow::{Result, bail};
use chrono::NaiveDate;
use clap::Args;
use diesel::QueryResult;
use diesel::backend::Backend;
use diesel::connection::Connection;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{BigInt, Binary, Integer, SmallInt, Text};
use diesel_counters::helper_types::MergeOn;
#[cfg(feature = "postgres")]
use diesel_counters::helper_types::StoredKey;
use diesel_counters::{Compact, Compacted, Layout};
use indicatif::ProgressBar;
use serde::Serialize;

use crate::catalogue::{Column, CounterTable, Kind, counter_table};
use crate::connection::AnyConnection;
use crate::options::{Options, Outcome};
use crate::output::{progress_bar, thousands};

/// Merge the slots of days that are over into one row an entity and day.
///
/// Totals, and those of each day, stay as they are. It goes on beside writers and readers,
/// and can be stopped at any time, and run again.
#[derive(Args)]
pub struct CompactArgs {
    #[command(flatten)]
    merge: MergeArgs,
    /// Merge the days before this one, such as 2026-01-31 [default: before yesterday, in UTC].
    #[arg(long, value_name = "DATE")]
    before: Option<NaiveDate>,
}

/// Fold an entity's old days into one row that has no day.
///
/// Totals stay as they are; series begin later, and there is no way back.
#[derive(Args)]
pub struct FoldArgs {
    #[command(flatten)]
    merge: MergeArgs,
    /// Fold the days before this one, such as 2026-01-31.
    #[arg(long, value_name = "DATE")]
    before: NaiveDate,
}

#[derive(Args)]
struct MergeArgs {
    /// The counter table.
    table: String,
    /// How many rows one transaction merges at most.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    batch: u16,
    /// Discard the values of this column, which is no counter. May be given several times.
    #[arg(long, value_name = "COLUMN")]
    discard: Vec<String>,
    /// Only say how many rows would be merged.
    #[arg(long)]
    dry_run: bool,
}

pub fn compact(args: CompactArgs, options: &Options) -> Result<Outcome> {
    let before = args.before.unwrap_or(yesterday());
    run(args.merge, Kept::Days, before, options)
}

pub fn fold(args: FoldArgs, options: &Options) -> Result<Outcome> {
    run(args.merge, Kept::Totals, args.before, options)
}

/// In UTC.
fn yesterday() -> NaiveDate {
    let today = chrono::Utc::now().date_naive();
    today.pred_opt().unwrap_or(today)
}

/// What can be told apart afterwards.
#[derive(Clone, Copy)]
enum Kept {
    Days,
    Totals,
}

#[derive(Serialize)]
struct Report {
    table: String,
    before: NaiveDate,
    dry_run: bool,
    merged_rows: u64,
    rows_left: u64,
    longest_transaction_seconds: f64,
    already_running: bool,
}

fn run(args: MergeArgs, kept: Kept, before: NaiveDate, options: &Options) -> Result<Outcome> {
    if before > yesterday() {
        bail!(
            "--before {before}: transactions may still count on the days from {} on, in UTC; \
             that is the last day to give",
            yesterday()
        );
    }
    let conn = &mut options.connect()?;
    let table = counter_table(conn, &args.table)?;
    let merge = Merge {
        layout: layout(&table, &args.discard)?,
        kept,
        before,
        batch: args.batch.into(),
        dry_run: args.dry_run,
    };
    let done = merge.of_keys_of(&table, conn)?;
    let report = Report {
        table: table.table.to_string(),
        before,
        dry_run: args.dry_run,
        merged_rows: done.merged,
        rows_left: done.left,
        longest_transaction_seconds: done.longest_transaction.as_secs_f64(),
        already_running: done.already_running,
    };
    options.print(&report, || text(&report))?;
    Ok(Outcome::Good)
}

fn text(report: &Report) -> String {
    let rows = |number: u64| thousands(number.try_into().unwrap_or(i64::MAX));
    let Report { table, before, .. } = report;
    if report.already_running {
        return format!("{table}: another run is merging its rows; nothing done\n");
    }
    if report.dry_run {
        let left = rows(report.rows_left);
        return format!("{table}: {left} rows before {before} would be merged\n");
    }
    format!(
        "{table}: {} rows before {before} merged, {} left; the longest transaction took {:.0} ms\n",
        rows(report.merged_rows),
        rows(report.rows_left),
        report.longest_transaction_seconds * 1000.0,
    )
}

/// A merge of a table whose keys are of a type that is not known yet.
struct Merge {
    layout: Layout<TableName>,
    kept: Kept,
    before: NaiveDate,
    batch: usize,
    dry_run: bool,
}

impl Merge {
    fn of_keys_of(self, table: &CounterTable, conn: &mut AnyConnection) -> Result<Compacted> {
        let Some(entity) = &table.entity else {
            // Read in place of the entity.
            return self.run::<Integer, i32, _>(conn);
        };
        // Diesel has UUIDs on a connection to PostgreSQL only.
        #[cfg(feature = "postgres")]
        if let (Kind::Uuid, AnyConnection::Postgres(conn)) = (entity.kind, &mut *conn) {
            use diesel::sql_types::Uuid;

            return self.run::<Uuid, <Uuid as StoredKey>::Key, _>(conn);
        }
        match conn.database().stored_as(entity.kind) {
            Kind::BigInt => self.run::<BigInt, i64, _>(conn),
            Kind::Integer => self.run::<Integer, i32, _>(conn),
            Kind::SmallInt => self.run::<SmallInt, i16, _>(conn),
            Kind::Text => self.run::<Text, String, _>(conn),
            Kind::Binary => self.run::<Binary, Vec<u8>, _>(conn),
            _ => bail!(
                "{}: keys of the type {} are not merged by this command; a program that uses \
                 diesel_counters can, with `Compact::new`",
                table.table,
                entity.sql_type
            ),
        }
    }

    fn run<ST, K, Conn>(self, conn: &mut Conn) -> Result<Compacted>
    where
        Conn: Connection,
        for<'p> Compact<'p, TableName, ST, K>: MergeOn<Conn>,
    {
        let bar = progress_bar();
        let compact: Compact<'_, TableName, ST, K> = match self.kept {
            Kept::Days => Compact::new(self.layout).before(self.before),
            Kept::Totals => Compact::folding(self.layout, self.before),
        };
        let compact = compact.batch(self.batch);
        let done = match self.dry_run {
            true => compact.dry_run(conn),
            false => compact.on_progress(|so_far| show(so_far, &bar)).run(conn),
        };
        bar.finish_and_clear();
        Ok(done?)
    }
}

fn show(so_far: &Compacted, bar: &ProgressBar) {
    bar.set_length(so_far.merged + so_far.left);
    bar.set_position(so_far.merged);
}

fn layout(table: &CounterTable, discard: &[String]) -> Result<Layout<TableName>> {
    if let Some(counter) = table.counters.iter().find(|counter| counter.nullable) {
        bail!(
            "{}.{} may be NULL, and merging would lose that; `diesel-counters check {0}` prints \
             the SQL that corrects it",
            table.table,
            counter.name
        );
    }
    let key = &table.table.primary_key;
    let is_counter = |name: &String| table.counters.iter().any(|counter| counter.name == *name);
    for name in discard {
        if table.table.column(name).is_none() || key.contains(name) || is_counter(name) {
            bail!(
                "--discard {name}: {} has no column of this name besides its key and its counters",
                table.table
            );
        }
    }
    // What is generated comes with what it is generated from.
    let (generated, stored): (Vec<_>, Vec<_>) = table
        .table
        .columns
        .iter()
        .partition(|column| column.generated);
    let mut others = stored
        .into_iter()
        .map(|column| &column.name)
        .filter(|name| !key.contains(name) && !is_counter(name));
    if let Some(kept) = others.find(|name| !discard.contains(name)) {
        bail!(
            "{}.{kept} is no BIGINT, and merging would lose its values: `diesel-counters check {0}` \
             says how to make it a counter, and `--discard {kept}` discards its values",
            table.table
        );
    }
    let name = |column: &Column| column.name.clone().into();
    Ok(Layout {
        table: TableName {
            schema: table.table.schema.clone(),
            name: table.table.name.clone(),
        },
        // As a program's `table!` has it.
        name: match &table.table.schema {
            Some(schema) => format!("{schema}.{}", table.table.name).into(),
            None => table.table.name.clone().into(),
        },
        entity: table.entity.as_ref().map(name),
        day: name(&table.day),
        slot: name(&table.slot),
        counters: table.counters.iter().map(name).collect(),
        others: discard
            .iter()
            .cloned()
            .map(Into::into)
            .chain(generated.into_iter().map(name))
            .collect(),
    })
}

/// A table in a `FROM`.
struct TableName {
    schema: Option<String>,
    name: String,
}

impl<DB: Backend> QueryFragment<DB> for TableName {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        if let Some(schema) = &self.schema {
            out.push_identifier(schema)?;
            out.push_sql(".");
        }
        out.push_identifier(&self.name)
    }
}
