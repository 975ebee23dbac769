//! The transaction of `this crate`, run by pgbench: what it costs without Diesel.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::figures::Cell;
use crate::tally::Tally;
use crate::way::{Count, Way};

/// pgbench, on the PATH or where Debian has it.
pub fn program() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut programs = vec![PathBuf::from("pgbench")];
    programs.extend(versions.map(|version| version.path().join("bin/pgbench")));
    programs
        .into_iter()
        .find(|program| Command::new(program).arg("--version").output().is_ok())
}

pub fn run<C: Count>(url: &str, connections: u32, seconds: f64) -> Result<Cell> {
    let folder = tempfile::tempdir()?;
    let script = folder.path().join("script.sql");
    let (text, values) = script_and_values(C::statements(connections));
    fs::write(&script, text)?;

    let pgbench = |seconds: f64| {
        let mut command = Command::new(program().context("no pgbench")?);
        command
            .args(["-n", "-M", "prepared", "-T", &seconds.to_string()])
            // A thread for each connection, as the other ways have it.
            .args([
                "-c",
                &connections.to_string(),
                "-j",
                &connections.to_string(),
            ])
            .arg("-f")
            .arg(&script);
        for (i, value) in values.iter().enumerate() {
            command.args(["-D", &format!("value_{i}={value}")]);
        }
        anyhow::Ok(command)
    };
    // The warm-up. It takes whole seconds.
    let warm = finish(pgbench(1.0)?.arg(url))?;
    let seconds = seconds.ceil();
    let log = folder.path().join("log");
    let log = format!("--log-prefix={}", log.display());
    finish(pgbench(seconds)?.args(["-l", &log, url]))?;

    let mut tally = Tally {
        committed: warm,
        ..Tally::default()
    };
    for file in fs::read_dir(&folder)? {
        let file = file?;
        if file.file_name().to_string_lossy().starts_with("log") {
            // Each line: client, number, microseconds, …
            for line in fs::read_to_string(file.path())?.lines() {
                let micros = line.split(' ').nth(2).context("a log of another pgbench")?;
                tally
                    .latencies
                    .record(Duration::from_micros(micros.parse()?));
                tally.in_time += 1;
                tally.committed += 1;
            }
        }
    }
    Ok(Cell {
        way: Way::Pgbench,
        transactions_per_second: tally.in_time as f64 / seconds,
        tally,
    })
}

/// Returns the number of transactions.
fn finish(command: &mut Command) -> Result<u64> {
    let output = command.output()?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "pgbench: {message}");
    let report = String::from_utf8(output.stdout)?;
    let processed = report
        .lines()
        .find_map(|line| line.strip_prefix("number of transactions actually processed: "));
    Ok(processed.context("a report of another pgbench")?.parse()?)
}

fn script_and_values([insert, count]: [String; 2]) -> (String, Vec<String>) {
    let mut values = Vec::new();
    let insert = with_variables(insert, &mut values);
    let count = with_variables(count, &mut values);
    (format!("BEGIN;\n{insert};\n{count};\nCOMMIT;\n"), values)
}

/// A statement that has pgbench's variables for its binds, whose values go to `values`.
fn with_variables(statement: String, values: &mut Vec<String>) -> String {
    let (sql, binds) = statement
        .split_once(" -- binds: ")
        .unwrap_or((&statement, "[]"));
    let binds = binds.trim_matches(['[', ']']).split(", ");
    let before = values.len();
    values.extend(binds.map(|bind| bind.trim_matches('"').to_owned()));
    // `$10` begins with `$1`.
    (before..values.len()).rev().fold(sql.to_owned(), |sql, i| {
        sql.replace(&format!("${}", i - before + 1), &format!(":value_{i}"))
    })
}
