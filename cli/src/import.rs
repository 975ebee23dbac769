//! `import`: counts by day, from a file.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use chrono::NaiveDate;
use clap::Args;
use diesel::connection::LoadConnection;
use diesel::result::{DatabaseErrorKind, Error};
use diesel_counters::__private::{BindKey, KeyTypes, Shape, Spellings};
use diesel_counters::dsl::SetDays;
use diesel_counters::{CounterBackend, is_overflow};
use serde::Serialize;
use serde_json::json;

use crate::any_key::{FromText, with_key};
use crate::catalogue::counter_table;
use crate::database::Joined;
use crate::layout::shape;
use crate::options::Options;
use crate::output::{printable, progress_bar, thousands};

/// Set the counts of days from a CSV file. The same file twice changes nothing.
///
/// Each line has the columns of the entity's key, in the order of the primary key, then the day, then
/// its count: 7,2026-01-31,120. A first line with names is left out. If the table counts by week,
/// month or year, the day is the first one of its period. Counts of other days do not change.
///
/// Programs can count at the same time. The command can be stopped at any time, and run again.
/// Lines that the database refuses are printed, and the others are imported. Do not import days that
/// `fold` has merged: they would be counted twice.
#[derive(Args)]
#[command(after_help = "Examples:
  diesel-counters import version_counters downloads 2025.csv --dry-run
  diesel-counters import version_counters downloads 2025.csv")]
pub struct Import {
    /// The counter table, such as article_counters or blog.article_counters.
    table: String,
    /// The counter, such as views.
    counter: String,
    /// The CSV file, which is read into memory.
    file: PathBuf,
    /// Only print how many counts would be set. It finds wrong lines, but not those that only the
    /// database refuses.
    #[arg(long)]
    dry_run: bool,
}

/// What was done.
#[derive(Default)]
struct Done {
    lines: usize,
    counts_set: usize,
    refused: Vec<Refused>,
}

#[derive(Serialize)]
struct Refused {
    line: u64,
    reason: String,
}

pub fn run(args: Import, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let table = counter_table(conn, &args.table)?;
    let shape = shape(&table, [table.counter(&args.counter)?]);
    let name = args.file.display();
    let file = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_path(&args.file)
        .with_context(|| name.to_string())?;
    let done = with_key!(&table.entity, conn, import(&shape, file, &args))?;
    let report = json!({
        "table": args.table,
        "counter": args.counter,
        "dry_run": args.dry_run,
        "lines": done.lines,
        "counts_set": done.counts_set,
        "refused": done.refused,
    });
    options.print(&report, || text(&args, &done))?;
    match done.refused.len() {
        0 => Ok(()),
        1 => bail!("{name}: 1 line was refused"),
        refused => bail!("{name}: {} lines were refused", thousands(refused as u64)),
    }
}

/// A count, and the number of its line.
struct Line<K> {
    key: K,
    day: NaiveDate,
    count: i64,
    number: u64,
}

fn import<ST, K, Conn>(
    shape: &Shape<'_>,
    file: csv::Reader<std::fs::File>,
    args: &Import,
    conn: &mut Conn,
) -> Result<Done>
where
    ST: KeyTypes,
    K: BindKey<ST, Conn::Backend> + FromText + Ord + Clone,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let lines = read::<K>(file, shape).with_context(|| args.file.display().to_string())?;
    let mut done = Done {
        lines: lines.len(),
        ..Done::default()
    };
    let bar = progress_bar("lines");
    bar.set_length(lines.len() as u64);
    let spellings = Spellings::default();
    for batch in lines.chunks(1_000) {
        set::<ST, K, Conn>(shape, batch, &spellings, args.dry_run, &mut done, conn)?;
        bar.inc(batch.len() as u64);
    }
    bar.finish_and_clear();
    done.refused.sort_by_key(|refused| refused.line);
    Ok(done)
}

/// Reads all lines, and sorts them by key.
fn read<K: FromText + Ord + Clone>(
    mut file: csv::Reader<std::fs::File>,
    shape: &Shape<'_>,
) -> Result<Vec<Line<K>>> {
    let columns = shape.entity().len() + 2;
    let mut lines: Vec<Line<K>> = Vec::new();
    let mut record = csv::StringRecord::new();
    while file.read_record(&mut record)? {
        let number = record.position().map_or(0, csv::Position::line);
        if record.len() != columns {
            let names = shape.key[..columns - 1].iter();
            bail!(
                "line {number} has {} columns in place of {columns}: {}, the count",
                record.len(),
                names.map(|name| name.0).joined(", ")
            );
        }
        let [day, count] = [columns - 2, columns - 1].map(|column| record[column].trim());
        let day = match day.parse() {
            Ok(day) => day,
            // The names of the columns.
            Err(_) if number == 1 && count.parse::<i64>().is_err() => continue,
            Err(_) => bail!("line {number}: {day} is not a date, such as 2026-01-31"),
        };
        let first = shape.period.start(day);
        if first != day {
            bail!(
                "line {number}: {day} is not the first day of a period of the table: give {first}"
            );
        }
        let count = count.parse();
        let count = count.with_context(|| format!("line {number}: the count is not an integer"))?;
        let key = (0..columns - 2).map(|column| &record[column]);
        let key = K::from_text(key).with_context(|| format!("line {number}"))?;
        lines.push(Line {
            key,
            day,
            count,
            number,
        });
    }
    lines.sort_by(|a, b| (&a.key, a.day, a.number).cmp(&(&b.key, b.day, b.number)));
    let same = |pair: &&[Line<K>]| (&pair[0].key, pair[0].day) == (&pair[1].key, pair[1].day);
    match lines.windows(2).find(same) {
        None => Ok(lines),
        Some(pair) => bail!(
            "lines {} and {} have the same key and day: add their counts up",
            pair[0].number,
            pair[1].number
        ),
    }
}

/// Sets the counts of some lines. If the database refuses them, it sets each half by itself, until
/// the lines are found that it refuses.
fn set<ST, K, Conn>(
    shape: &Shape<'_>,
    lines: &[Line<K>],
    spellings: &Spellings<K>,
    dry_run: bool,
    done: &mut Done,
    conn: &mut Conn,
) -> Result<()>
where
    ST: KeyTypes,
    K: BindKey<ST, Conn::Backend> + Ord + Clone,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let counts = lines
        .iter()
        .map(|line| (line.key.clone(), line.day, line.count));
    let counts = SetDays::<ST, _, _>::of_shape(shape, counts).spelled_as(spellings);
    let set_counts = match dry_run {
        true => counts.dry_run(conn),
        false => counts.execute(conn),
    };
    match set_counts {
        Ok(set) => done.counts_set += set.different,
        Err(error) if !is_refused(&error) => return Err(error.into()),
        Err(error) => match lines {
            [line] => done.refused.push(Refused {
                line: line.number,
                reason: error.to_string(),
            }),
            _ => {
                for half in lines.chunks(lines.len().div_ceil(2)) {
                    set::<ST, K, Conn>(shape, half, spellings, dry_run, done, conn)?;
                }
            }
        },
    }
    Ok(())
}

/// Whether the error is about a row, so that the others can be set.
fn is_refused(error: &Error) -> bool {
    use DatabaseErrorKind::{CheckViolation, ForeignKeyViolation, NotNullViolation};
    let of_a_row = |kind: &_| {
        matches!(
            kind,
            CheckViolation | ForeignKeyViolation | NotNullViolation
        )
    };
    is_overflow(error) || matches!(error, Error::DatabaseError(kind, _) if of_a_row(kind))
}

fn text(args: &Import, done: &Done) -> String {
    let refused = done.refused.len();
    let equal = thousands((done.lines - done.counts_set - refused) as u64);
    let set = thousands(done.counts_set as u64);
    // What the database refuses is known once it is written.
    let counts = match args.dry_run {
        true => format!("{set} counts would be set, {equal} equal"),
        false => format!(
            "{set} counts set, {equal} equal, {} refused",
            thousands(refused as u64)
        ),
    };
    let counter = printable(&format!("{}.{}", args.table, args.counter));
    let lines = done.refused.iter();
    let lines = lines.map(|one| format!("line {}: {}\n", one.line, printable(&one.reason)));
    format!("{counter}: {counts}\n{}", lines.collect::<String>())
}
