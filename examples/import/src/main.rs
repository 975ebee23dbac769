//! Imports page views into an SQLite database, from two kinds of files:
//!
//! ```text
//! cargo run -p import_example -- views.sqlite examples/import/data/access-excerpt.csv
//! cargo run -p import_example -- views.sqlite daily.csv
//! ```
//!
//! - An access log is a CSV of `time,method,path,status`. Every line is counted once, even if the
//!   import is killed, or if the log grows and you import it again. A GET that was answered with
//!   200 is a view, on the day that its time begins with. A last line without a newline may be half
//!   written, so it's left for the next import. A log is recognized by its lines and not by its
//!   name, so you can rotate it: if a file begins with all counted lines of a log, it's this log. A
//!   shorter file could be an older copy of a log or another log, and is refused.
//! - A CSV of `path,day,count` sets every count, so if you import the same file twice, nothing
//!   changes.
//!
//! If a line can't be read, for example because it isn't UTF-8, the import ends with an error that
//! names it, or the skipped blank lines before it. In a log, the batches before it stay counted.
//! Correct the line, and import the file again.

// `table!` generates items without documentation.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Take};

use anyhow::{Context, Result, bail, ensure};
use chrono::NaiveDate;
use csv::{StringRecord, StringRecordsIntoIter};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel_counters::dsl::set_counter;
use diesel_counters::prelude::*;

use page_counters::views;

diesel::table! {
    page_counters (path, day, slot) {
        path -> Text,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}

diesel::table! {
    /// The logs that lines were counted from: the first line, how many lines were counted, and
    /// their digest.
    imports (first_line, lines, digest) {
        first_line -> Text,
        lines -> BigInt,
        digest -> BigInt,
    }
}

diesel_counters::counter_table!(page_counters);

const TABLES: &str = "
    PRAGMA busy_timeout = 5000;
    CREATE TABLE IF NOT EXISTS page_counters (
        path TEXT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        views BIGINT NOT NULL DEFAULT 0 CHECK (typeof(views) = 'integer'),
        PRIMARY KEY (path, day, slot)
    ) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS imports (
        first_line TEXT NOT NULL, lines BIGINT NOT NULL, digest BIGINT NOT NULL,
        PRIMARY KEY (first_line, lines, digest)
    ) WITHOUT ROWID";

/// How many lines one transaction counts.
const BATCH: usize = 1_000;

fn main() -> Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [database, file] = &arguments[..] else {
        bail!("usage: import_example DATABASE FILE.csv");
    };
    let conn = &mut SqliteConnection::establish(database)
        .with_context(|| format!("cannot open the database {database}"))?;
    conn.batch_execute(TABLES)?;
    let mut csv = csv::Reader::from_path(file).with_context(|| format!("cannot read {file}"))?;
    match &*csv.headers()?.iter().collect::<Vec<_>>().join(",") {
        "time,method,path,status" => import_log(File::open(file)?, conn)?,
        "path,day,count" => set_days(csv, conn)?,
        _ => bail!("the first line is neither `time,method,path,status` nor `path,day,count`"),
    }
    println!("The most read pages:");
    let most_read: Vec<(String, i64)> = ranking(views).limit(5).load(conn)?;
    for (path, count) in most_read {
        println!("{count:>7} {path}");
    }
    Ok(())
}

/// Counts the lines of a log that haven't been counted yet.
fn import_log(mut file: File, conn: &mut SqliteConnection) -> Result<()> {
    let end = end_of_last_line(&mut file)?;
    let Some(first) = records(&file, end)?.next().transpose()? else {
        return Ok(());
    };
    let first = first.iter().collect::<Vec<_>>().join(",");
    let mut known = known_logs(&first, conn)?;
    let before = counted_part(&known, records(&file, end)?)?;
    let unread = usize::try_from(before.lines)?;
    let mut lines = records(&file, end)?.skip(unread).peekable();

    let mut counted = before;
    while lines.peek().is_some() {
        let mut days: BTreeMap<NaiveDate, BTreeMap<String, i64>> = BTreeMap::new();
        let mut now = counted;
        for line in lines.by_ref().take(BATCH) {
            let line = line?;
            now.add(&line);
            if (&line[1], &line[3]) == ("GET", "200") {
                let day = line[0].get(..10).unwrap_or_default();
                let number = line.position().map_or(0, |position| position.line());
                let day = day.parse().with_context(|| {
                    format!("line {number}: {:?} doesn't begin with a date", &line[0])
                })?;
                *days
                    .entry(day)
                    .or_default()
                    .entry(line[2].to_owned())
                    .or_default() += 1;
            }
        }
        // The position commits together with the counts, or neither does.
        let moved = conn.immediate_transaction(|conn| {
            if known_logs(&first, conn)? != known {
                return QueryResult::Ok(None);
            }
            let was_here = (&first, counted.lines, counted.digest);
            diesel::delete(imports::table.find(was_here)).execute(conn)?;
            let is_here = (
                imports::first_line.eq(&first),
                imports::lines.eq(now.lines),
                imports::digest.eq(now.digest),
            );
            is_here.insert_into(imports::table).execute(conn)?;
            for (day, counts) in days {
                increment(views).on(day).of_many(counts).execute(conn)?;
            }
            known_logs(&first, conn).map(Some)
        })?;
        known = moved.context("another import of this log is running")?;
        counted = now;
    }
    println!(
        "{} lines counted, {} were counted before.",
        counted.lines - before.lines,
        before.lines
    );
    Ok(())
}

/// The first lines of a log: how many there are, and a digest of them.
#[derive(Clone, Copy, PartialEq, Queryable)]
struct Part {
    lines: i64,
    digest: i64,
}

impl Part {
    const EMPTY: Part = Part {
        lines: 0,
        // FNV-1a, which is the same in every version of the program.
        digest: 0xcbf29ce484222325_u64 as i64,
    };

    fn add(&mut self, line: &StringRecord) {
        for field in line {
            // The byte 255 ends each field, because no text has it.
            for byte in field.bytes().chain([255]) {
                let next = (self.digest as u64 ^ u64::from(byte)).wrapping_mul(0x100000001b3);
                self.digest = next as i64;
            }
        }
        self.lines += 1;
    }
}

/// The counted parts of the logs that begin with this line.
fn known_logs(first: &str, conn: &mut SqliteConnection) -> QueryResult<Vec<Part>> {
    imports::table
        .filter(imports::first_line.eq(first))
        .select((imports::lines, imports::digest))
        .order((imports::lines, imports::digest))
        .load(conn)
}

/// Returns the part of the log that has been counted.
fn counted_part(
    known: &[Part],
    log: impl Iterator<Item = csv::Result<StringRecord>>,
) -> Result<Part> {
    let longest = known.last().map_or(0, |longest| longest.lines);
    let mut counted = Part::EMPTY;
    let mut part = Part::EMPTY;
    for line in log.take(usize::try_from(longest)?) {
        part.add(&line?);
        if known.contains(&part) {
            counted = part;
        }
    }
    ensure!(
        counted.lines > 0 || part.lines == longest,
        "{longest} lines are counted of a log that begins with the same line, and this file has {}: it \
         could be an older copy of the log, and is not imported. If it is another log, import it when \
         it has more lines",
        part.lines
    );
    Ok(counted)
}

/// Reads the lines of a log up to a position, without the header.
fn records(mut file: &File, end: u64) -> Result<StringRecordsIntoIter<Take<&File>>> {
    file.rewind()?;
    let mut csv = csv::Reader::from_reader(file.take(end));
    // Otherwise, an error in the first record would name line 1.
    csv.headers()?;
    Ok(csv.into_records())
}

/// Returns the position after the last newline, and rewinds the file.
fn end_of_last_line(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut last = [0];
    while end > 0 {
        file.seek(SeekFrom::Start(end - 1))?;
        file.read_exact(&mut last)?;
        if last == *b"\n" {
            break;
        }
        end -= 1;
    }
    file.rewind()?;
    Ok(end)
}

/// Sets every page's count on every day.
fn set_days(mut csv: csv::Reader<File>, conn: &mut SqliteConnection) -> Result<()> {
    let rows: Vec<(String, NaiveDate, i64)> = csv.deserialize().collect::<Result<_, _>>()?;
    let set = set_counter(views).of_days(rows).execute(conn)?;
    println!("{set} counts changed.");
    Ok(())
}
