//! Runs random transactions on a real database from many threads, kills the server and clients, and
//! compares the counts that are read with what had committed. See `README.md`.
//!
//! The subcommands check more: all orders of statements, buffers, and Vitess.

// `on.rs` and its modules are compiled once for each database, with its type of connection.
#![allow(clippy::duplicate_mod)]

mod buffered;
mod check;
mod fault;
mod history;
mod interleave;
mod record;
mod run;
mod server;
mod tables;

#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "mysql")]
mod vitess;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{Parser, Subcommand};

use crate::buffered::{Buffered, Client};
use crate::interleave::Interleave;
use crate::run::{FAILED, RIGHT, Run, Settings, WRONG, scheme_of, why_no_database};

/// Checks that counts are exact: runs random transactions from many threads, and compares the
/// counts that are read with what had committed.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// `None` with a subcommand.
    #[command(flatten)]
    settings: Option<Settings>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Interleave(Interleave),
    Buffered(Buffered),
    #[cfg(feature = "mysql")]
    Vitess(vitess::Vitess),
    /// What `buffered` starts, and kills
    #[command(hide = true)]
    BufferedClient(Client),
}

fn main() -> ExitCode {
    let args = Args::parse();
    let code = match args.command {
        Some(Command::Interleave(args)) => interleave(&args),
        Some(Command::Buffered(args)) => buffered(&args),
        Some(Command::BufferedClient(args)) => buffered_client(&args),
        #[cfg(feature = "mysql")]
        Some(Command::Vitess(args)) => vitess(&args),
        None => check(args.settings.expect("the URL is required")),
    };
    let code = code.unwrap_or_else(|error| {
        eprintln!("soak: {error:#}");
        FAILED
    });
    ExitCode::from(code)
}

/// Calls a function that is compiled for each database: the one of the URL's database.
macro_rules! on_database {
    ($url:expr, $module:ident::$function:ident($($argument:expr),*)) => {
        match scheme_of($url) {
            #[cfg(feature = "postgres")]
            "postgres" | "postgresql" => postgres::on::$module::$function($($argument),*),
            #[cfg(feature = "mysql")]
            "mysql" => mysql::on::$module::$function($($argument),*),
            #[cfg(feature = "sqlite")]
            "sqlite" => sqlite::on::$module::$function($($argument),*),
            scheme => bail!(why_no_database(scheme)),
        }
    };
}

/// Runs operations in all orders of their statements, or in as many as the arguments say, at each
/// isolation level. Returns the exit code.
fn interleave(args: &Interleave) -> Result<u8> {
    let wrong = on_database!(&args.url, level::run(args))?;
    Ok(if wrong == 0 { RIGHT } else { WRONG })
}

/// Kills processes that count in a `CounterBuffer`. Returns the exit code.
fn buffered(args: &Buffered) -> Result<u8> {
    let began = Instant::now();
    let (tally, wrong) = on_database!(&args.url, buffered::run(args))?;
    let name = args.name.as_deref().unwrap_or(scheme_of(&args.url));
    let seconds = began.elapsed().as_secs();
    let Some(wrong) = wrong else {
        println!(
            "{name}: {seconds} s, 0 doubled, and lost only by kills and COMMITs of unknown \
             result{tally}"
        );
        return Ok(RIGHT);
    };
    println!("{name}: WRONG, found after {seconds} s: {wrong}{tally}");
    Ok(WRONG)
}

/// Counts through the gate of Vitess, and compares the counts. Returns the exit code.
#[cfg(feature = "mysql")]
fn vitess(args: &vitess::Vitess) -> Result<u8> {
    let began = Instant::now();
    let (done, wrong) = vitess::run(args)?;
    let seconds = began.elapsed().as_secs();
    let Some(wrong) = wrong else {
        println!("vitess: {seconds} s, {done}: 0 wrong");
        return Ok(RIGHT);
    };
    println!("vitess: {seconds} s, {done}: WRONG: {wrong}");
    Ok(WRONG)
}

/// Counts in a `CounterBuffer` until the input ends. Returns the exit code.
fn buffered_client(args: &Client) -> Result<u8> {
    on_database!(&args.url, buffered::client(args))?;
    Ok(RIGHT)
}

/// Runs random transactions. A client runs them until it is killed. Returns the exit code.
fn check(settings: Settings) -> Result<u8> {
    let run = &mut Run::new(settings)?;
    let url = run.settings.url.clone();
    let failure = match run.settings.client {
        None => on_database!(&url, soak::soak(run))?,
        Some(began_on) => {
            // Midnight can have passed since.
            tables::set_today(began_on);
            Some(on_database!(&url, soak::client(run))?)
        }
    };
    Ok(run.report(failure.as_ref()))
}
