//! The command line, as a library. Besides the program itself, the laboratory uses it: the
//! enumerator runs a recount on its own connection, and the benchmark generates its triggers.

mod any_key;
mod catalogue;
mod check;
mod chosen;
mod connection;
mod database;
mod doctor;
mod fault;
mod generate;
mod holder;
#[doc(hidden)]
pub mod keywords;
mod merge;
mod options;
mod output;
mod period;
mod recount;
mod sql;
mod template;
mod triggers;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::options::Options;

#[doc(hidden)]
pub use crate::{
    connection::AnyConnection, generate::first_migration, recount::recounts, triggers::Recount,
};

/// Inspect, check and maintain the counter tables of diesel_counters.
///
/// A counter table has the primary key (entity, day, slot) or (day, slot). Every other BIGINT
/// column is a counter.
#[derive(Parser)]
#[command(name = "diesel-counters", version, after_help = EXAMPLE_AND_EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    command: Command,
}

const EXAMPLE_AND_EXIT_CODES: &str = "\
Example:
  export DATABASE_URL=postgres://me@localhost/blog
  diesel-counters check

Exit codes:
  0  success
  1  error
  2  invalid arguments, or a counters.toml that can't be read
  3  `check` found a fault, `doctor` contention, or `recount --dry-run` a wrong count
  4  `compact` or `fold` left a table as it was, because another session holds its merge lock";

const SUCCESS: u8 = 0;

/// The exit code if the arguments are invalid, which is also clap's.
const INVALID_ARGUMENTS: u8 = 2;

/// The exit code if `check` finds a fault, `doctor` finds contention, or a dry recount finds a
/// wrong count.
const FOUND: u8 = 3;

/// The exit code if a merge leaves a table as it was, because another session holds its lock.
const BUSY: u8 = 4;

#[derive(Subcommand)]
enum Command {
    Check(check::CheckArgs),
    Compact(merge::CompactArgs),
    Doctor(doctor::Doctor),
    Fold(merge::FoldArgs),
    Generate(generate::Generate),
    Recount(recount::RecountArgs),
}

/// Runs the command that the arguments name.
pub fn main() -> ExitCode {
    let Cli { options, command } = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return not_run(&error),
    };
    match run(command, &options) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            // The command can also find out itself that its arguments are invalid.
            if let Some(invalid) = error.downcast_ref::<clap::Error>() {
                return not_run(invalid);
            }
            let text = format!("{error:#}{}", connection::lock_advice(&error));
            eprintln!("diesel-counters: {}", output::printable_lines(&text));
            ExitCode::FAILURE
        }
    }
}

/// Prints the help, or what's wrong with the arguments. A script can fill these in from a database,
/// so control characters are escaped.
fn not_run(error: &clap::Error) -> ExitCode {
    let text = error.to_string();
    let escaped = output::printable_lines(&text);
    if escaped == text.trim_end() {
        // Nothing needed escaping, so clap can print it in colour.
        error.exit();
    }
    eprintln!("{escaped}");
    ExitCode::from(INVALID_ARGUMENTS)
}

/// Runs a command. Returns the exit code.
fn run(command: Command, options: &Options) -> Result<u8> {
    let code = match command {
        Command::Check(args) => check::run(args, options)?.then_some(FOUND),
        Command::Doctor(args) => doctor::run(args, options)?.then_some(FOUND),
        Command::Compact(args) => merge::compact(args, options)?.then_some(BUSY),
        Command::Fold(args) => merge::fold(args, options)?.then_some(BUSY),
        Command::Generate(args) => {
            generate::run(args, options)?;
            None
        }
        Command::Recount(args) => recount::run(args, options)?.then_some(FOUND),
    };
    Ok(code.unwrap_or(SUCCESS))
}
