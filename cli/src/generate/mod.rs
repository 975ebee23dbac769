//! `generate`: Diesel migrations.

mod create_table;
mod folder;
mod migration;
mod refuse;
mod trigger;

pub use create_table::Entity;
pub use trigger::Trigger;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::options::Options;

/// Write the migration of a counter table, or of triggers that count rows.
#[derive(Args)]
pub struct Generate {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Migration(migration::Migration),
    Trigger(Trigger),
}

pub fn run(args: Generate, options: &Options) -> Result<()> {
    match args.what {
        What::Migration(args) => migration::run(args, options),
        What::Trigger(args) => trigger::run(args, options),
    }
}
