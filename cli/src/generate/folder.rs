//! The folder of a new migration.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use chrono::Utc;
use clap::{Args, ValueEnum};

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
    /// Print the SQL, and write no file.
    #[arg(long, value_name = "SQL", num_args = 0..=1, default_missing_value = "up")]
    stdout: Option<Part>,
}

/// A file of a migration.
#[derive(Clone, Copy, ValueEnum)]
enum Part {
    Up,
    Down,
}

impl Folder {
    /// Writes a migration, and returns its folder; or prints its SQL, and returns `None`.
    pub fn write(&self, name: &str, [up, down]: [&str; 2]) -> Result<Option<PathBuf>> {
        let Some(part) = self.stdout else {
            let files = [("up.sql", up), ("down.sql", down)];
            return Ok(Some(self.write_files(name, files)?));
        };
        match part {
            Part::Up => print!("{up}"),
            Part::Down => print!("{down}"),
        }
        Ok(None)
    }

    /// The folder is named as diesel_cli 2.3 names it: a time in UTC, and a number for the migrations of one
    /// second.
    fn write_files(&self, name: &str, files: [(&str, &str); 2]) -> Result<PathBuf> {
        let is_plain = |c: char| c.is_alphanumeric() || "_-".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            bail!("a migration's name has letters, digits, _ and - only, and {name:?} has others");
        }
        let migrations = &self.migration_dir;
        let cannot = || format!("cannot create a migration in {}", migrations.display());
        fs::create_dir_all(migrations).with_context(cannot)?;
        let mut present = Vec::new();
        for entry in fs::read_dir(migrations).with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            present.push(entry.file_name().to_string_lossy().into_owned());
        }
        let second = Utc::now().format("%Y-%m-%d-%H%M%S").to_string();
        let version = (0..=u16::MAX)
            .map(|number| format!("{second}-{number:04x}"))
            .find(|version| !present.iter().any(|folder| folder.starts_with(version)));
        let folder = migrations.join(format!("{}_{name}", version.with_context(cannot)?));
        fs::create_dir(&folder).with_context(cannot)?;
        for (file, sql) in files {
            fs::write(folder.join(file), sql).with_context(cannot)?;
        }
        Ok(folder)
    }
}
