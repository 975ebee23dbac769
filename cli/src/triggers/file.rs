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

    /// Does the same, but returns `None` if you give no path and there is no file.
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
        let triggers = Self::parse(&text).map_err(|why| wrong(&path, &why))?;
        Ok(Some(File { path, triggers }))
    }

    /// Parses the text of a file, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Vec<Definition>, String> {
        let Parsed { trigger } = toml::from_str(text).map_err(|error| error.to_string())?;
        refuse(&trigger)?;
        Ok(trigger)
    }
}

/// Refuses definitions that are wrong by themselves or together.
pub fn refuse(triggers: &[Definition]) -> Result<(), String> {
    for (index, one) in triggers.iter().enumerate() {
        let name = &one.name;
        if one.counts.is_empty() {
            return Err(format!("{name} has no counters: name them in count"));
        }
        if triggers[..index].iter().any(|other| other.name == *name) {
            return Err(format!("two [[trigger]] have the name {name}"));
        }
    }
    Ok(())
}

/// Finds the nearest file, as diesel_cli finds `diesel.toml`.
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
    for above in counters.ancestors().skip(1) {
        let settings = above.join("diesel.toml");
        if settings.is_file() {
            let shown = settings.display();
            let text =
                fs::read_to_string(&settings).with_context(|| format!("cannot read {shown}"))?;
            let parsed: DieselToml = toml::from_str(&text).with_context(|| format!("{shown}"))?;
            if let Some(directory) = parsed.migrations_directory {
                return Ok(Some(above.join(directory.dir)));
            }
        }
        let path = above.join("migrations");
        if path.is_dir() {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// A wrong file is wrong usage, like a wrong option.
pub fn wrong(path: &Path, why: &str) -> clap::Error {
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
