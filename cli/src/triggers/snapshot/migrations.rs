//! The migrations in a directory that have a snapshot.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{MadeTrigger, Snapshot};
use crate::triggers::file::{NAME, refuse, usage_error};

/// A migration with a snapshot.
#[derive(Clone)]
pub(super) struct SnapshotMigration {
    /// The name of its directory, such as `2026-11-28-161358_count_likes`.
    pub(super) name: String,
    pub(super) snapshot: Snapshot,
}

/// The migrations in a directory that have a snapshot, in order.
#[derive(Default)]
pub struct Migrations {
    pub(super) all: Vec<SnapshotMigration>,
}

/// Returns the version that diesel_migrations sorts a migration by: `20261128161358` for the
/// directory `2026-11-28-161358_count_likes`.
pub fn version(name: &str) -> String {
    let stamp = name.split('_').next().unwrap_or_default();
    stamp.replace('-', "")
}

impl Migrations {
    /// Reads the snapshots in a directory of migrations.
    pub fn read(directory: &Path) -> Result<Self> {
        let mut all = Vec::new();
        let cannot = || format!("cannot read {}", directory.display());
        for entry in fs::read_dir(directory).with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            let path = entry.path().join(NAME);
            let name = entry.file_name().to_string_lossy().into_owned();
            // diesel_migrations also skips directories that begin with a dot.
            if name.starts_with('.') || !path.is_file() {
                continue;
            }
            let snapshot = read_snapshot(path)?;
            all.push(SnapshotMigration { name, snapshot });
        }
        all.sort_by_key(|migration| (version(&migration.name), migration.name.clone()));
        Ok(Migrations { all })
    }

    /// Returns all triggers that a migration has ever made, with their definition's name.
    pub fn made_triggers(&self) -> impl Iterator<Item = (&str, &MadeTrigger)> {
        let snapshots = self.all.iter().map(|migration| &migration.snapshot);
        let by_definition = snapshots.flat_map(|snapshot| &snapshot.made);
        by_definition
            .flat_map(|(definition, made)| made.iter().map(move |trigger| (&**definition, trigger)))
    }
}

/// Reads the snapshot in this file.
fn read_snapshot(path: PathBuf) -> Result<Snapshot> {
    let shown = path.display();
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
    let parsed: Result<Snapshot, _> = toml::from_str(&text);
    let snapshot = parsed.map_err(|error| usage_error(&path, &error.to_string()))?;
    refuse(&snapshot.triggers).map_err(|why| usage_error(&path, &why))?;
    Ok(snapshot)
}
