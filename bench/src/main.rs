//! What counting with this crate costs, beside the other ways to count, on each database.

mod buffer;
#[cfg(feature = "sqlite")]
mod client;
mod counter;
mod database;
mod figures;
mod indexes;
mod isolation;
mod machine;
mod many;
mod measure;
mod merge;
#[cfg(feature = "mysql")]
mod nodes;
mod pgbench;
mod pool;
mod read;
mod registry;
mod report;
mod run;
mod schema;
mod server;
mod stress;
mod table;
mod tagging;
mod tally;
mod way;
mod worker;
mod workload;

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};

use crate::database::Engine;
use crate::measure::{Plan, measure_each};
use crate::report::markdown;

/// Measures what counting with diesel_counters costs, beside the other ways to count.
///
/// Each database in turn gets a throwaway server, from `scripts/test --serve`, or is the one that
/// POSTGRES_URL, MARIADB_URL or MYSQL_URL names. Tables whose names begin with `bench_` are
/// replaced, and dropped. A full run takes about 50 minutes, and requires an idle machine.
#[derive(Parser)]
#[command(name = "bench", args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// The databases to measure [default: all that are available].
    #[arg(value_name = "DATABASE")]
    databases: Vec<Engine>,
    /// Only try whether everything works, in two minutes.
    #[arg(long)]
    quick: bool,
    /// How often each way is measured under each workload [default: 3, or 1 with --quick].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// How many seconds that takes each time [default: 1.2, or 0.4 with --quick].
    #[arg(long, value_name = "S", value_parser = seconds)]
    seconds: Option<f64>,
    /// The folder of results.json, results.md, and the plots.
    #[arg(long, value_name = "DIR", default_value = "target/bench")]
    out: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Only measure the ways to count, under some of the workloads.
    Count {
        /// The databases to measure [default: all that are available].
        #[arg(value_name = "DATABASE")]
        databases: Vec<Engine>,
        /// Measure the workloads whose names contain this, such as "1 connection, no hold".
        #[arg(long, value_name = "TEXT", default_value = "")]
        only: String,
        /// Measure the ways whose names contain one of these, such as "INSERT alone".
        #[arg(long, value_name = "TEXT")]
        way: Vec<String>,
        /// How often each way is measured under each workload.
        #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
        /// How many seconds that takes each time.
        #[arg(long, value_name = "S", default_value_t = 1.2, value_parser = seconds)]
        seconds: f64,
    },
    /// Only measure reads of a total, as multiples of reads of one row.
    Read {
        /// The databases to measure [default: all that are available].
        #[arg(value_name = "DATABASE")]
        databases: Vec<Engine>,
        /// Measure each shape of a table up to this often.
        #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
    },
    /// Only measure a merge of old rows, and what writers notice of it.
    Merge {
        /// The databases to measure [default: all that are available].
        #[arg(value_name = "DATABASE")]
        databases: Vec<Engine>,
        /// Merge up to this many rows in a transaction.
        #[arg(long, value_name = "N", default_value_t = merge::FULL.batch)]
        batch: usize,
    },
    /// Only measure an image board that counts with triggers: each transaction tags a post.
    Tagging {
        /// The databases to measure [default: all that are available].
        #[arg(value_name = "DATABASE")]
        databases: Vec<Engine>,
        /// How often each way is measured.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
        /// How many seconds that takes each time.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
        seconds: f64,
    },
    /// Only measure counting in memory, beside a map of atomic counters that all threads share.
    Buffer {
        /// The databases to write to [default: all that are available].
        #[arg(value_name = "DATABASE")]
        databases: Vec<Engine>,
        /// How often each is measured.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..))]
        rounds: u16,
        /// How many seconds that takes each time.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
        seconds: f64,
    },
    /// Only measure how many transactions fail at each isolation level, and are run again.
    Isolation {
        /// The databases to measure [default: the available ones of postgres, mariadb and mysql].
        #[arg(value_name = "DATABASE")]
        databases: Vec<Engine>,
        /// How many transactions commit in each cell of the table.
        #[arg(long, value_name = "N", default_value_t = 5_000)]
        transactions: u64,
    },
    /// Show that connections do not meet: with many threads, processes that are killed, and
    /// connections that come and go.
    Stress {
        /// The databases to use.
        #[arg(value_name = "DATABASE", required = true)]
        databases: Vec<Engine>,
        /// How many transactions commit in each part.
        #[arg(long, value_name = "N", default_value_t = 20_000)]
        transactions: u64,
    },
    /// Count on several nodes of a Galera cluster at once.
    #[cfg(feature = "mysql")]
    Nodes {
        /// A database of each node, as mysql://…
        #[arg(value_name = "URL", required = true)]
        urls: Vec<String>,
    },
    /// Only measure the pages of a registry with a year of daily downloads, beside a table of daily rows
    /// that is written by hand, and a plain column.
    Registry {
        /// The databases to measure.
        #[arg(value_name = "DATABASE", required = true)]
        databases: Vec<Engine>,
        #[command(flatten)]
        size: registry::Size,
    },
    /// Only measure what the optional indexes cost those who count: the increments a second with an index,
    /// as a multiple of those without it, and the least and the greatest of the rounds.
    Indexes {
        /// The databases to measure.
        #[arg(value_name = "DATABASE", required = true)]
        databases: Vec<Engine>,
        /// How often each is measured, in turns.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..1000))]
        rounds: u16,
        /// How many seconds each cell takes.
        #[arg(long, value_name = "S", default_value_t = 2.0, value_parser = seconds)]
        seconds: f64,
    },
    /// Only measure `increment_many` of 1,000 entities, beside single increments in one transaction.
    Many {
        /// The databases to measure [default: all].
        #[arg(value_name = "DATABASE")]
        databases: Vec<Engine>,
        /// How often each way is measured, with new rows and with rows that exist.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..1000))]
        rounds: u16,
        /// Delay the messages of the client and of the server by half of this each.
        #[arg(long, value_name = "MICROSECONDS", default_value_t = 0)]
        round_trip: u64,
    },
    /// Only measure the client's own work, beside the same statements by hand. It requires valgrind.
    #[cfg(feature = "sqlite")]
    Client {
        /// Run one operation, in a child of this program.
        #[arg(hide = true, num_args = 3)]
        operation: Vec<String>,
    },
    /// Count, as one process of a run.
    #[command(hide = true)]
    Worker,
}

fn seconds(text: &str) -> Result<f64, &'static str> {
    match text.parse() {
        Ok(seconds) if (0.1..=3600.0).contains(&seconds) => Ok(seconds),
        _ => Err("a cell takes 0.1 to 3600 seconds"),
    }
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let (databases, plan, out) = match cli.command {
        Some(Command::Worker) => return worker::run(),
        Some(Command::Count {
            databases,
            only,
            way,
            rounds,
            seconds,
        }) => (databases, Plan::count(only, way, rounds, seconds), None),
        Some(Command::Read { databases, rounds }) => (databases, Plan::read(rounds), None),
        Some(Command::Merge { databases, batch }) => (databases, Plan::merge(batch), None),
        Some(Command::Tagging {
            databases,
            rounds,
            seconds,
        }) => return tagging::run(&databases, rounds, seconds),
        Some(Command::Buffer {
            databases,
            rounds,
            seconds,
        }) => return buffer::run(&databases, rounds, seconds),
        Some(Command::Isolation {
            databases,
            transactions,
        }) => return isolation::run(&databases, transactions),
        Some(Command::Stress {
            databases,
            transactions,
        }) => return stress::stress_each(&databases, transactions),
        Some(Command::Registry { databases, size }) => return registry::run(&databases, size),
        Some(Command::Indexes {
            databases,
            rounds,
            seconds,
        }) => return indexes::run(&databases, rounds, seconds),
        #[cfg(feature = "mysql")]
        Some(Command::Nodes { urls }) => return nodes::run(&urls),
        Some(Command::Many {
            databases,
            rounds,
            round_trip,
        }) => return many::run(&databases, rounds, round_trip),
        #[cfg(feature = "sqlite")]
        Some(Command::Client { operation }) => return client::run(&operation),
        None => {
            let plan = Plan::all(cli.quick, cli.rounds, cli.seconds);
            (cli.databases, plan, Some(cli.out))
        }
    };
    let report = measure_each(&databases, plan, out.as_deref())?;
    print!("{}", markdown::report(&report));
    if let Some(folder) = out {
        eprintln!("written to {}", folder.display());
    }
    ensure!(
        report.failed.is_empty(),
        "failed: {}",
        report.failed.join(", ")
    );
    Ok(())
}
