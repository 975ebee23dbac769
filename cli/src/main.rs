//! The command line.

mod catalogue;
mod check;
mod connection;
mod database;
mod doctor;
mod entity;
mod generate;
mod materialize;
mod merge;
mod output;
mod show;
mod sql;
mod top;

use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, Parser, Subcommand};
use serde::Serialize;

use crate::connection::AnyConnection;

/// Looks at counter tables, keeps them small, and says what is wrong with them.
///
/// A counter table is one of diesel_counters: its primary key is (entity, day, slot) or
/// (day, slot), and every other BIGINT column is a counter.
#[derive(Parser)]
#[command(name = "diesel-counters", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  good
  1  an error
  2  wrong usage
  3  something was found: `check` found a fault, `doctor` contention";

/// What every command takes.
#[derive(Args)]
pub struct Global {
    /// postgres://…, mysql://…, or the file of an SQLite database.
    // Hidden, because --help would show the password in it.
    #[arg(long, env, hide_env_values = true, global = true, value_name = "URL")]
    database_url: Option<String>,
    /// Print one JSON document.
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Check),
    Compact(merge::CompactArgs),
    Doctor(doctor::Doctor),
    Fold(merge::FoldArgs),
    Generate(generate::Generate),
    Materialize(materialize::Materialize),
    Show(show::Show),
    Top(top::Top),
}

/// How a command ended that did what it was asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// What it was asked for is done.
    Good,
    /// It looked for something, and found it.
    Found,
}

impl Outcome {
    fn exit_code(self) -> ExitCode {
        match self {
            Outcome::Good => ExitCode::SUCCESS,
            Outcome::Found => ExitCode::from(3),
        }
    }
}

impl Global {
    /// Connects to the database that was named.
    pub fn connect(&self) -> Result<AnyConnection> {
        let url = self.url().context(
            "which database? Set DATABASE_URL, or give --database-url: \
             postgres://…, mysql://…, or the file of an SQLite database",
        )?;
        connection::connect(url)
    }

    /// An empty variable is none.
    fn url(&self) -> Option<&str> {
        self.database_url.as_deref().filter(|url| !url.is_empty())
    }

    /// Prints `value` as JSON where that was asked for, and otherwise its `text`.
    pub fn print<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> Result<()> {
        let text = match self.json {
            true => serde_json::to_string_pretty(value)? + "\n",
            false => text(),
        };
        match anstream::stdout().write_all(text.as_bytes()) {
            // Whoever reads it has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            result => result.context("cannot print"),
        }
    }
}

fn main() -> ExitCode {
    let Cli { global, command } = Cli::parse();
    match run(command, &global) {
        Ok(outcome) => outcome.exit_code(),
        Err(error) => {
            let text = format!("{error:#}{}", connection::who_locks(&error));
            let lines: Vec<_> = text.lines().map(output::printable).collect();
            eprintln!("diesel-counters: {}", lines.join("\n"));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command, global: &Global) -> Result<Outcome> {
    match command {
        Command::Check(args) => check::run(args, global),
        Command::Compact(args) => merge::compact(args, global),
        Command::Doctor(args) => doctor::run(args, global),
        Command::Fold(args) => merge::fold(args, global),
        Command::Generate(args) => generate::run(args, global),
        Command::Materialize(args) => materialize::run(args, global),
        Command::Show(args) => show::run(args, global),
        Command::Top(args) => top::run(args, global),
    }
}
