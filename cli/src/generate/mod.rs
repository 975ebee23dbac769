//! `generate`: the SQL of migrations.

mod binary_log;
mod migration;
mod names;
mod refuse;
mod triggers;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;

use crate::options::Options;
use crate::output::steers;

/// Print the migration of a counter table, or of the triggers that count rows.
///
/// Write it into the up.sql of a new migration, and what --down prints into its down.sql.
#[derive(Args)]
pub struct Generate {
    #[command(subcommand)]
    what: What,
    /// Print the statements that undo the migration.
    #[arg(long, global = true)]
    down: bool,
}

#[derive(Subcommand)]
enum What {
    Migration(migration::Migration),
    Triggers(triggers::Triggers),
}

/// The SQL of a migration.
#[derive(Default)]
struct Written {
    up: String,
    down: String,
}

pub fn run(args: Generate, options: &Options) -> Result<()> {
    let Written { up, down } = match args.what {
        What::Migration(of_table) => migration::up_and_down(of_table)?,
        What::Triggers(of_file) => triggers::up_and_down(of_file, args.down, options)?,
    };
    let part = if args.down { &down } else { &up };
    // It is read before it is run. What would be escaped in another text cannot be escaped in SQL.
    if let Some(steers) = part
        .chars()
        .find(|c| steers(*c) && *c != '\n')
        .filter(|_| !options.json)
    {
        let code = format!("U+{:04X}", u32::from(steers));
        bail!(
            "a name in the migration has the character {code}, with which its SQL reads as another \
             one: rename it. --json prints the SQL as it is"
        );
    }
    options.print(&json!({ "up": up, "down": down }), || part.clone())
}
