//! Writes the file that goes into a migration's directory.

use std::fmt::Write as _;

use anyhow::Result;

use super::Snapshot;
use crate::database::Joined;
use crate::output::steers;
use crate::triggers::definition::Definition;

const COMMENT: &str = "\
# The triggers after this migration. `diesel-counters generate triggers` begins from here: commit
# this file, and leave it as it is.
";

impl Snapshot {
    /// Returns the text of the file that goes into the migration's directory.
    pub fn toml(&self) -> Result<String> {
        let after: Vec<_> = self.after.iter().map(|name| toml_string(name)).collect();
        let after = toml_array(&after);
        let backend = toml_string(&self.backend);
        let mut toml = format!("{COMMENT}after = {after}\nbackend = {backend}\n");
        for definition in &self.triggers {
            write!(toml, "\n{}", definition.toml()?)?;
        }
        toml += "\n[made]\n";
        for definition in &self.triggers {
            toml += &self.made_toml(&definition.name);
        }
        Ok(toml)
    }

    /// Writes `likes = […]`, with a line for each of the definition's triggers.
    fn made_toml(&self, name: &str) -> String {
        let mut lines = String::new();
        for made in self.made_for(name) {
            let texts = [&made.trigger, &made.table, &made.hash].map(|text| toml_string(text));
            lines += &format!("    [{}],\n", texts.join(", "));
        }
        format!("{} = [\n{lines}]\n", toml_key(name))
    }
}

impl Definition {
    /// Writes the definition as `counters.toml` has it.
    fn toml(&self) -> Result<String> {
        let mut toml = "[[trigger]]\n".to_owned();
        // JSON has the same keys, in the same order.
        let keys = serde_json::to_value(self)?;
        for (key, value) in keys.as_object().into_iter().flatten() {
            let value = match value {
                serde_json::Value::String(text) => toml_string(text),
                serde_json::Value::Array(texts) => {
                    let strings = texts.iter().filter_map(|text| text.as_str());
                    toml_array(&strings.map(toml_string).collect::<Vec<_>>())
                }
                number => number.to_string(),
            };
            writeln!(toml, "{key} = {value}")?;
        }
        Ok(toml)
    }
}

/// The maximum width of a list on one line.
const WIDTH: usize = 90;

/// Writes a TOML array: on one line if that fits, and otherwise with a line for each value.
fn toml_array(values: &[String]) -> String {
    let line = format!("[{}]", values.join(", "));
    if values.len() < 2 || line.chars().count() <= WIDTH {
        return line;
    }
    let lines = values.iter().map(|value| format!("    {value},\n"));
    format!("[\n{}]", lines.joined(""))
}

/// Writes a TOML key. It has quotes only if it needs them.
fn toml_key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        toml_string(name)
    }
}

/// Writes a TOML string, and escapes what could steer a terminal.
fn toml_string(text: &str) -> String {
    // Nothing is escaped in single quotes, which makes SQL easier to read.
    if text.contains(['"', '\\']) && !text.contains('\'') && !text.contains(steers) {
        return format!("'{text}'");
    }
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        // The characters that steer a terminal have at most four digits.
        c if steers(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.joined(""))
}
