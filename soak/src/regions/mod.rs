//! Two PostgreSQL nodes that replicate to each other: each transaction of one is applied on the
//! other.

mod cuts;
mod effects;
mod nodes;
mod orders;
mod pair;

use anyhow::Result;
use clap::Args;
use diesel_counters::Slot;

use crate::fault::Fault;

/// Runs operations on two PostgreSQL nodes that replicate to each other, cuts their line and kills
/// them, or, with --orders, runs all pairs of operations in every order of their statements and of
/// the moments of the replication
#[derive(Debug, Args)]
pub struct Regions {
    /// The URLs of two servers, PostgreSQL 16 or later, with `wal_level = logical`
    ///
    /// On each, a database is created for the run, and removed if all was right.
    #[arg(num_args = 2, required = true)]
    pub urls: Vec<String>,
    /// Runs all orders, in place of random operations
    #[arg(long)]
    pub orders: bool,
    /// How long random operations are run
    #[arg(long, default_value_t = 20.0)]
    pub seconds: f64,
    /// How many threads write, half of them to each node
    #[arg(long, default_value_t = 8)]
    pub threads: usize,
    /// SQL to run on each connection
    #[arg(long, default_value = "SET deadlock_timeout = '100ms'")]
    pub session: String,
    /// How often the line is cut
    #[arg(long, default_value_t = 5)]
    pub cuts: u32,
    /// The command that starts each server, which is then killed
    #[arg(long)]
    pub server: Vec<String>,
    /// How often a server is killed
    #[arg(long, default_value_t = 2)]
    pub kills: u32,
    /// The orders of each pair and state that are run depth first; if there are more, as many at
    /// random
    #[arg(long, default_value_t = usize::MAX, hide_default_value = true)]
    pub limit: usize,
    /// The isolation level of operations in --orders
    #[arg(long, default_value = "READ COMMITTED")]
    pub level: String,
    /// Plants a fault, to see that it is found; in --orders, only `no-partitions`
    #[arg(long)]
    pub fault: Option<Fault>,
    /// Runs one order again, as --orders printed it: OPERATION:CONTEXT,… STATE SLOTS ORDER
    #[arg(long)]
    pub replay: Option<String>,
    /// The seed [default: random]
    #[arg(long)]
    pub seed: Option<u64>,
}

/// Runs all orders, or random operations while the line is cut. Returns the exit code.
pub fn run(args: &Regions) -> Result<u8> {
    // `--orders` has printed what `--replay` takes.
    if args.orders || args.replay.is_some() {
        orders::run(args)
    } else {
        cuts::run(args)
    }
}

impl Regions {
    /// The slots of a node.
    pub fn slot(&self, node: usize) -> Slot {
        if self.has_no_partitions() {
            return Slot::Connection;
        }
        Slot::Partition {
            index: node as u16,
            of: 2,
        }
    }

    pub fn has_no_partitions(&self) -> bool {
        self.fault == Some(Fault::NoPartitions)
    }
}
