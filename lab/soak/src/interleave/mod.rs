//! Runs all orders of the statements of operations that run at the same time, on a real database,
//! and compares what they leave with what they leave one after another.

pub mod case;
pub mod gate;
pub mod operation;
pub mod outcome;
pub mod planted;
pub mod report;
pub mod schedule;
pub mod state;
pub mod trace;

use clap::Args;

use self::operation::Operation;
use self::planted::Planted;

/// Runs the statements of operations in all orders, and compares what they leave with what they
/// leave one after another
#[derive(Debug, Args)]
#[command(args_override_self = true)]
pub struct Interleave {
    /// The URL of a server, or the path of an SQLite file to create
    ///
    /// On a server, a database is created for the run, and removed at its end.
    pub url: String,
    /// The database's name in the output [default: the scheme of the URL]
    #[arg(long)]
    pub name: Option<String>,
    /// How many operations run at the same time
    #[arg(long, default_value_t = 2)]
    pub at_once: usize,
    /// Run only these operations, all at the same time, such as `set,delete` [default: all pairs]
    #[arg(long, value_delimiter = ',')]
    pub only: Vec<Operation>,
    /// The pairs that have one of these operations, such as `label,set-label` [default: all pairs]
    #[arg(long, value_delimiter = ',', conflicts_with = "only")]
    pub with: Vec<Operation>,
    /// The isolation levels whose name contains this [default: all]
    ///
    /// With `beside`, the two connections have different levels: `--level beside` runs every pair
    /// of levels, and `--level "READ COMMITTED beside SERIALIZABLE"` runs that pair.
    #[arg(long, default_value = "")]
    pub level: String,
    /// The orders of a case that are run depth first; if there are more, as many at random
    #[arg(long, default_value_t = 100)]
    pub limit: usize,
    /// Ends an isolation level after so many orders [default: all]
    #[arg(long, default_value_t = u64::MAX, hide_default_value = true)]
    pub per_level: u64,
    /// The seed of the orders that are run at random [default: random]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Plants a fault, to see that it is found
    #[arg(long)]
    pub fault: Option<Planted>,
    /// Runs one order again, as it was printed: OPERATION:CONTEXT,… STATE SLOTS ORDER
    #[arg(long)]
    pub replay: Option<String>,
}
