//! Runs random transactions on a real database from many threads, kills the server and clients, and
//! compares the counts that are read with what had committed. See `scripts/soak`.

// A file of statements is compiled once for each database's type of connection.
#![allow(clippy::duplicate_mod)]

mod buffered;
mod check;
mod fault;
mod history;
mod interleave;
mod options;
mod record;
mod run;
mod server;
mod tables;

#[cfg(feature = "mysql")]
#[path = "mysql.rs"]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
mod regions;
#[cfg(feature = "sqlite")]
mod sqlite;

use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use chrono::NaiveDate;
use clap::{Parser, Subcommand};
use indicatif::ProgressBar;

use crate::buffered::{Buffered, Client};
use crate::fault::Fault;
use crate::interleave::Interleave;
use crate::options::{Found, Options};
use crate::run::{Failure, Run};
use crate::server::Server;

/// Checks that counts are exact: runs random transactions from many threads, and compares the counts
/// that are read with what had committed.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// The URL of a server, or of each node of a cluster; for SQLite, the path of a file to create
    ///
    /// On a server, a database is created for the run, and removed if all counts were right.
    #[arg(required = true)]
    urls: Vec<String>,
    /// The database's name in the output [default: the scheme of the URL]
    #[arg(long)]
    name: Option<String>,
    /// How long rounds are run
    #[arg(long, default_value_t = 20.0)]
    seconds: f64,
    /// After the rounds, how long processes are run and killed
    #[arg(long, default_value_t = 0.0)]
    client_seconds: f64,
    #[arg(long, default_value_t = 16)]
    threads: usize,
    /// The seed of the first round [default: random]
    #[arg(long)]
    seed: Option<u64>,
    /// The command that starts the server, which is then killed now and then
    #[arg(long)]
    server: Option<String>,
    /// Seconds between two kills of the server
    #[arg(long, default_value_t = 10.0)]
    kill_every: f64,
    /// How long the history of a round that failed is cut down
    #[arg(long, default_value_t = 60.0)]
    cut_down_seconds: f64,
    /// SQL to run on each connection, such as `SET …`
    #[arg(long, default_value = "")]
    session: String,
    /// Runs the history in this file again, up to 100 times
    #[arg(long)]
    replay: Option<String>,
    /// Plants a fault, to see that it is found
    #[arg(long)]
    fault: Option<Fault>,
    /// Others kill the server, or a node, so connections are lost
    #[arg(long)]
    killed: bool,
    /// Runs increments, and no reads, corrections or merges
    #[arg(long)]
    only_counts: bool,
    /// On a cluster, also runs what makes its nodes conflict: SERIALIZABLE, foreign keys, rows that
    /// several nodes write, and corrections inside of transactions
    #[arg(long)]
    conflicts: bool,
    /// Leaves out rollbacks to a savepoint: they stop nodes of MariaDB Galera without a binary log
    #[arg(long)]
    keep_savepoints: bool,
    /// Sets no savepoints, in which MySQL Group Replication loses aborts
    #[arg(long)]
    no_savepoints: bool,
    /// Counts until it is killed, for a run that began on this day
    #[arg(long, hide = true)]
    client: Option<NaiveDate>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Interleave(Interleave),
    Buffered(Buffered),
    #[cfg(feature = "postgres")]
    Regions(regions::Regions),
    #[command(hide = true)]
    BufferedClient(Client),
}

impl Args {
    /// The options that change what threads do, without those that have a value.
    fn flags(&self) -> Vec<&'static str> {
        let flags = [
            ("--killed", self.killed),
            ("--only-counts", self.only_counts),
            ("--conflicts", self.conflicts),
            ("--keep-savepoints", self.keep_savepoints),
            ("--no-savepoints", self.no_savepoints),
        ];
        let given = flags.into_iter().filter(|(_, is_given)| *is_given);
        given.map(|(flag, _)| flag).collect()
    }
}

/// The exit codes.
const RIGHT: u8 = 0;
const WRONG: u8 = 1;
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let code = check(Args::parse()).unwrap_or_else(|error| {
        eprintln!("soak: {error:#}");
        FAILED
    });
    ExitCode::from(code)
}

fn scheme_of(url: &str) -> &str {
    url.split_once("://").map_or("sqlite", |(scheme, _)| scheme)
}

/// Runs all orders of statements. Returns the exit code.
fn interleave(args: &Interleave) -> Result<u8> {
    let wrong = match scheme_of(&args.url) {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => postgres::gated::level::run(args),
        #[cfg(feature = "mysql")]
        "mysql" => mysql::gated::level::run(args),
        #[cfg(feature = "sqlite")]
        "sqlite" => sqlite::gated::level::run(args),
        scheme => bail!("no database for {scheme}://: build with --features postgres,mysql"),
    }?;
    Ok(if wrong == 0 { RIGHT } else { WRONG })
}

/// Kills processes that count in a `CounterBuffer`. Returns the exit code.
fn buffered(args: &Buffered) -> Result<u8> {
    let began = Instant::now();
    let run = match scheme_of(&args.url) {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => postgres::buffered::run,
        #[cfg(feature = "mysql")]
        "mysql" => mysql::buffered::run,
        #[cfg(feature = "sqlite")]
        "sqlite" => sqlite::buffered::run,
        scheme => bail!("no database for {scheme}://: build with --features postgres,mysql"),
    };
    let (tally, wrong) = run(args)?;
    let name = args.name.as_deref().unwrap_or(scheme_of(&args.url));
    let seconds = began.elapsed().as_secs();
    let Some(wrong) = wrong else {
        println!("{name}: {seconds} s, 0 lost or doubled but by kills of processes{tally}");
        return Ok(RIGHT);
    };
    println!("{name}: WRONG, found after {seconds} s: {wrong}{tally}");
    Ok(WRONG)
}

/// Writes to two nodes. Returns the exit code.
#[cfg(feature = "postgres")]
fn on_two_nodes(args: &regions::Regions) -> Result<u8> {
    let began = Instant::now();
    let (done, wrong) = regions::run(args)?;
    let seconds = began.elapsed().as_secs();
    let Some(wrong) = wrong else {
        println!("regions: {seconds} s, {done}: 0 wrong");
        return Ok(RIGHT);
    };
    println!("regions: {seconds} s, {done}: WRONG: {wrong}");
    Ok(WRONG)
}

/// Counts in a `CounterBuffer`. Returns the exit code.
fn buffered_client(args: &Client) -> Result<u8> {
    match scheme_of(&args.url) {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => postgres::buffered::client(args),
        #[cfg(feature = "mysql")]
        "mysql" => mysql::buffered::client(args),
        #[cfg(feature = "sqlite")]
        "sqlite" => sqlite::buffered::client(args),
        scheme => bail!("no database for {scheme}://"),
    }?;
    Ok(RIGHT)
}

/// Returns the exit code.
fn check(args: Args) -> Result<u8> {
    match &args.command {
        Some(Command::Interleave(args)) => return interleave(args),
        Some(Command::Buffered(args)) => return buffered(args),
        Some(Command::BufferedClient(args)) => return buffered_client(args),
        #[cfg(feature = "postgres")]
        Some(Command::Regions(args)) => return on_two_nodes(args),
        None => {}
    }
    let scheme = scheme_of(&args.urls[0]);
    let replay = match &args.replay {
        Some(file) => {
            let json = fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?;
            Some(serde_json::from_str(&json).with_context(|| format!("{file} has no history"))?)
        }
        None => None,
    };
    let mut run = Run::new();
    run.fault = args.fault;
    run.kills = args.server.is_some() || args.killed;
    run.only_counts = args.only_counts;
    run.conflicts = args.conflicts;
    run.keeps_savepoints = args.keep_savepoints;
    run.no_savepoints = args.no_savepoints;
    run.is_client = args.client.is_some();
    let mut options = Options {
        name: args.name.clone().unwrap_or_else(|| scheme.to_owned()),
        urls: args.urls.clone(),
        flags: args.flags(),
        fault: args.fault,
        session: args.session,
        time: Duration::from_secs_f64(args.seconds),
        clients_for: Duration::from_secs_f64(args.client_seconds),
        threads: args.threads,
        seed: args.seed.unwrap_or_else(rand::random),
        server: args.server.map(Server::run).transpose()?,
        kill_every: Duration::from_secs_f64(args.kill_every),
        cut_down_for: Duration::from_secs_f64(args.cut_down_seconds),
        replay,
        replays: 100,
        began: Instant::now(),
        bar: ProgressBar::new_spinner(),
        said: 0.into(),
    };
    type Work = (
        fn(&mut Options, &Run) -> Result<Option<Found>>,
        fn(&Options, &Run) -> Failure,
    );
    let (soak, client): Work = match scheme {
        #[cfg(feature = "postgres")]
        "postgres" | "postgresql" => (postgres::soak::soak, postgres::soak::client),
        #[cfg(feature = "mysql")]
        "mysql" => (mysql::soak::soak, mysql::soak::client),
        #[cfg(feature = "sqlite")]
        "sqlite" => (sqlite::soak::soak, sqlite::soak::client),
        scheme => bail!("no database for {scheme}://: build with --features postgres,mysql"),
    };
    let code = |failure: &Failure| if failure.is_wrong() { WRONG } else { FAILED };
    if let Some(day) = args.client {
        tables::set_today(day);
        let failure = client(&options, &run);
        eprintln!("soak: {failure}");
        return Ok(code(&failure));
    }
    let found = soak(&mut options, &run)?;
    options.bar.finish_and_clear();
    let (name, seconds) = (&options.name, options.began.elapsed().as_secs());
    println!(
        "{name}: {seconds} s, {}, {} (seed {})",
        run.tally,
        match found.as_ref().map(|found| &found.failure) {
            None => "0 lost or doubled",
            Some(Failure::Wrong(_)) => "SOME lost or doubled",
            Some(Failure::Other(_)) => "ended by an error",
        },
        options.seed
    );
    let Some(found) = found else {
        return Ok(RIGHT);
    };
    found.report(&options)?;
    Ok(code(&found.failure))
}
