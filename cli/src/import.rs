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

use crate::any_key::{FromText, with_key};
use crate::catalogue::counter_table;
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

#[derive(Serialize)]
struct Report {
    table: String,
    counter: String,
    dry_run: bool,
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
    let report = with_key!(&table.entity, conn, import(&shape, file, &args))?;
    options.print(&report, || text(&report))?;
    match report.refused.len() {
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
) -> Result<Report>
where
    ST: KeyTypes,
    K: BindKey<ST, Conn::Backend> + FromText + Ord + Clone,
    Conn: LoadConnection<Backend: CounterBackend>,
{
    let lines = read::<K>(file, shape).with_context(|| args.file.display().to_string())?;
    let (first_days, others): (Vec<_>, Vec<_>) = lines
        .into_iter()
        .partition(|line| shape.period.start(line.day) == line.day);
    let refused = others.into_iter().map(|line| Refused {
        line: line.number,
        reason: format!(
            "{} is not the first day of a period of the table: give {}",
            line.day,
            shape.period.start(line.day)
        ),
    });
    let mut report = Report {
        table: args.table.clone(),
        counter: args.counter.clone(),
        dry_run: args.dry_run,
        lines: first_days.len() + refused.len(),
        counts_set: 0,
        refused: refused.collect(),
    };
    let bar = progress_bar("lines");
    bar.set_length(first_days.len() as u64);
    let spellings = Spellings::default();
    for batch in first_days.chunks(1_000) {
        set::<ST, K, Conn>(shape, batch, &spellings, &mut report, conn)?;
        bar.inc(batch.len() as u64);
    }
    bar.finish_and_clear();
    report.refused.sort_by_key(|refused| refused.line);
    Ok(report)
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
            bail!(
                "line {number} has {} columns in place of {columns}: {}, {}, the count",
                record.len(),
                shape
                    .entity()
                    .iter()
                    .map(|name| name.0)
                    .collect::<Vec<_>>()
                    .join(", "),
                shape.day()
            );
        }
        let [day, count] = [columns - 2, columns - 1].map(|column| record[column].trim());
        let day = match day.parse() {
            Ok(day) => day,
            // The names of the columns.
            Err(_) if number == 1 && count.parse::<i64>().is_err() => continue,
            Err(_) => bail!("line {number}: {day} is not a date, such as 2026-01-31"),
        };
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
    report: &mut Report,
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
    let done = match report.dry_run {
        true => counts.dry_run(conn),
        false => counts.execute(conn),
    };
    match done {
        Ok(done) => report.counts_set += done.different,
        Err(error) if !is_refused(&error) => return Err(error.into()),
        Err(error) => match lines {
            [line] => report.refused.push(Refused {
                line: line.number,
                reason: error.to_string(),
            }),
            _ => {
                for half in lines.chunks(lines.len().div_ceil(2)) {
                    set::<ST, K, Conn>(shape, half, spellings, report, conn)?;
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

fn text(report: &Report) -> String {
    let refused = report.refused.len();
    // What the database refuses is known once it is written.
    let of_refused = match report.dry_run {
        true => String::new(),
        false => format!(", {} refused", thousands(refused as u64)),
    };
    let mut text = format!(
        "{}.{}: {} counts {}, {} equal{of_refused}\n",
        printable(&report.table),
        printable(&report.counter),
        thousands(report.counts_set as u64),
        if report.dry_run {
            "would be set"
        } else {
            "set"
        },
        thousands((report.lines - report.counts_set - refused) as u64),
    );
    for Refused { line, reason } in &report.refused {
        text += &format!("line {line}: {}\n", printable(reason));
    }
    text
}
