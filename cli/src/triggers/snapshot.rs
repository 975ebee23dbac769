//! The triggers after a migration, from the `counters.toml` in its directory. The next migration
//! starts from there. Definitions are never read from the database.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use fnv::FnvHasher;
use serde::Deserialize;

use super::definition::Definition;
use super::file::{NAME, refuse, wrong};
use super::plan::Plan;
use super::trigger::{Trigger, TriggerTable};
use crate::database::Joined;
use crate::output::steers;

/// The state after a migration.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// The migrations that it was made from: usually one, none for the first migration, and several
    /// if branches were merged.
    #[serde(default)]
    pub after: Vec<String>,
    /// The database that it's for, such as `postgres`.
    pub backend: String,
    /// In the order in which they were created.
    #[serde(default, rename = "trigger")]
    pub triggers: Vec<Definition>,
    /// Every definition's triggers, in the order in which they were created.
    #[serde(default)]
    pub made: BTreeMap<String, Vec<Made>>,
}

/// A trigger that a migration has made. It has to be recorded, because a definition's triggers
/// depend on its tables, and those can change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "(String, String, String)")]
pub struct Made {
    pub trigger: String,
    pub table: String,
    /// A hash of its event and body.
    pub hash: String,
}

impl From<(String, String, String)> for Made {
    fn from((trigger, table, hash): (String, String, String)) -> Self {
        Made {
            trigger,
            table,
            hash,
        }
    }
}

impl Trigger {
    /// Returns a hash of what it does.
    fn hash(&self) -> String {
        let mut hasher = FnvHasher::default();
        hasher.write(self.event.as_bytes());
        hasher.write(self.body.as_bytes());
        format!("{:016x}", hasher.finish())
    }
}

impl Plan {
    /// Returns its triggers, for the snapshot.
    pub fn made(&self) -> Vec<Made> {
        let rows = TriggerTable::of(&self.counting.rows);
        let made = self.triggers.iter().map(|trigger| Made {
            trigger: trigger.name.clone(),
            table: if trigger.table == rows {
                self.counting.definition.rows.clone()
            } else {
                // On MySQL, triggers on other tables are in the same database.
                trigger.table.name.clone()
            },
            hash: trigger.hash(),
        });
        made.collect()
    }
}

impl Snapshot {
    /// Returns the triggers that were made for a definition.
    pub fn made_for(&self, name: &str) -> &[Made] {
        self.made.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    fn named(&self, name: &str) -> Option<&Definition> {
        self.triggers.iter().find(|one| one.name == name)
    }

    /// Whether a definition or its triggers differ between two states.
    fn differs(&self, other: &Snapshot, name: &str) -> bool {
        self.named(name) != other.named(name) || self.made_for(name) != other.made_for(name)
    }

    /// Takes a definition and its triggers from another state. Removes it if it isn't there.
    fn set(&mut self, name: &str, theirs: &Snapshot) {
        self.triggers.retain(|one| one.name != name);
        self.made.remove(name);
        if let Some(definition) = theirs.named(name) {
            self.triggers.push(definition.clone());
            self.made
                .insert(name.to_owned(), theirs.made_for(name).to_vec());
        }
    }

    /// Writes the file that goes into the migration's directory.
    pub fn toml(&self) -> Result<String> {
        let mut toml = String::from(
            "# The triggers after this migration. `diesel-counters generate triggers` begins from here: commit\n\
             # this file, and leave it as it is.\n",
        );
        let after: Vec<_> = self.after.iter().map(|name| quoted(name)).collect();
        writeln!(toml, "after = {}", list(&after))?;
        writeln!(toml, "backend = {}", quoted(&self.backend))?;
        for definition in &self.triggers {
            write!(toml, "\n{}", definition.toml()?)?;
        }
        toml += "\n[made]\n";
        for Definition { name, .. } in &self.triggers {
            let made = self.made_for(name).iter();
            let lines = made.map(|one| {
                let texts = [&one.trigger, &one.table, &one.hash].map(|text| quoted(text));
                format!("    [{}],\n", texts.join(", "))
            });
            writeln!(toml, "{} = [\n{}]", key(name), lines.joined(""))?;
        }
        Ok(toml)
    }
}

/// A migration with a snapshot.
#[derive(Clone)]
struct SnapshotMigration {
    /// The name of its directory, such as `2026-11-28-161358_count_likes`.
    name: String,
    snapshot: Snapshot,
}

/// The migrations in a directory that have a snapshot, in order.
#[derive(Default)]
pub struct Migrations {
    all: Vec<SnapshotMigration>,
}

/// The version of a migration, which diesel_migrations sorts by.
pub fn version(name: &str) -> String {
    let stamp = name.split('_').next().unwrap_or_default();
    stamp.replace('-', "")
}

impl Migrations {
    pub fn read(directory: &Path) -> Result<Self> {
        let mut all = Vec::new();
        let cannot = || format!("cannot read {}", directory.display());
        for entry in fs::read_dir(directory).with_context(cannot)? {
            let entry = entry.with_context(cannot)?;
            let path = entry.path().join(NAME);
            let name = entry.file_name().to_string_lossy().into_owned();
            // diesel_migrations also skips these.
            if name.starts_with('.') || !path.is_file() {
                continue;
            }
            all.push(SnapshotMigration {
                name,
                snapshot: read(path)?,
            });
        }
        all.sort_by_key(|one| (version(&one.name), one.name.clone()));
        Ok(Migrations { all })
    }

    /// Returns all triggers that a migration has ever made, with their definition's name.
    pub fn made(&self) -> impl Iterator<Item = (&str, &Made)> {
        let of_all = self.all.iter().flat_map(|one| &one.snapshot.made);
        of_all.flat_map(|(name, made)| made.iter().map(|one| (&**name, one)))
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        self.all.iter().position(|one| one.name == name)
    }

    /// Returns the indexes of the migrations that this one was made from. If a directory was
    /// renamed, or joined with others, this is the one before it.
    fn after(&self, index: usize) -> Vec<usize> {
        let names = self.all[index].snapshot.after.iter();
        let mut after: Vec<_> = names
            .filter_map(|name| self.index_of(name).or(index.checked_sub(1)))
            .collect();
        after.dedup();
        after
    }

    /// Returns the indexes of the migrations that no other one was made from. That's one, or
    /// several if branches were merged.
    fn heads(&self) -> Vec<usize> {
        let all = 0..self.all.len();
        let is_head = |index: &usize| !all.clone().any(|other| self.after(other).contains(index));
        all.clone().filter(is_head).collect()
    }

    /// Returns the indexes of a migration and of all its ancestors.
    fn history(&self, index: usize) -> Vec<usize> {
        let mut known = vec![index];
        let mut next = 0;
        while let Some(index) = known.get(next) {
            for index in self.after(*index) {
                if !known.contains(&index) {
                    known.push(index);
                }
            }
            next += 1;
        }
        known
    }

    /// Returns the state after all migrations. Its `after` has the names of the last ones.
    /// Migrations of merged branches can stand side by side if they change different definitions.
    pub fn state(&self) -> Result<Snapshot> {
        let heads = self.heads();
        let Some((first, others)) = heads.split_first() else {
            return Ok(Snapshot::default());
        };
        let mut state = self.all[*first].snapshot.clone();
        let mut history = self.history(*first);
        for other in others {
            let of_other = self.history(*other);
            let common = (0..self.all.len())
                .filter(|index| history.contains(index) && of_other.contains(index));
            let common = common.map(|index| self.all[index].clone());
            let base = Migrations {
                all: common.collect(),
            };
            merge(
                &base.state()?,
                &mut state,
                &self.all[*other],
                &self.all[*first].name,
            )?;
            history.extend(of_other);
        }
        if !others.is_empty() {
            state
                .triggers
                .sort_by_key(|one| self.created(&one.name, &state.made));
        }
        let names = heads.iter().map(|index| self.all[*index].name.clone());
        state.after = names.collect();
        Ok(state)
    }

    /// Finds the first migration that made these triggers of a definition. Returns its index, and
    /// the definition's index in it.
    fn created(&self, name: &str, made: &BTreeMap<String, Vec<Made>>) -> Option<(usize, usize)> {
        let mut all = self.all.iter().enumerate();
        all.find_map(|(index, SnapshotMigration { snapshot, .. })| {
            let in_it = snapshot.triggers.iter().position(|one| one.name == name)?;
            (snapshot.made.get(name) == made.get(name)).then_some((index, in_it))
        })
    }
}

/// Adds to a state what another branch has changed since `base`.
fn merge(
    base: &Snapshot,
    state: &mut Snapshot,
    other: &SnapshotMigration,
    first: &str,
) -> Result<()> {
    let theirs = &other.snapshot;
    let mut names: Vec<&str> = Vec::new();
    for one in base.triggers.iter().chain(&theirs.triggers) {
        if !names.contains(&&*one.name) {
            names.push(&one.name);
        }
    }
    for name in names {
        if !theirs.differs(base, name) || !theirs.differs(state, name) {
            continue;
        }
        if state.differs(base, name) {
            bail!(
                "the migrations {first} and {} come from two branches, and both change the triggers \
                 {name}. Revert one of them (`diesel migration revert`), remove its directory, and \
                 generate it again",
                other.name
            );
        }
        state.set(name, theirs);
    }
    Ok(())
}

fn read(path: PathBuf) -> Result<Snapshot> {
    let shown = path.display();
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {shown}"))?;
    let parsed: Result<Snapshot, _> = toml::from_str(&text);
    let snapshot = parsed.map_err(|error| wrong(&path, &error.to_string()))?;
    refuse(&snapshot.triggers).map_err(|why| wrong(&path, &why))?;
    Ok(snapshot)
}

impl Definition {
    /// Writes it as in `counters.toml`.
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

/// The maximum width of a list on one line.
const WIDTH: usize = 90;

/// Writes a TOML array, on one line if it fits.
fn list(texts: &[String]) -> String {
    let line = format!("[{}]", texts.join(", "));
    if texts.len() < 2 || line.chars().count() <= WIDTH {
        return line;
    }
    let lines = texts.iter().map(|text| format!("    {text},\n"));
    format!("[\n{}]", lines.joined(""))
}

/// Writes a TOML key. It has quotes only if it needs them.
fn key(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_plain) {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// Writes a TOML string, and escapes what could steer a terminal.
fn quoted(text: &str) -> String {
    // Nothing is escaped in single quotes, which makes SQL easier to read.
    if text.contains(['"', '\\']) && !text.contains('\'') && !text.contains(steers) {
        return format!("'{text}'");
    }
    let escaped = text.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        // They have at most four digits.
        c if steers(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.joined(""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::triggers::definition::{Count, Deleted};

    const TEXTS: [&str; 6] = [
        "a",
        "it's",
        "say \"a\"",
        "it's \"\\\"",
        "\u{202e}\t\u{7f}\n",
        "é🦀",
    ];

    fn definition(name: &str, when: &str) -> Definition {
        Definition {
            name: name.to_owned(),
            rows: "likes".to_owned(),
            counts: vec![Count::try_from("a:b.c=d".to_owned()).unwrap(); when.len()],
            by: "stars * 2".to_owned(),
            when: Some(when.to_owned()),
            only: None,
            day: None,
            slots: 16,
            deleted: Deleted::Kept,
        }
    }

    fn snapshot(after: &[&str], definitions: &[(&str, &str)]) -> Snapshot {
        let mut snapshot = Snapshot {
            after: after.iter().map(|name| (*name).to_owned()).collect(),
            backend: "sqlite".to_owned(),
            ..Snapshot::default()
        };
        for (name, when) in definitions {
            snapshot.triggers.push(definition(name, when));
            let made = (
                format!("{name}_insert"),
                "likes".to_owned(),
                (*when).to_owned(),
            );
            snapshot.made.insert((*name).to_owned(), vec![made.into()]);
        }
        snapshot
    }

    #[test]
    fn what_is_written_is_read() {
        let all = snapshot(&TEXTS, &TEXTS.map(|text| (text, text)));
        let toml = all.toml().unwrap();
        assert!(!toml.contains(|c| steers(c) && c != '\n'), "{toml}");
        assert_eq!(toml::from_str::<Snapshot>(&toml).unwrap(), all, "{toml}");
    }

    fn state(all: &[(&str, Snapshot)]) -> Result<Snapshot> {
        let all = all.iter().map(|(name, snapshot)| SnapshotMigration {
            name: (*name).to_owned(),
            snapshot: snapshot.clone(),
        });
        Migrations { all: all.collect() }.state()
    }

    fn names(state: &Snapshot) -> String {
        let names = state.triggers.iter().map(|one| one.name.clone());
        names.joined(" ")
    }

    #[test]
    fn branches_that_change_different_definitions_are_one_state() {
        let root = ("1_a", snapshot(&[], &[("a", "x"), ("b", "x")]));
        let one = ("2_b", snapshot(&["1_a"], &[("a", "x"), ("b", "y")]));
        let other = ("3_c", snapshot(&["1_a"], &[("b", "x"), ("c", "x")]));
        let more = (
            "4_d",
            snapshot(&["3_c"], &[("b", "x"), ("c", "x"), ("d", "x")]),
        );
        let merged = state(&[root.clone(), one.clone(), other.clone(), more.clone()]).unwrap();
        assert_eq!(merged.after, ["2_b", "4_d"]);
        assert_eq!(names(&merged), "b c d");
        assert_eq!(merged.named("b"), one.1.named("b"));
        assert_eq!(merged.made.len(), 3);
        let last = ("5_e", snapshot(&["2_b", "4_d"], &[("b", "y")]));
        let after = state(&[root, one, other, more, last]).unwrap();
        assert_eq!(
            (names(&after), &*after.after),
            ("b".to_owned(), &["5_e".to_owned()][..])
        );
    }

    #[test]
    fn branches_that_change_one_definition_are_refused_unless_they_agree() {
        let root = ("1_a", snapshot(&[], &[("a", "x"), ("b", "x")]));
        let one = ("2_b", snapshot(&["1_a"], &[("a", "x"), ("b", "y")]));
        let both = ("3_c", snapshot(&["1_a"], &[("a", "x"), ("b", "z")]));
        let refused = state(&[root.clone(), one.clone(), both]).unwrap_err();
        let refused = refused.to_string();
        assert!(
            refused.contains("2_b and 3_c come from two branches"),
            "{refused}"
        );
        let same = ("3_c", snapshot(&["1_a"], &[("b", "y")]));
        assert_eq!(names(&state(&[root, one, same]).unwrap()), "b");
    }

    /// Two features that both start from two migrations side by side.
    #[test]
    fn branches_of_merged_branches_have_all_of_these_in_common() {
        let root = ("1_r", snapshot(&[], &[("a", "x"), ("b", "x")]));
        let one = ("2_a", snapshot(&["1_r"], &[("a", "y"), ("b", "x")]));
        let other = ("3_b", snapshot(&["1_r"], &[("a", "x"), ("b", "y")]));
        let back = ("4_c", snapshot(&["2_a", "3_b"], &[("a", "x"), ("b", "y")]));
        let more = (
            "5_d",
            snapshot(&["2_a", "3_b"], &[("a", "y"), ("b", "y"), ("c", "x")]),
        );
        let merged = state(&[root, one, other, back, more]).unwrap();
        let texts = merged
            .triggers
            .iter()
            .map(|one| format!("{}{}", one.name, one.when.as_deref().unwrap()));
        let mut texts: Vec<_> = texts.collect();
        texts.sort();
        assert_eq!(texts, ["ax", "by", "cx"]);
    }

    #[test]
    fn a_migration_that_was_renamed_is_the_one_before() {
        let root = ("1_a", snapshot(&[], &[("a", "x"), ("b", "x")]));
        let renamed = ("3_new", snapshot(&["1_a"], &[("a", "x")]));
        let last = ("4_c", snapshot(&["2_old"], &[("a", "y")]));
        let merged = state(&[root, renamed, last]).unwrap();
        assert_eq!(
            (names(&merged), &*merged.after),
            ("a".to_owned(), &["4_c".to_owned()][..])
        );
    }

    /// If you join old migrations into one, you keep the snapshot of the last one.
    #[test]
    fn the_first_snapshot_can_be_after_one_that_is_gone() {
        let only = ("2_b", snapshot(&["1_a"], &[("a", "x")]));
        assert_eq!(state(&[only]).unwrap().triggers.len(), 1);
    }
}
