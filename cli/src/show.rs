//! `show`: the triggers of the database as `counters.toml`.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::options::Options;
use crate::output::printable;
use crate::triggers::{InFile, Stored, definitions, written};

/// Print what triggers count, as a counters.toml.
///
/// It reads the definitions that the database keeps, and changes nothing. Those that belong to
/// another role or account are left out.
#[derive(Args)]
#[command(after_help = "Example:
  diesel-counters show > counters.toml")]
pub struct Show {}

pub fn run(_: Show, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let (own, of_others): (Vec<Stored>, Vec<Stored>) = definitions(conn)?
        .into_iter()
        .partition(|stored| stored.is_own);
    let triggers: Vec<InFile> = own
        .into_iter()
        .map(|stored| stored.definition.into())
        .collect();
    let toml = written(&triggers)?;
    let left_out: Vec<_> = of_others
        .iter()
        .map(|stored| json!({ "name": stored.definition.name, "owner": stored.owner }))
        .collect();
    let report = json!({ "trigger": triggers, "left_out": left_out });
    options.print(&report, || {
        let mut text = String::new();
        for stored in &of_others {
            let name = &stored.definition.name;
            let owner = &stored.owner;
            let comment = format!("# The triggers {name} belong to {owner}: they are left out.");
            text += &(printable(&comment) + "\n");
        }
        text + &toml
    })
}
