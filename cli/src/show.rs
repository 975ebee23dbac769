//! `show`: the triggers of the database as `counters.toml`.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use serde_json::json;

use crate::options::Options;
use crate::output::printable;
use crate::triggers::{InFile, Stored, definitions, search_path, written};

/// Print what triggers count, as a counters.toml.
///
/// It reads the definitions that the database keeps, and changes nothing. Those that belong to
/// another role or account are left out, and on PostgreSQL those of schemas that are not in the
/// search_path, unless their definition names the schema.
#[derive(Args)]
#[command(after_help = "Example:
  diesel-counters show > counters.toml")]
pub struct Show {}

/// A definition that the file does not have.
#[derive(Serialize)]
struct LeftOut {
    name: String,
    owner: String,
    /// Empty if it is that of the connection.
    #[serde(skip_serializing_if = "String::is_empty")]
    schema: String,
    /// The comment in the file.
    #[serde(skip)]
    comment: String,
}

pub fn run(_: Show, options: &Options) -> Result<()> {
    let conn = &mut options.connect()?;
    let schemas = search_path(conn)?;
    let mut triggers: Vec<InFile> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut left_out: Vec<LeftOut> = Vec::new();
    for stored in definitions(conn)? {
        if let Some(comment) = why_left_out(&stored, &schemas, &names) {
            left_out.push(LeftOut {
                name: stored.definition.name,
                owner: stored.owner,
                schema: stored.schema,
                comment,
            });
        } else {
            names.push(stored.definition.name.clone());
            triggers.push(stored.definition.into());
        }
    }
    let toml = written(&triggers)?;
    let report = json!({ "trigger": triggers, "left_out": left_out });
    options.print(&report, || {
        let mut text = String::new();
        for one in &left_out {
            text += &format!("# {}\n", printable(&one.comment));
        }
        text + &toml
    })
}

/// Why a file does not have a definition, if so. `names` are those that it has already.
fn why_left_out(stored: &Stored, schemas: &[String], names: &[String]) -> Option<String> {
    let name = &stored.definition.name;
    let owner = &stored.owner;
    let schema = &stored.schema;
    if !stored.is_own {
        return Some(format!(
            "The triggers {name} belong to {owner}: they are left out."
        ));
    }
    if !stored.is_of(schemas) {
        return Some(format!(
            "The triggers {name} of the schema {schema} are left out: it is not in the search_path."
        ));
    }
    names.contains(name).then(|| {
        format!(
            "The triggers {name} of the schema {schema} are left out: a file has each name once. \
             Set the search_path to one of the schemas."
        )
    })
}
