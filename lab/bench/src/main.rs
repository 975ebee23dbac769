//! What counting with this crate costs, beside the other ways to count, on each database.

#[cfg(feature = "sqlite")]
mod buffer;
#[cfg(all(feature = "sqlite", feature = "postgres"))]
mod client;
mod compare;
mod count;
mod create;
mod database;
mod forum;
mod merge;
mod read;
mod registry;
mod schema;
mod server;
mod table;
mod tally;
mod triggers;
#[cfg(feature = "mysql")]
mod vitess;
mod way;
mod workload;

use anyhow::Result;
use clap::Parser;

use crate::database::Engine;

/// Measures what counting with diesel_counters costs, beside the other ways to count.
///
/// Each database in turn gets a throwaway server, from `scripts/test --serve`, or is the one that
/// POSTGRES_URL, MARIADB_URL or MYSQL_URL names. Tables whose names begin with `bench_` are
/// replaced, and dropped. The figures require an idle machine.
#[derive(Parser)]
enum Command {
    /// The ways to count, under each workload: about 40 minutes.
    Count(count::Count),
    /// Reads of a total, as multiples of reads of one row.
    Read(Plan),
    /// A merge of old rows, and what writers notice of it.
    Merge {
        /// The databases to measure [default: all that are available].
        databases: Vec<Engine>,
        /// Merge up to this many rows in a transaction.
        #[arg(long, value_name = "N", default_value_t = 100)]
        batch: usize,
    },
    /// A forum that counts with triggers: votes, comments and posts.
    Forum(Plan),
    /// Counting in memory, beside a map of atomic counters that all threads share.
    #[cfg(feature = "sqlite")]
    Buffer(Plan),
    /// What a statement costs in the client, beside the same statement written by hand in Diesel:
    /// in SQLite in memory, and on PostgreSQL if POSTGRES_URL is set.
    #[cfg(all(feature = "sqlite", feature = "postgres"))]
    Client(client::Client),
    /// Count in keyspaces of Vitess, in turns.
    #[cfg(feature = "mysql")]
    Vitess {
        /// The keyspaces, as mysql://…. Ratios are to one row in the first one.
        #[arg(required = true)]
        urls: Vec<String>,
    },
    /// The pages of a registry with a year of daily downloads, beside a table of daily rows that is
    /// written by hand, and a plain column.
    Registry(registry::Size),
}

#[derive(clap::Args)]
struct Plan {
    /// The databases to measure [default: all that are available].
    databases: Vec<Engine>,
    /// How often each is measured, in turns [default: as often as for the figures in the docs].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// How many seconds that takes each time [default: as long as for the figures in the docs].
    #[arg(long, value_name = "S")]
    seconds: Option<f64>,
}

impl Plan {
    fn rounds(&self, default: u16) -> u16 {
        self.rounds.unwrap_or(default)
    }

    fn seconds(&self, default: f64) -> f64 {
        self.seconds.unwrap_or(default)
    }
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Count(count) => count::run(&count),
        Command::Read(plan) => read::run(&plan),
        Command::Merge { databases, batch } => merge::run(&databases, batch),
        Command::Forum(plan) => forum::run(&plan),
        #[cfg(feature = "sqlite")]
        Command::Buffer(plan) => buffer::run(&plan.databases, plan.rounds(5), plan.seconds(2.0)),
        #[cfg(all(feature = "sqlite", feature = "postgres"))]
        Command::Client(client) => client::run(&client),
        #[cfg(feature = "mysql")]
        Command::Vitess { urls } => vitess::run(&urls),
        Command::Registry(size) => registry::run(size),
    }
}
