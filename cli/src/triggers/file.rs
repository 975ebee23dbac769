//! `counters.toml`: what triggers count, as people write it. It's next to `diesel.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use serde::Deserialize;

use super::definition::Definition;

/// The name of the file, and of its copy next to every migration.
pub const NAME: &str = "counters.toml";

/// The definitions in a file.
pub struct File {
    pub path: PathBuf,
    pub triggers: Vec<Definition>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parsed {
    #[serde(default)]
    trigger: Vec<Definition>,
}

impl File {
    /// Reads the file at this path, or the nearest one. Fails if there is none.
    pub fn read(path: Option<&Path>) -> Result<Self> {
        let file = Self::find(path)?;
        file.context(
            "there is no counters.toml here or in a directory above. Write one, which says what \
             triggers count: see `diesel-counters generate triggers --help`",
        )
    }

    /// Reads the file at this path, or the nearest one. Returns `None` if you give no path and
    /// there is no file.
    pub fn find(path: Option<&Path>) -> Result<Option<Self>> {
        let found = match path {
            Some(path) => Some(path.to_owned()),
            None => nearest()?,
        };
        let Some(path) = found else {
            return Ok(None);
        };
        let shown = path.display();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
        let triggers = Self::parse(&text).map_err(|why| usage_error(&path, &why))?;
        Ok(Some(File { path, triggers }))
    }

    /// Parses the text of a file, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Vec<Definition>, String> {
        let Parsed { trigger } = toml::from_str(text).map_err(|error| error.to_string())?;
        refuse(&trigger)?;
        Ok(trigger)
    }
}

/// Refuses a definition that has no counters, or the name of another one.
pub fn refuse(triggers: &[Definition]) -> Result<(), String> {
    for (index, Definition { name, counts, .. }) in triggers.iter().enumerate() {
        if counts.is_empty() {
            return Err(format!("{name} has no counters: name them in count"));
        }
        let mut triggers_before = triggers[..index].iter();
        if triggers_before.any(|other| other.name == *name) {
            return Err(format!("two [[trigger]] have the name {name}"));
        }
    }
    Ok(())
}

/// Returns the path of the `counters.toml` in this directory, or else in the nearest one above it
/// that has one. diesel_cli finds `diesel.toml` in the same way.
fn nearest() -> Result<Option<PathBuf>> {
    let here = std::env::current_dir().context("cannot tell which directory this is")?;
    let mut files = here.ancestors().map(|directory| directory.join(NAME));
    Ok(files.find(|file| file.is_file()))
}

/// The parts of `diesel.toml` that this command reads.
#[derive(Default, Deserialize)]
struct DieselToml {
    migrations_directory: Option<MigrationsDirectory>,
}

#[derive(Deserialize)]
struct MigrationsDirectory {
    dir: PathBuf,
}

/// Returns the directory that diesel_cli would use for migrations next to this `counters.toml`: the
/// one that `diesel.toml` names, or `migrations` in the same directory or above.
pub fn migrations_directory(counters: &Path) -> Result<Option<PathBuf>> {
    let counters = std::path::absolute(counters)
        .with_context(|| format!("cannot tell where {} is", counters.display()))?;
    // The first of its ancestors is the file itself.
    for directory in counters.ancestors().skip(1) {
        if let Some(named) = named_directory(directory)? {
            return Ok(Some(named));
        }
        let usual = directory.join("migrations");
        if usual.is_dir() {
            return Ok(Some(usual));
        }
    }
    Ok(None)
}

/// Returns the directory for migrations that a `diesel.toml` in this directory names, if it does.
fn named_directory(directory: &Path) -> Result<Option<PathBuf>> {
    let path = directory.join("diesel.toml");
    if !path.is_file() {
        return Ok(None);
    }
    let shown = path.display();
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
    let parsed: DieselToml = toml::from_str(&text).with_context(|| format!("{shown}"))?;
    let named = parsed.migrations_directory;
    Ok(named.map(|named| directory.join(named.dir)))
}

/// Returns an error about this file. It counts as wrong usage, like a wrong option.
pub fn usage_error(path: &Path, why: &str) -> clap::Error {
    let message = format!("{}: {}\n", path.display(), why.trim_end());
    clap::Error::raw(ErrorKind::InvalidValue, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "[[trigger]]\nname = 'a'\nrows = 'b'\ncount = ['c:d.e']\n";

    #[test]
    fn what_is_wrong_has_its_line() {
        for (line, why) in [
            ("whem = 'x'", "unknown field `whem`"),
            ("slots = 'x'", "invalid type: string \"x\", expected u16"),
            ("slots = 0", "there are 1 to 32767 slots"),
            ("slots = 40000", "there are 1 to 32767 slots"),
            (
                "when = true",
                "invalid type: boolean `true`, expected a string",
            ),
            ("day = ' '", "it is empty"),
            ("deleted = 'k'", "unknown variant `k`"),
            ("day = 'x", "literal string"),
        ] {
            let error = File::parse(&format!("{HEAD}{line}\n")).unwrap_err();
            let is_named = error.contains("line 5") && error.contains(line);
            assert!(is_named && error.contains(why), "{error}");
        }
        let counts = "[[trigger]]\nname = 'a'\nrows = 'b'\ncount = [\n    'c:d.e',\n    'c:d',\n]";
        let error = File::parse(counts).unwrap_err();
        assert!(
            error.contains("line 6") && error.contains("write COLUMN:TABLE"),
            "{error}"
        );
    }

    #[test]
    fn a_file_names_triggers_once_and_counters() {
        assert!(
            File::parse(&format!("{HEAD}\n{HEAD}"))
                .unwrap_err()
                .contains("two [[trigger]]")
        );
        let none = HEAD.replace("'c:d.e'", "");
        assert!(File::parse(&none).unwrap_err().contains("has no counters"));
        assert!(
            File::parse("[[triggers]]")
                .unwrap_err()
                .contains("unknown field")
        );
        assert!(File::parse("").unwrap().is_empty());
    }
}
