//! Triggers of a `counters.toml`, as `diesel-counters generate triggers` writes them for the tables
//! that are there.

use std::path::Path;

use anyhow::Result;
use diesel_counters_cli::first_migration;

use crate::database::Database;

/// Creates the triggers of this file, whose path begins at the benchmark's folder.
pub fn create<C: Database>(conn: &mut C, url: &str, file: &str) -> Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    Ok(conn.batch_execute(&first_migration(url, &file)?)?)
}
