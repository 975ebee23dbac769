//! The directory of the migrations, and writing a new migration into it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use chrono::{NaiveDateTime, TimeDelta, Utc};

use super::Written;
use crate::triggers::{Migrations, NAME, migrations_directory, version};

pub struct Directory {
    pub path: PathBuf,
}

/// How diesel_cli starts a migration's name, and how it writes the version.
const STAMP: &str = "%Y-%m-%d-%H%M%S";
const VERSION: &str = "%Y%m%d%H%M%S";

impl Directory {
    /// Returns the given directory, or the one that diesel_cli would use for this `counters.toml`.
    pub fn find(given: Option<&Path>, counters: &Path) -> Result<Self> {
        let path = match given {
            Some(path) => Some(path.to_owned()),
            None => migrations_directory(counters)?,
        };
        let Some(path) = path else {
            bail!(
                "there is no directory of migrations beside {} or above it: run `diesel setup`, or \
                 name one with --migrations",
                counters.display()
            )
        };
        Ok(Directory { path })
    }

    /// Reads the migrations in it.
    pub fn migrations(&self) -> Result<Migrations> {
        Migrations::read(&self.path)
    }

    /// Writes a migration that comes after the existing ones.
    pub fn write(&self, name: &str, written: &Written) -> Result<PathBuf> {
        let mut stamp = Utc::now().naive_utc();
        // You can write several migrations in one second, and somebody else's clock may be ahead.
        if let Some(last) = self.last()? {
            stamp = stamp.max(last + TimeDelta::seconds(1));
        }
        let path = self.path.join(format!("{}_{name}", stamp.format(STAMP)));
        let Written { up, down, counters } = written;
        let cannot = || format!("cannot write {}", path.display());
        fs::create_dir(&path).with_context(cannot)?;
        for (file, text) in [("up.sql", up), ("down.sql", down), (NAME, counters)] {
            fs::write(path.join(file), text).with_context(cannot)?;
        }
        Ok(path)
    }

    /// Returns the time of the last migration.
    fn last(&self) -> Result<Option<NaiveDateTime>> {
        let cannot = || format!("cannot read {}", self.path.display());
        let mut last = None;
        for entry in fs::read_dir(&self.path).with_context(cannot)? {
            let name = entry.with_context(cannot)?.file_name();
            let version = version(&name.to_string_lossy());
            last = last.max(NaiveDateTime::parse_from_str(&version, VERSION).ok());
        }
        Ok(last)
    }
}

/// Refuses a name that a directory or diesel_cli would read as something else.
pub fn refuse_name(name: &str) -> Result<()> {
    let is_word = |c: char| c.is_alphanumeric() || "_-".contains(c);
    if !name.chars().all(is_word) {
        bail!("a migration cannot be named {name}: write letters, digits, _ and - only");
    }
    Ok(())
}
