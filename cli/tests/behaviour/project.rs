//! The project of a test: its `counters.toml`, the migrations that `generate triggers` writes, and its
//! database.

use std::fs;
use std::path::PathBuf;

use diesel_migrations::{FileBasedMigrations, MigrationHarness};
use tempfile::{TempDir, tempdir};

use super::Ran;
use super::triggers::open;
use crate::TestDatabase;

/// The folder of a project without migrations.
pub fn folder() -> TempDir {
    let folder = tempdir().unwrap();
    fs::create_dir(folder.path().join("migrations")).unwrap();
    folder
}

/// A `[[trigger]]` with these keys besides.
pub fn trigger(name: &str, rows: &str, keys: &str) -> String {
    format!("[[trigger]]\nname = \"{name}\"\nrows = \"{rows}\"\n{keys}\n")
}

/// A key whose value is a text, such as an expression with quotes.
pub fn key(key: &str, value: &str) -> String {
    // The escapes of TOML are those of JSON.
    format!("{key} = {}\n", serde_json::to_string(value).unwrap())
}

impl TestDatabase {
    fn counters_toml(&self) -> PathBuf {
        self.project().join("counters.toml")
    }

    /// What `counters.toml` says, or nothing if there is none.
    pub fn defined(&self) -> String {
        fs::read_to_string(self.counters_toml()).unwrap_or_default()
    }

    /// Writes `counters.toml`.
    pub fn define(&self, toml: &str) {
        fs::write(self.counters_toml(), toml).unwrap();
    }

    /// Writes `counters.toml`, and the migration to what it says.
    pub fn generate(&self, toml: &str) -> Ran {
        self.define(toml);
        self.command("generate triggers step")
    }

    /// The same, of which the migration is printed as JSON and not written.
    pub fn printed(&self, toml: &str) -> Ran {
        self.define(toml);
        self.command("generate triggers --json")
    }

    pub fn migrations(&self) -> FileBasedMigrations {
        FileBasedMigrations::from_path(self.project().join("migrations")).unwrap()
    }

    /// The directories of the migrations, in their order.
    pub fn migration_directories(&self) -> Vec<PathBuf> {
        let all = fs::read_dir(self.project().join("migrations")).unwrap();
        let mut paths: Vec<_> = all.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    /// A file of the last migration, such as `up.sql`.
    pub fn last_migration(&self, file: &str) -> String {
        let path = self.migration_directories().pop().unwrap();
        fs::read_to_string(path.join(file)).unwrap()
    }

    /// Runs the migrations that have not run yet, as `diesel migration run` does.
    #[track_caller]
    pub fn migrate(&self) {
        let conn = &mut open(self);
        conn.run_pending_migrations(self.migrations()).unwrap();
    }

    /// Takes the last migration back, as `diesel migration revert` does.
    #[track_caller]
    pub fn revert(&self) {
        let conn = &mut open(self);
        conn.revert_last_migration(self.migrations()).unwrap();
    }

    /// Has the database count what these definitions say, and nothing else. Returns what the command
    /// said.
    #[track_caller]
    pub fn count(&self, toml: &str) -> Ran {
        let generated = self.generate(toml);
        generated.works();
        self.migrate();
        generated
    }
}
