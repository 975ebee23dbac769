//! `generate`: writes the SQL of migrations.

mod binary_log;
mod directory;
mod migration;
mod names;
mod refuse;
mod triggers;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::options::Options;
use crate::output::steers;

pub use triggers::first_migration;

/// Print a migration for a counter table, or write one for the triggers that count rows.
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
#[derive(Default, Serialize)]
struct Written {
    up: String,
    down: String,
    /// The triggers after this migration. Empty for the migration of a table.
    #[serde(skip_serializing_if = "String::is_empty")]
    counters: String,
}

/// Prints the migration, unless `generate triggers` has written it.
pub fn run(args: Generate, options: &Options) -> Result<()> {
    let written = match args.what {
        What::Migration(of_table) => Some(migration::up_and_down(of_table)?),
        What::Triggers(of_file) => triggers::run(of_file, args.down, options)?,
    };
    let Some(written) = written else {
        return Ok(());
    };
    let part = if args.down {
        &written.down
    } else {
        &written.up
    };
    if !options.json {
        refuse_steering(part)?;
    }
    options.print(&written, || part.clone())
}

/// Refuses SQL that a terminal would show as something else: people read it before they run it.
/// Unlike other texts, SQL can't be escaped.
fn refuse_steering(sql: &str) -> Result<()> {
    if let Some(steers) = sql.chars().find(|c| steers(*c) && *c != '\n') {
        let code = format!("U+{:04X}", u32::from(steers));
        bail!(
            "a name in the migration has the character {code}, which makes its SQL look like \
             something else: rename it. --json prints the SQL as it is"
        );
    }
    Ok(())
}
