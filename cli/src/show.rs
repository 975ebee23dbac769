//! `show`: the triggers of the database as `counters.toml`.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::options::Options;
use crate::triggers::{InFile, definitions, written};

/// Print what triggers count, as a counters.toml.
///
/// It reads the definitions that the database keeps, and changes nothing. On PostgreSQL these are
/// of the schemas of the search_path, and those that name a schema.
#[derive(Args)]
#[command(after_help = "Example:
  diesel-counters show > counters.toml")]
pub struct Show {}

pub fn run(_: Show, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let stored = definitions(conn)?.into_iter();
    let triggers: Vec<InFile> = stored.map(|one| one.definition.into()).collect();
    let toml = written(&triggers)?;
    options.print(&json!({ "trigger": triggers }), || toml)
}
