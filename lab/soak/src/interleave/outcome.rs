//! What the statements of a case left in the database, when they ran in one order, and what their
//! calls returned.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use chrono::NaiveDate;
use clap::ValueEnum;
use diesel_counters::Period;

use crate::tables::folded_before;

/// A transaction: its connection, and its number there. Both count from 0 on.
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
    Failed(Failed),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// The kind of a documented error. Any other error is a finding.
    pub kind: Option<&'static str>,
    pub text: String,
}

impl Ended {
    pub fn has_committed(&self) -> bool {
        matches!(self, Ended::Committed(_))
    }
}

/// What is compared of the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Kind {
    /// The sum of the views of an article on a day.
    Views,
    /// The sum of the likes of an article on a day, which triggers count.
    Likes,
    /// The sum of the comments of an article on a day.
    Comments,
    /// The column of an article into which `materialize` copies the views.
    Column,
    /// The column of an article in which triggers count likes.
    LikeCount,
    /// The number of likes of an article.
    LikeRows,
    /// The number of comments of an article on a day.
    CommentRows,
    /// The sum of the views of a label on a day.
    LabelViews,
    /// The sum of the comments of a label on a day.
    LabelComments,
    /// The tickets of an article.
    Tickets,
}

impl Kind {
    /// Whether it is told apart by day.
    fn has_day(self) -> bool {
        let has_none = [Kind::Column, Kind::LikeCount, Kind::LikeRows, Kind::Tickets];
        !has_none.contains(&self)
    }
}

/// The values of an article that are not 0.
type Values = BTreeMap<(Kind, NaiveDate), i64>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The values by article. An article whose values are all 0 has an entry without values, and
    /// one that does not exist has no entry.
    ///
    /// Label `n` of an article has the key `100 * article + n`. It has no entry if its values are
    /// all 0.
    pub articles: BTreeMap<i64, Values>,
    /// What each transaction of each connection returned, if that is compared.
    pub returned: BTreeMap<Transaction, String>,
}

/// How an outcome is compared.
#[derive(Debug, Clone, Copy, Default)]
pub struct Comparison {
    /// Whether each article, its column, each label, and each value that was returned are compared
    /// by themselves: an operation of the case runs in several transactions.
    pub by_article: bool,
    /// Whether the column is left out: an article is deleted and inserted again while totals are
    /// copied. `materialize` writes a total if the column still has the value that it has read. The
    /// new article can have that value too, and gets the total of the old one. The next run
    /// corrects it.
    pub ignores_column: bool,
    /// The periods into which a fold moves the counts of the days before [`folded_before`]. These
    /// days are compared by period.
    pub folded_into: Period,
    /// The day on which the run began. What triggers count on the day of the server after midnight
    /// is compared as a count of this day.
    pub today: NaiveDate,
}

impl Comparison {
    /// Adds a value that was read to the sum of its article, kind and day.
    pub fn add(
        &self,
        outcome: &mut Outcome,
        (kind, article, day, value): (Kind, i64, NaiveDate, i64),
    ) {
        // A fold moves counts. The rows of comments keep their days.
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

    /// Whether one of the serial outcomes is what was seen. If an outcome is compared by article,
    /// each of its parts can be that of another one.
    pub fn explains(&self, seen: &Outcome, serial: &[Outcome]) -> bool {
        let returned = |one: &Outcome, key, value| one.returned.get(key) == Some(value);
        if !self.by_article {
            return serial.iter().any(|one| {
                let mut values = seen.returned.iter();
                one.articles == seen.articles
                    && values.all(|(key, value)| returned(one, key, value))
            });
        }
        // A part of an article: its column, which is the total of a moment, or everything else.
        let part = |of: &Outcome, id: i64, is_column: bool| {
            let values = of.articles.get(&id)?.iter();
            let values = values.filter(|((kind, _), _)| (*kind == Kind::Column) == is_column);
            let part = values.map(|(key, value)| (*key, *value));
            Some(part.collect::<Vec<_>>())
        };
        let is_part_right = |id, is_column| {
            let part_seen = part(seen, id, is_column);
            let mut parts = serial.iter().map(|one| part(one, id, is_column));
            parts.any(|part| part == part_seen)
        };
        let outcomes = serial.iter().chain([seen]);
        let articles: BTreeSet<i64> = outcomes
            .flat_map(|one| one.articles.keys().copied())
            .collect();
        let are_articles_right = articles.iter().all(|&id| {
            is_part_right(id, false) && (self.ignores_column || is_part_right(id, true))
        });
        let are_returns_right = seen.returned.iter().all(|(key, value)| {
            let mut outcomes = serial.iter();
            outcomes.any(|one| returned(one, key, value))
        });
        are_articles_right && are_returns_right
    }
}

impl Outcome {
    /// Returns the articles whose values are not the same in all of these outcomes.
    pub fn differing<'a>(all: impl Iterator<Item = &'a Outcome> + Clone) -> BTreeSet<i64> {
        let articles = all.clone().flat_map(|one| one.articles.keys().copied());
        let differs = |id: &i64| {
            let mut values = all.clone().map(|one| one.articles.get(id));
            let Some(of_first) = values.next() else {
                return false;
            };
            values.any(|of_other| of_other != of_first)
        };
        articles.filter(differs).collect()
    }

    /// Returns a text of the values of these articles, and of what was returned.
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
                if kind.has_day() {
                    format!("{kind:?} on {day} {value}")
                } else {
                    format!("{kind:?} {value}")
                }
            });
            let values: Vec<_> = values.collect();
            if values.is_empty() {
                format!("{name}: nothing")
            } else {
                format!("{name}: {}", values.join(", "))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{day, today};

    /// An outcome in which article 1 has these values today.
    fn outcome(values: &[(Kind, i64)]) -> Outcome {
        let comparison = Comparison {
            today: today(),
            ..Comparison::default()
        };
        let mut outcome = Outcome::default();
        for &(kind, value) in values {
            comparison.add(&mut outcome, (kind, 1, today(), value));
        }
        outcome
    }

    #[test]
    fn a_text_has_the_day_of_what_is_told_apart_by_day() {
        let of_both = outcome(&[(Kind::Views, 2), (Kind::Tickets, 3)]);
        let text = of_both.text(&BTreeSet::from([1, 2, 201]));
        let today = today();
        let expected = format!(
            "article 1: Views on {today} 2, Tickets 3; no article 2; no label 1 of article 2"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn an_outcome_is_that_of_one_order_unless_it_is_compared_by_article() {
        let first = outcome(&[(Kind::Views, 1), (Kind::Column, 1)]);
        let second = outcome(&[(Kind::Views, 2), (Kind::Column, 2)]);
        let mixed = outcome(&[(Kind::Views, 1), (Kind::Column, 2)]);
        let other = outcome(&[(Kind::Views, 3), (Kind::Column, 3)]);
        let serial = [first.clone(), second];
        let whole = Comparison::default();
        assert!(whole.explains(&first, &serial));
        assert!(!whole.explains(&mixed, &serial));
        let by_article = Comparison {
            by_article: true,
            ..whole
        };
        assert!(by_article.explains(&mixed, &serial));
        assert!(!by_article.explains(&other, &serial));
    }

    #[test]
    fn what_was_returned_is_that_of_an_order() {
        let returned = |value: &str| Outcome {
            returned: BTreeMap::from([((0, 0), value.to_owned())]),
            ..outcome(&[(Kind::Views, 1)])
        };
        for by_article in [false, true] {
            let comparison = Comparison {
                by_article,
                ..Comparison::default()
            };
            assert!(comparison.explains(&returned("1"), &[returned("1")]));
            assert!(!comparison.explains(&returned("2"), &[returned("1")]));
            // If the call failed, nothing is compared.
            let failed = outcome(&[(Kind::Views, 1)]);
            assert!(comparison.explains(&failed, &[returned("1")]));
        }
    }

    #[test]
    fn folded_days_are_compared_by_period() {
        let folded = Comparison {
            folded_into: Period::Total,
            today: today(),
            ..Comparison::default()
        };
        let mut by_day = Outcome::default();
        let old = day(6);
        let older = day(7);
        folded.add(&mut by_day, (Kind::Views, 1, old, 1));
        folded.add(&mut by_day, (Kind::Views, 1, older, 2));
        folded.add(&mut by_day, (Kind::CommentRows, 1, old, 4));
        let mut in_one_row = Outcome::default();
        folded.add(&mut in_one_row, (Kind::Views, 1, NaiveDate::default(), 3));
        folded.add(&mut in_one_row, (Kind::CommentRows, 1, old, 4));
        assert_eq!(by_day, in_one_row);
        folded.add(&mut in_one_row, (Kind::CommentRows, 1, older, 1));
        assert_ne!(by_day, in_one_row);
    }
}
