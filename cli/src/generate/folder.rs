//! The folder of a new migration.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use chrono::Utc;
use clap::Args;
use serde::Serialize;

#[derive(Args)]
pub struct Folder {
    /// The folder of all migrations.
    #[arg(
        long,
        env = "MIGRATION_DIRECTORY",
        default_value = "migrations",
        value_name = "FOLDER"
    )]
    migration_dir: PathBuf,
    /// The folder of this migration, which a loader with names of its own finds. It gets up.sql and
    /// down.sql.
    #[arg(long, value_name = "FOLDER", conflicts_with = "migration_dir")]
    into: Option<PathBuf>,
}

#[derive(Serialize)]
pub struct Written {
    pub migration: PathBuf,
    pub up: PathBuf,
    pub down: PathBuf,
    /// What to do next.
    #[serde(skip)]
    pub next: &'static str,
}

impl Folder {
    /// Writes a migration.
    pub fn write(&self, name: &str, up_sql: &str, down_sql: &str) -> Result<Written> {
        let is_plain = |c: char| c.is_alphanumeric() || "_-".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            bail!("a migration's name has letters, digits, _ and - only, and {name:?} has others");
        }
        let migration = match &self.into {
            None => new_folder(&self.migration_dir, name)?,
            Some(folder) => {
                let cannot = || format!("cannot create {}", folder.display());
                fs::create_dir_all(folder).with_context(cannot)?;
                folder.clone()
            }
        };
        let (up, down) = (migration.join("up.sql"), migration.join("down.sql"));
        if let Some(there) = [&up, &down].into_iter().find(|file| file.exists()) {
            bail!("there is {} already: give another folder", there.display());
        }
        for (file, sql) in [(&up, up_sql), (&down, down_sql)] {
            fs::write(file, sql).with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(Written {
            migration,
            up,
            down,
            next: match self.into {
                None => "diesel migration run",
                Some(_) => "run this migration with the others of its folder",
            },
        })
    }
}

/// Creates the folder of a migration, named as diesel_cli 2.3 names it: a time in UTC, and
/// a number for the migrations of one second.
fn new_folder(migrations: &Path, name: &str) -> Result<PathBuf> {
    let cannot = || format!("cannot create a migration in {}", migrations.display());
    fs::create_dir_all(migrations).with_context(cannot)?;
    let present = fs::read_dir(migrations).and_then(|entries| {
        let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect::<std::io::Result<Vec<_>>>()
    });
    let present = present.with_context(cannot)?;
    let same_name = |folder: &&String| folder.split_once('_').is_some_and(|(_, of)| of == name);
    if let Some(folder) = present.iter().find(same_name) {
        bail!(
            "there is {} already: give this migration another name, or remove that one",
            migrations.join(folder).display()
        );
    }
    let second = Utc::now().format("%Y-%m-%d-%H%M%S").to_string();
    let version = (0..=u16::MAX)
        .map(|number| format!("{second}-{number:04x}"))
        .find(|version| !present.iter().any(|folder| folder.starts_with(version)))
        .with_context(cannot)?;
    let folder = migrations.join(format!("{version}_{name}"));
    fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}
