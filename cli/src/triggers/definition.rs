//! What you write about triggers that count rows.

use std::fmt;

use clap::ValueEnum;
use serde::de::{self, Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::options;
pub use diesel_counters::Period;

/// A `[[trigger]]` in `counters.toml`: the rows to count, and the counters to count them in. The
/// keys are written in this order. A key that has its default value isn't written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    #[serde(deserialize_with = "non_empty")]
    pub name: String,
    #[serde(deserialize_with = "non_empty")]
    pub rows: String,
    #[serde(rename = "count")]
    pub counts: Vec<Count>,
    /// What a row adds to a counter that has no weight of its own.
    #[serde(
        default = "default_by",
        skip_serializing_if = "is_default_by",
        deserialize_with = "non_empty"
    )]
    pub by: String,
    /// The condition for a row to be counted.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_non_empty"
    )]
    pub when: Option<String>,
    /// The condition for rows to be counted in a row of an ordinary table.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_non_empty"
    )]
    pub only: Option<String>,
    /// The column with the day that a row counts on. Without it, that's the day of the change.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "some_non_empty"
    )]
    pub day: Option<String>,
    #[serde(
        default = "default_slots",
        skip_serializing_if = "is_default_slots",
        deserialize_with = "number_of_slots"
    )]
    pub slots: u16,
    #[serde(default, skip_serializing_if = "is_default")]
    pub deleted: Deleted,
}

/// What happens to the count of a row that is deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deleted {
    /// The row is taken off the count.
    #[default]
    TakenOff,
    /// The count stays.
    Kept,
}

/// What a migration does about rows that exist before its triggers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Existing {
    /// Count them where there is no count yet. If an earlier definition counted in the same
    /// counter, add what the rows count now minus what they counted then.
    #[default]
    Missing,
    /// Set every count to its rows. This can lower counts.
    Rows,
    /// Leave them to `diesel-counters recount NAME`, which can run while programs write.
    Later,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Returns the default of `by`, with which a counter is the number of its rows.
fn default_by() -> String {
    "1".to_owned()
}

fn is_default_by(by: &str) -> bool {
    by == default_by()
}

/// Returns the same number of slots as `counter_table!` has by default.
fn default_slots() -> u16 {
    32
}

fn is_default_slots(slots: &u16) -> bool {
    *slots == default_slots()
}

/// Reads a text, and refuses an empty one.
fn non_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    options::name(&text).map_err(D::Error::custom)
}

/// Reads the text of an optional key that the file has, and refuses an empty one.
fn some_non_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    non_empty(deserializer).map(Some)
}

/// Reads a number of slots, which a SMALLINT has to hold.
fn number_of_slots<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let number = u16::deserialize(deserializer)?;
    match i16::try_from(number) {
        Ok(1..) => Ok(number),
        _ => Err(D::Error::custom("there are 1 to 32767 slots")),
    }
}

impl Definition {
    /// Returns all names and expressions.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let required = [&self.name, &self.rows, &self.by].into_iter();
        let optional = self.when.iter().chain(&self.only).chain(&self.day);
        let counts = self.counts.iter().map(Count::to_string);
        required.chain(optional).cloned().chain(counts)
    }
}

/// A counter in a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub struct Count {
    /// The columns of the row that name the entity, if given. If the list is empty, the entity is
    /// the table's only row.
    pub columns: Option<Vec<String>>,
    pub table: String,
    /// The columns of an ordinary table that name the entity, if given. By default, that's the
    /// primary key.
    pub key: Option<Vec<String>>,
    pub counter: String,
    pub weight: Option<String>,
}

impl TryFrom<String> for Count {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const HELP: &str = "write COLUMN:TABLE.COUNTER, such as article_id:article_counters.likes";
        // The longest form is `COLUMN,COLUMN:TABLE(KEY,KEY).COUNTER=WEIGHT`. Split off the weight
        // first: it's an expression, and may contain all of the other characters.
        let (before_weight, weight) = match text.split_once('=') {
            Some((before, weight)) => (before, Some(weight.to_owned())),
            None => (&*text, None),
        };
        let (columns, in_table) = match before_weight.split_once(':') {
            // `:site.hits` counts in the table's only row.
            Some(("", rest)) => (Some(Vec::new()), rest),
            Some((list, rest)) => (Some(split_names(list)), rest),
            None => (None, before_weight),
        };
        // The table may have a schema, so the counter comes after the last dot.
        let (table_and_key, counter) = in_table.rsplit_once('.').ok_or(HELP)?;
        let (table, key) = split_key(table_and_key);
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

/// Splits `posts(blog_id,id)` into the table and the columns in parentheses.
fn split_key(table_and_key: &str) -> (&str, Option<Vec<String>>) {
    let without_parenthesis = table_and_key.strip_suffix(')');
    match without_parenthesis.and_then(|text| text.split_once('(')) {
        Some((table, list)) => (table, Some(split_names(list))),
        None => (table_and_key, None),
    }
}

/// Splits `blog_id,id` into names.
fn split_names(list: &str) -> Vec<String> {
    list.split(',').map(str::to_owned).collect()
}

/// Uses a visitor, because only its errors have the line of a text in a TOML list.
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
    /// Returns every name in it, and the weight.
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
