//! The results of a run, as JSON, as tables, and as plots.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::machine::Machine;
use crate::measure::{Measured, Plan};

pub mod markdown;
mod plots;

#[derive(Serialize)]
pub struct Report {
    pub machine: Machine,
    pub plan: Plan,
    pub databases: Vec<Measured>,
    /// Databases without a server.
    pub skipped: Vec<&'static str>,
    /// Databases that failed while they were measured.
    pub failed: Vec<&'static str>,
}

impl Report {
    pub fn write(&self, folder: &Path) -> Result<()> {
        let write = || {
            fs::create_dir_all(folder)?;
            fs::write(
                folder.join("results.json"),
                serde_json::to_string_pretty(self)?,
            )?;
            fs::write(folder.join("results.md"), markdown::report(self))?;
            plots::draw(self, folder)
        };
        write().with_context(|| format!("cannot write to {}", folder.display()))
    }
}
