//! `counters.toml`: what triggers count, as people write it. It stands beside `diesel.toml`.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::definition::{
    Count, Definition, Deleted, Existing, is_default, none_replaced, one, slots,
};
use super::stored::Stored;
use crate::catalogue::{CounterTable, table};
use crate::connection::AnyConnection;
use crate::database::Joined;
use crate::options;
use crate::output::steers;
use diesel_counters::Period;

const NAME: &str = "counters.toml";

/// The definitions of a file, which is read and not yet compared with tables.
pub struct File {
    pub path: PathBuf,
    triggers: Vec<InFile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parsed {
    #[serde(default)]
    trigger: Vec<InFile>,
}

/// A `[[trigger]]`, with its keys in the order in which they are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InFile {
    // The docs of the keys are those of `Definition`. What has its default is not written.
    #[serde(deserialize_with = "text")]
    name: String,
    #[serde(deserialize_with = "text")]
    rows: String,
    #[serde(rename = "count")]
    counts: Vec<Count>,
    #[serde(
        default = "one",
        skip_serializing_if = "is_one",
        deserialize_with = "text"
    )]
    by: String,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_text"
    )]
    when: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_text"
    )]
    only: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_text"
    )]
    day: Option<String>,
    #[serde(
        default = "slots",
        skip_serializing_if = "is_usual",
        deserialize_with = "number_of_slots"
    )]
    slots: u16,
    #[serde(default, skip_serializing_if = "is_default")]
    deleted: Deleted,
    /// An earlier version had it here. A key that is not known would have a worse error.
    #[serde(default, skip_serializing, rename = "period")]
    _period: NoPeriod,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct NoPeriod;

impl<'de> Deserialize<'de> for NoPeriod {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "the period stands in the comment of the day of the counter table, as `generate \
             migration` writes it and `check` prints it: remove it here",
        ))
    }
}

/// An empty text names nothing.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    options::name(&text).map_err(D::Error::custom)
}

fn some_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    text(deserializer).map(Some)
}

fn number_of_slots<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let number = u16::deserialize(deserializer)?;
    match i16::try_from(number) {
        Ok(1..) => Ok(number),
        _ => Err(D::Error::custom("there are 1 to 32767 slots")),
    }
}

fn is_one(by: &str) -> bool {
    by == one()
}

fn is_usual(number: &u16) -> bool {
    *number == slots()
}

impl File {
    /// Reads the file at this path, or the nearest one. It is an error if there is none.
    pub fn read(path: Option<&Path>) -> Result<Self> {
        let file = Self::find(path)?;
        file.context(
            "there is no counters.toml here or in a directory above. Write one, which says what \
             triggers count, or print what the database has: `diesel-counters show > \
             counters.toml`",
        )
    }

    /// The same, or `None` if no path is given and there is none.
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

    /// The definitions in the text of a file, or what is wrong with it.
    pub fn parse(text: &str) -> Result<Vec<InFile>, String> {
        let Parsed { trigger } = toml::from_str(text).map_err(|error| error.to_string())?;
        for (place, one) in trigger.iter().enumerate() {
            if one.counts.is_empty() {
                return Err(format!(
                    "{} counts in no counter: name them in count",
                    one.name
                ));
            }
            if trigger[..place].iter().any(|other| other.name == one.name) {
                return Err(format!("two [[trigger]] have the name {}", one.name));
            }
        }
        Ok(trigger)
    }

    /// The definitions, for these tables. `stored` are those that the database has.
    pub fn definitions(
        &self,
        stored: &[Stored],
        conn: &mut AnyConnection,
    ) -> Result<Vec<Definition>> {
        let of_file = self.triggers.iter();
        let definitions = of_file.map(|one| one.definition(stored, conn));
        definitions.collect()
    }
}

/// As diesel_cli looks for `diesel.toml`.
fn nearest() -> Result<Option<PathBuf>> {
    let here = std::env::current_dir().context("cannot tell which directory this is")?;
    let mut files = here.ancestors().map(|directory| directory.join(NAME));
    Ok(files.find(|file| file.is_file()))
}

/// It is wrong usage, as a wrong option is.
fn wrong(path: &Path, why: &str) -> clap::Error {
    let message = format!("{}: {}\n", path.display(), why.trim_end());
    clap::Error::raw(ErrorKind::InvalidValue, message)
}

impl InFile {
    fn definition(&self, stored: &[Stored], conn: &mut AnyConnection) -> Result<Definition> {
        let period = self.period(stored, conn)?;
        Ok(Definition {
            period,
            ..self.clone().into()
        })
    }

    /// That of the counter table, as the database says, or of the triggers that it has.
    fn period(&self, stored: &[Stored], conn: &mut AnyConnection) -> Result<Period> {
        for count in &self.counts {
            // What is no table is an error of its own.
            let Ok(table) = table(conn, &count.table) else {
                continue;
            };
            let counters = CounterTable::try_from(table).ok();
            if let Some(mark) = counters.and_then(|counters| counters.mark()) {
                return Ok(mark.period);
            }
        }
        let is_same = |stored: &&Stored| stored.definition.name == self.name;
        let same = stored.iter().find(is_same);
        Ok(same.map_or(Period::default(), |stored| stored.definition.period))
    }
}

impl From<InFile> for Definition {
    fn from(one: InFile) -> Self {
        Definition {
            name: one.name,
            rows: one.rows,
            counts: one.counts,
            by: one.by,
            when: one.when,
            only: one.only,
            day: one.day,
            period: Period::default(),
            slots: one.slots,
            deleted: one.deleted,
            existing: Existing::default(),
            migration: 0,
            replaced: none_replaced(),
        }
    }
}

impl From<Definition> for InFile {
    fn from(definition: Definition) -> Self {
        InFile {
            name: definition.name,
            rows: definition.rows,
            counts: definition.counts,
            by: definition.by,
            when: definition.when,
            only: definition.only,
            day: definition.day,
            slots: definition.slots,
            deleted: definition.deleted,
            _period: NoPeriod,
        }
    }
}

/// The file of these definitions.
pub fn written(triggers: &[InFile]) -> Result<String> {
    let tables = triggers.iter().map(InFile::toml);
    Ok(tables.collect::<Result<Vec<_>>>()?.join("\n"))
}

impl InFile {
    fn toml(&self) -> Result<String> {
        let mut toml = "[[trigger]]\n".to_owned();
        // JSON has the same keys, in the same order.
        let keys = serde_json::to_value(self)?;
        for (key, value) in keys.as_object().into_iter().flatten() {
            let value = match value {
                serde_json::Value::String(text) => quoted(text),
                serde_json::Value::Array(texts) => {
                    let strings = texts.iter().filter_map(|text| text.as_str());
                    list(&strings.map(quoted).collect::<Vec<_>>())
                }
                number => number.to_string(),
            };
            writeln!(toml, "{key} = {value}")?;
        }
        Ok(toml)
    }
}

/// The widest list in one line.
const WIDTH: usize = 90;

/// An array of TOML, in one line if there is room.
fn list(texts: &[String]) -> String {
    let line = format!("[{}]", texts.join(", "));
    if texts.len() < 2 || line.chars().count() <= WIDTH {
        return line;
    }
    let lines = texts.iter().map(|text| format!("    {text},\n"));
    format!("[\n{}]", lines.joined(""))
}

/// A string of TOML, in which nothing steers a terminal.
fn quoted(text: &str) -> String {
    // In single quotes, nothing is escaped: SQL is easier to read there.
    if text.contains(['"', '\\']) && !text.contains('\'') && !text.contains(steers) {
        return format!("'{text}'");
    }
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        // They have no more than four digits.
        c if steers(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.joined(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 6] = [
        "a",
        "it's",
        "say \"a\"",
        "it's \"\\\"",
        "\u{202e}\t\u{7f}\n",
        "é🦀",
    ];

    #[test]
    fn what_is_written_is_read() {
        let texts = TEXTS.map(|text| InFile {
            name: text.to_owned(),
            rows: "likes".to_owned(),
            counts: vec![Count::try_from("a:b.c=d".to_owned()).unwrap(); text.len()],
            by: "stars * 2".to_owned(),
            when: Some(text.to_owned()),
            only: None,
            day: None,
            slots: 16,
            deleted: Deleted::Kept,
            _period: NoPeriod,
        });
        let toml = written(&texts).unwrap();
        assert!(!toml.contains(|c| steers(c) && c != '\n'), "{toml}");
        assert_eq!(File::parse(&toml).as_deref(), Ok(&texts[..]), "{toml}");
    }

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
            ("period = 'week'", "the period stands in the comment"),
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
        assert!(File::parse(&none).unwrap_err().contains("in no counter"));
        assert!(
            File::parse("[[triggers]]")
                .unwrap_err()
                .contains("unknown field")
        );
        assert!(File::parse("").unwrap().is_empty());
    }
}
