//! What an order of the statements left in the database, and what its calls returned.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use chrono::NaiveDate;
use clap::ValueEnum;
use diesel_counters::Period;

use crate::tables::folded_before;

/// A transaction: its connection, and its number there.
pub type Transaction = (usize, usize);

/// What a connection is called in what is printed.
pub fn letter(connection: usize) -> char {
    char::from(b'A' + connection as u8)
}

/// What a transaction is called: by its connection, and its number there if it is not the first.
pub fn transaction_name((connection, number): Transaction) -> String {
    match number {
        0 => letter(connection).to_string(),
        number => format!("{}{}", letter(connection), number + 1),
    }
}

/// How a transaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// It committed, and its call returned this.
    Committed(String),
    /// It failed. It counts as not run.
    Failed(Failed),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The kind of a documented error.
    pub kind: Option<&'static str>,
    pub text: String,
}

impl Ended {
    pub fn has_committed(&self) -> bool {
        matches!(self, Ended::Committed(_))
    }
}

/// What is compared of the database: the sums of counters by article and day, the materialized
/// column, the numbers of rows that are counted, and the sums of counters by label and day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Kind {
    Views,
    Likes,
    Comments,
    Column,
    LikeCount,
    LikeRows,
    CommentRows,
    Given,
    Tickets,
}

/// The values of an article that are not 0.
type Values = BTreeMap<(Kind, NaiveDate), i64>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// By article. Label `n` of an article is one of its own, with the number `100 * article + n`.
    pub articles: BTreeMap<i64, Values>,
    /// What each transaction of each connection returned, where that is compared.
    pub returned: BTreeMap<Transaction, String>,
}

/// How an outcome is compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Comparison {
    /// Something runs in several transactions: each article, its column, and each value that was
    /// returned are compared by themselves.
    pub by_article: bool,
    /// An article is deleted and inserted again while totals are copied. The new one can get the
    /// total of the old one, because its column is as it was read; the next run corrects it.
    pub ignores_column: bool,
    /// A fold moves the counts of the days before [`folded_before`] into these periods. They are
    /// compared by period.
    pub folded_into: Period,
    /// Triggers count on the day of the server. It can be over when the order is run.
    pub today: NaiveDate,
}

impl Comparison {
    /// Adds a value that was read.
    pub fn add(
        &self,
        outcome: &mut Outcome,
        (kind, article, day, value): (Kind, i64, NaiveDate, i64),
    ) {
        let is_folded = kind != Kind::CommentRows && day < folded_before();
        let day = if is_folded {
            self.folded_into.start(day)
        } else {
            day.min(self.today)
        };
        let values = outcome.articles.entry(article).or_default();
        let sum = values.entry((kind, day)).or_default();
        *sum += value;
        if *sum == 0 {
            values.remove(&(kind, day));
        }
    }

    /// Whether one of the serial outcomes explains what was seen.
    pub fn explains(&self, seen: &Outcome, serial: &[Outcome]) -> bool {
        let returned = |of: &Outcome| {
            let keys = seen.returned.keys();
            keys.map(|key| of.returned.get(key).cloned())
                .collect::<Vec<_>>()
        };
        if !self.by_article {
            return serial
                .iter()
                .any(|one| one.articles == seen.articles && returned(one) == returned(seen));
        }
        // A part of an article: its column, which is the total of a moment, or everything else.
        let part = |of: &Outcome, id: i64, is_column: bool| {
            let values = of.articles.get(&id)?.iter();
            let values = values.filter(|((kind, _), _)| (*kind == Kind::Column) == is_column);
            Some(
                values
                    .map(|(key, value)| (*key, *value))
                    .collect::<Vec<_>>(),
            )
        };
        let all = serial.iter().chain([seen]);
        let articles: BTreeSet<i64> = all.flat_map(|one| one.articles.keys().copied()).collect();
        let parts = articles.iter().flat_map(|&id| [(id, true), (id, false)]);
        let mut parts = parts.filter(|(_, is_column)| !(*is_column && self.ignores_column));
        parts.all(|(id, is_column)| {
            let mut all = serial.iter();
            all.any(|one| part(one, id, is_column) == part(seen, id, is_column))
        }) && seen.returned.iter().all(|(key, value)| {
            let mut all = serial.iter();
            all.any(|one| one.returned.get(key) == Some(value))
        })
    }
}

impl Outcome {
    /// The articles whose values are not the same in all of these outcomes.
    pub fn differing<'a>(all: impl Iterator<Item = &'a Outcome> + Clone) -> BTreeSet<i64> {
        let articles = all.clone().flat_map(|one| one.articles.keys().copied());
        let differs = |id: &i64| {
            let mut values = all.clone().map(|one| one.articles.get(id));
            let first = values.next();
            values.any(|value| Some(value) != first)
        };
        articles.filter(differs).collect()
    }

    /// The values of these articles, and what was returned.
    pub fn text(&self, of: &BTreeSet<i64>) -> String {
        let articles = of.iter().map(|article| {
            let name = match article {
                0..100 => format!("article {article}"),
                _ => format!("label {} of article {}", article % 100, article / 100),
            };
            let Some(values) = self.articles.get(article) else {
                return format!("no {name}");
            };
            let values = values.iter().map(|((kind, day), value)| {
                let on = match kind {
                    Kind::Column | Kind::LikeCount | Kind::LikeRows => String::new(),
                    _ => format!(" on {day}"),
                };
                format!("{kind:?}{on} {value}")
            });
            let values: Vec<_> = values.collect();
            match values.is_empty() {
                true => format!("{name}: nothing"),
                false => format!("{name}: {}", values.join(", ")),
            }
        });
        let returned = self.returned.iter().map(|(transaction, value)| {
            let name = transaction_name(*transaction);
            format!("{name} returned {value}")
        });
        articles.chain(returned).collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Committed(returned) if returned.is_empty() => f.write_str("(has ended)"),
            Ended::Committed(returned) => write!(f, "(has ended, and returned {returned})"),
            Ended::Failed(failed) => write!(f, "(failed: {})", failed.text),
        }
    }
}
