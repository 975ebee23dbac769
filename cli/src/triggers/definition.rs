//! What the user says of triggers that count rows.

use std::fmt;

use clap::ValueEnum;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::period;
pub use diesel_counters::Period;

/// The rows to count, and the counters to count them in, as the database keeps them. The file has
/// [`super::file::InFile`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    pub name: String,
    pub rows: String,
    #[serde(rename = "count")]
    pub counts: Vec<Count>,
    /// What a row adds to a counter that has no weight of its own.
    #[serde(default = "one")]
    pub by: String,
    /// The rows that are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The rows of an ordinary table in which rows are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// The column with the day that a row counts on. Otherwise it is the day of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// That of the counter tables, or of no table.
    #[serde(default, with = "period")]
    pub period: Period,
    #[serde(default = "slots")]
    pub slots: u16,
    #[serde(default, skip_serializing_if = "is_default")]
    pub deleted: Deleted,
    #[serde(default, skip_serializing_if = "is_default")]
    pub existing: Existing,
    /// The number of the migration that created the triggers, from 1. An earlier version stored
    /// none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub migration: u32,
    /// The definitions that this migration dropped, of which one may have had the same name. `None`
    /// if they are not known.
    #[serde(default = "none_replaced", skip_serializing_if = "are_none_replaced")]
    pub replaced: Option<Vec<Definition>>,
}

/// What becomes of the count of a row that is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deleted {
    /// It is taken off.
    #[default]
    TakenOff,
    /// It stays.
    Kept,
}

/// When the rows are counted that exist before the triggers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Existing {
    /// By the migration.
    #[default]
    Now,
    /// By a recount.
    Later,
}

pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub fn none_replaced() -> Option<Vec<Definition>> {
    Some(Vec::new())
}

fn are_none_replaced(replaced: &Option<Vec<Definition>>) -> bool {
    *replaced == none_replaced()
}

pub fn one() -> String {
    "1".to_owned()
}

/// As in `counter_table!`.
pub fn slots() -> u16 {
    32
}

impl Definition {
    /// As the database keeps it.
    pub fn json(&self) -> String {
        // Each of its values can be written as JSON.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether both count the same. What the database keeps of their migrations does not matter.
    pub fn counts_as(&self, other: &Definition) -> bool {
        let mut same = self.clone();
        same.existing = other.existing;
        same.migration = other.migration;
        same.replaced.clone_from(&other.replaced);
        same == *other
    }

    /// As the definition that replaces it keeps it: without those that it replaced itself, unless
    /// there were none.
    pub fn as_replaced(&self) -> Definition {
        let mut definition = self.clone();
        definition.replaced = self.replaced.clone().filter(Vec::is_empty);
        definition
    }

    /// All names and expressions.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let required = [&self.name, &self.rows, &self.by].into_iter();
        let optional = self.when.iter().chain(&self.only).chain(&self.day);
        let counts = self.counts.iter().map(Count::to_string);
        required.chain(optional).cloned().chain(counts)
    }
}

/// A counter of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Count {
    /// The columns of the row that name the entity, if they are given. Without any, it is the only
    /// row of the table.
    pub columns: Option<Vec<String>>,
    pub table: String,
    /// The columns of an ordinary table that name the entity, if they are given. Otherwise it is
    /// the primary key.
    pub key: Option<Vec<String>>,
    pub counter: String,
    pub weight: Option<String>,
}

impl TryFrom<String> for Count {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const HELP: &str = "write COLUMN:TABLE.COUNTER, such as article_id:article_counters.likes";
        let names = |list: &str| -> Vec<String> { list.split(',').map(str::to_owned).collect() };
        // The weight first: it is an expression, and can have all of the other signs.
        let (before_weight, weight) = match text.split_once('=') {
            Some((before, weight)) => (before, Some(weight.to_owned())),
            None => (&*text, None),
        };
        let (columns, in_table) = match before_weight.split_once(':') {
            // `:site.hits` counts in the only row of the table.
            Some(("", rest)) => (Some(Vec::new()), rest),
            Some((list, rest)) => (Some(names(list)), rest),
            None => (None, before_weight),
        };
        // The table can have a schema: the last point separates the counter.
        let (table_and_key, counter) = in_table.rsplit_once('.').ok_or(HELP)?;
        let with_key = table_and_key
            .strip_suffix(')')
            .and_then(|rest| rest.split_once('('));
        let (table, key) = match with_key {
            Some((table, list)) => (table, Some(names(list))),
            None => (table_and_key, None),
        };
        let count = Count {
            columns,
            table: table.to_owned(),
            key,
            counter: counter.to_owned(),
            weight,
        };
        if count.parts().any(|part| part.trim().is_empty()) {
            return Err(HELP);
        }
        Ok(count)
    }
}

/// The error of a text in a list of TOML has its line only if it is the visitor's.
impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;

        impl Visitor<'_> for Text {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string such as article_id:article_counters.likes")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Count, E> {
                Count::try_from(text.to_owned()).map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Text)
    }
}

impl Count {
    /// All names in it, and the weight.
    fn parts(&self) -> impl Iterator<Item = &String> {
        let columns = self.columns.iter().flatten();
        let key = self.key.iter().flatten();
        let counter = [&self.table, &self.counter];
        columns.chain(key).chain(counter).chain(&self.weight)
    }
}

impl From<Count> for String {
    fn from(count: Count) -> Self {
        count.to_string()
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(columns) = &self.columns {
            write!(f, "{}:", columns.join(","))?;
        }
        f.write_str(&self.table)?;
        if let Some(key) = &self.key {
            write!(f, "({})", key.join(","))?;
        }
        write!(f, ".{}", self.counter)?;
        if let Some(weight) = &self.weight {
            write!(f, "={weight}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_column_a_counter_and_a_weight() {
        let parse = |text: &str| Count::try_from(text.to_owned());
        let count = parse("post_id:blog.post_counters.score=points * 2").unwrap();
        assert_eq!(count.columns, Some(vec!["post_id".to_owned()]));
        assert_eq!(
            [&*count.table, &count.counter],
            ["blog.post_counters", "score"]
        );
        assert_eq!(count.weight.as_deref(), Some("points * 2"));
        for text in [
            "site.hits",
            ":site.hits",
            "a,e:b.c",
            "a:b.c=d::bigint",
            "a:s.b(k,l).c",
        ] {
            assert_eq!(parse(text).unwrap().to_string(), text);
        }
        for wrong in [
            "",
            "likes",
            "a,:t.likes",
            "a:.likes",
            "a:t.",
            "a:t.likes=",
            "a:t().likes",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
