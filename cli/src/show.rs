//! `show`: the triggers of the database as `counters.toml`.

use anyhow::Result;
use clap::Args;
use serde_json::json;

use crate::database::Joined;
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
    let own = own
        .into_iter()
        .map(|stored| InFile::from(stored.definition));
    let own: Vec<_> = own.collect();
    let toml = written(&own)?;
    let left_out = of_others
        .iter()
        .map(|stored| json!({ "name": stored.definition.name, "owner": stored.owner }));
    let report = json!({ "trigger": own, "left_out": left_out.collect::<Vec<_>>() });
    options.print(&report, || {
        let left_out = of_others.iter().map(
            |Stored {
                 definition, owner, ..
             }| {
                let name = &definition.name;
                printable(&format!(
                    "# The triggers {name} belong to {owner}: they are left out."
                )) + "\n"
            },
        );
        left_out.joined("") + &toml
    })
}
