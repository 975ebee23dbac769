//! Imports page views into an SQLite database, from two kinds of files:
//!
//! ```text
//! cargo run -p import_example -- views.sqlite examples/import/data/access-excerpt.csv
//! cargo run -p import_example -- views.sqlite daily.csv
//! ```
//!
//! - Of an access log, a CSV of `time,method,path,status`, each line is counted once, also if the
//!   import is killed, or if the log has grown and is imported again. A last line without a newline may
//!   be half written, and is left for the next import.
//! - Of a CSV of `path,day,count`, each count is set, so that the same file twice changes nothing.
//!
//! A line that cannot be read, such as one that is not UTF-8, ends the import with an error that names
//! it. Of a log, the batches before it stay counted. Correct the line, and import the file again.

// `table!` generates items without documentation.
#![allow(missing_docs)]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::iter;

use anyhow::{Context, Result, bail, ensure};
use chrono::NaiveDate;
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
    /// The number of lines that are counted of each log, which its first line identifies.
    imports (log) {
        log -> Text,
        lines -> BigInt,
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
    CREATE TABLE IF NOT EXISTS imports (log TEXT NOT NULL PRIMARY KEY, lines BIGINT NOT NULL)";

/// The number of lines that one transaction counts.
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

/// Counts the lines of a log that were not counted before.
fn import_log(mut file: File, conn: &mut SqliteConnection) -> Result<()> {
    let complete = end_of_last_line(&mut file)?;
    let mut csv = csv::Reader::from_reader(file.take(complete));
    // Otherwise, an error in the first record would name line 1.
    csv.headers()?;
    let mut lines = csv.into_records();
    let Some(first) = lines.next().transpose()? else {
        return Ok(());
    };
    let log = first.iter().collect::<Vec<_>>().join(",");
    diesel::insert_into(imports::table)
        .values((imports::log.eq(&log), imports::lines.eq(0)))
        .on_conflict_do_nothing()
        .execute(conn)?;
    let before: i64 = imports::table
        .find(&log)
        .select(imports::lines)
        .first(conn)?;
    let lines = iter::once(Ok(first)).chain(lines);
    let mut lines = lines.skip(usize::try_from(before)?).peekable();

    let mut counted = before;
    while lines.peek().is_some() {
        let mut days: BTreeMap<NaiveDate, BTreeMap<String, i64>> = BTreeMap::new();
        let mut position = counted;
        for line in lines.by_ref().take(BATCH) {
            let line = line?;
            position += 1;
            if (&line[1], &line[3]) == ("GET", "200") {
                let day = line[0].get(..10).unwrap_or_default();
                let day = day
                    .parse()
                    .with_context(|| format!("line {}: {:?} is no time", position + 1, &line[0]))?;
                *days
                    .entry(day)
                    .or_default()
                    .entry(line[2].to_owned())
                    .or_default() += 1;
            }
        }
        // The position commits together with the counts, or neither does.
        let moved = conn.immediate_transaction(|conn| {
            let was_here = imports::table.find(&log).filter(imports::lines.eq(counted));
            let moved = diesel::update(was_here)
                .set(imports::lines.eq(position))
                .execute(conn)?;
            for (day, counts) in days.into_iter().filter(|_| moved == 1) {
                increment(views).on(day).of_many(counts).execute(conn)?;
            }
            QueryResult::Ok(moved)
        })?;
        ensure!(moved == 1, "another import of this log is running");
        counted = position;
    }
    println!(
        "{} lines counted, {before} were counted before.",
        counted - before
    );
    Ok(())
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

/// Sets the count of each page on each day.
fn set_days(mut csv: csv::Reader<File>, conn: &mut SqliteConnection) -> Result<()> {
    let rows: Vec<(String, NaiveDate, i64)> = csv.deserialize().collect::<Result<_, _>>()?;
    let set = set_counter(views).of_days(rows).execute(conn)?;
    println!("{set} counts were others before.");
    Ok(())
}
