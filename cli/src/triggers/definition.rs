//! What the user says of triggers that count rows.

use std::fmt;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::{options, period};
pub use diesel_counters::Period;

/// The rows to count, and the counters to count them in: as options, in a file, or in the database.
#[derive(Debug, Clone, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The name of the triggers, such as count_article_likes.
    #[arg(required_unless_present = "file")]
    #[arg(default_value = "", hide_default_value = true)]
    pub name: String,
    /// The table whose rows are counted, such as article_likes.
    #[arg(long, value_name = "TABLE", required_unless_present = "file")]
    #[arg(default_value = "", hide_default_value = true)]
    pub rows: String,
    /// A counter, and the column of the row that names its entity, such as
    /// article_id:article_counters.likes. The counter can be in a counter table, or an integer column of
    /// an ordinary table, such as post_id:posts.tag_count. There, the primary key or a unique index names the
    /// entity: the one that has the values of the column by the tables' foreign keys. If they do not say which,
    /// name it, as in post_id:post_stats(post_id).likes. A row whose column is NULL counts for no entity. A key of several columns takes as many, as in
    /// article_id,emoji:article_reactions.given. A counter table without an entity takes no column, as
    /// in site_counters.likes, and neither does the only row of a table, as in :local_site.posts. A
    /// weight of its own can follow, as in article_id:article_counters.stars=stars. Repeat it for more
    /// counters. Triggers lock the tables in this order.
    #[arg(long = "count", required_unless_present = "file")]
    #[arg(value_parser = |count: &str| Count::try_from(count.to_owned()))]
    #[arg(value_name = "[[COLUMN,…]:]TABLE[(KEY,…)].COUNTER[=WEIGHT]")]
    #[serde(rename = "count")]
    pub counts: Vec<Count>,
    /// What a row adds to a counter: an integer column, or an SQL expression of the row's columns.
    #[arg(long, value_name = "WEIGHT", allow_hyphen_values = true, value_parser = options::name)]
    #[arg(default_value = "1")]
    #[serde(default = "one")]
    pub by: String,
    /// Count only the rows for which this is true: a column, or an SQL expression of the row's
    /// columns, such as "status = 'approved'".
    #[arg(long, value_name = "CONDITION", value_parser = options::name)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// Count only in the rows of the ordinary table for which this is true: a column of that table, or an
    /// SQL expression of its columns, such as "local". The counts of its other rows are left as they are.
    #[arg(long, value_name = "CONDITION", value_parser = options::name)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// The date or time column with the day that a row counts on [default: the day of the change, in
    /// UTC: a deleted row is taken off on the day on which it is deleted].
    #[arg(long, value_name = "COLUMN", value_parser = options::name)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// The period of the counters, as in counter_table!.
    #[arg(long, value_name = "PERIOD", default_value = "day", value_parser = period::parser())]
    #[serde(default, with = "period")]
    pub period: Period,
    /// The number of slots, as in counter_table!.
    #[arg(long, default_value_t = slots(), value_parser = clap::value_parser!(u16).range(1..=32767))]
    #[serde(default = "slots")]
    pub slots: u16,
    #[arg(skip)]
    #[serde(default, skip_serializing_if = "is_now")]
    pub existing: Existing,
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

fn is_now(existing: &Existing) -> bool {
    *existing == Existing::Now
}

fn one() -> String {
    "1".to_owned()
}

/// As in `counter_table!`.
fn slots() -> u16 {
    32
}

impl Definition {
    /// As the database keeps it.
    pub fn json(&self) -> String {
        // It has texts and numbers only.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Takes tables without a schema as those of this one, or of the connection if it is empty.
    pub fn look_in(&mut self, schema: &str) {
        let tables = self.counts.iter_mut().map(|count| &mut count.table);
        for table in [&mut self.rows].into_iter().chain(tables) {
            if !schema.is_empty() && !table.contains('.') {
                *table = format!("{schema}.{table}");
            }
        }
    }

    /// All names and expressions.
    pub fn texts(&self) -> impl Iterator<Item = String> {
        let one = [&self.name, &self.rows, &self.by].into_iter();
        let one = one.chain(&self.when).chain(&self.only);
        let one = one.chain(&self.day).cloned();
        one.chain(self.counts.iter().map(Count::to_string))
    }
}

/// A counter of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Count {
    /// The columns of the row that name the entity, if they are given. Without any, it is the only row of
    /// the table.
    pub columns: Option<Vec<String>>,
    pub table: String,
    /// The columns of an ordinary table that name the entity, if they are given. Otherwise it is the primary key.
    pub key: Option<Vec<String>>,
    pub counter: String,
    pub weight: Option<String>,
}

impl TryFrom<String> for Count {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const HELP: &str = "write COLUMN:TABLE.COUNTER, such as article_id:article_counters.likes";
        let (target, weight) = match text.split_once('=') {
            Some((target, weight)) => (target, Some(weight.to_owned())),
            None => (&*text, None),
        };
        let (columns, counter) = match target.split_once(':') {
            Some((columns, counter)) => (Some(columns), counter),
            None => (None, target),
        };
        let columns = columns.map(|columns| match columns {
            "" => Vec::new(),
            columns => columns.split(',').map(str::to_owned).collect(),
        });
        let (table, counter) = counter.rsplit_once('.').ok_or(HELP)?;
        let key_of_table = table.strip_suffix(')').and_then(|one| one.split_once('('));
        let key =
            key_of_table.map(|(_, key)| key.split(',').map(str::to_owned).collect::<Vec<_>>());
        let table = key_of_table.map_or(table, |(table, _)| table).to_owned();
        let counter = counter.to_owned();
        let parts = columns.iter().flatten().chain(key.iter().flatten());
        let parts = parts.chain([&table, &counter]).chain(&weight);
        let is_whole = !parts.into_iter().any(|part| part.trim().is_empty());
        let count = Count {
            columns,
            table,
            key,
            counter,
            weight,
        };
        is_whole.then_some(count).ok_or(HELP)
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
        let mut weight = self.weight.iter();
        weight.try_for_each(|weight| write!(f, "={weight}"))
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
