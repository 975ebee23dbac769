//! What the threads of a round do: data that a seed determines.

use std::fmt;
use std::ops::Bound::Included;

use diesel_counters_tests::operations::{
    Asked, CountingTransaction, Increment, IncrementMany, Operation, PutBack, SetCounter, SetStock,
    Take,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::tables::{ARTICLES, DAYS, day, entity, today};

/// What a thread does between two looks at whether the round goes on.
#[derive(Debug)]
pub enum Work {
    Transaction(Transaction),
    /// Recounts the comments of an article.
    Recount(i64),
    /// Recounts the comments of all articles.
    RecountAll,
    /// Copies the views of all articles into a column.
    Materialize,
    /// Merges the slots of old days.
    Compact,
    /// Merges old days into months, then into years, then into one row.
    Fold,
}

#[derive(Debug)]
pub struct Transaction {
    /// The isolation level, if it is not that of the session.
    pub level: Option<Level>,
    pub steps: Vec<Step>,
    /// Whether it is rolled back at its end.
    pub fails: bool,
}

/// An isolation level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Level {
    /// The level that a server names, such as `read committed` or `READ-COMMITTED`. Returns `None`
    /// for READ UNCOMMITTED, at which nothing is checked.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_uppercase().replace('-', " ");
        let all = [
            Level::ReadCommitted,
            Level::RepeatableRead,
            Level::Serializable,
        ];
        all.into_iter().find(|level| level.to_string() == name)
    }
}

/// The name in SQL.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        })
    }
}

/// An article, the number of a day, and how many views.
pub type Views = (i64, u8, i64);

#[derive(Debug)]
pub enum Step {
    /// Adds to counts, or to tickets.
    Add(Operation),
    /// Inserts a comment, and counts it together with some views.
    Comment(Views),
    /// Deletes a comment that this thread has inserted, and counts that.
    Uncomment,
    /// Inserts a like, which triggers count, if it does not exist.
    Like {
        article: i64,
        user: i64,
    },
    /// Deletes a like, which triggers count, if it exists.
    Unlike {
        article: i64,
        user: i64,
    },
    /// Sets the views of an article.
    Set(SetCounter),
    Take(Take),
    SetStock(SetStock),
    /// Counts more or fewer comments than there are, for a recount to find.
    Miscount(Increment),
    Read(Operation),
    /// Reads the likes of all articles, which triggers count.
    ReadLikes,
    Savepoint {
        steps: Vec<Step>,
        /// Whether it is rolled back at its end.
        fails: bool,
    },
    /// Milliseconds in which other threads go on.
    Pause(u8),
}

/// How deep savepoints are in each other.
const SAVEPOINTS: u8 = 2;

/// Returns the works of each thread, in their order. The seed determines them.
///
/// There are fewer transactions the greater `often` is: the other works are each 1 in 55 at 1, and
/// 8 in 90 at 8.
pub fn generate(seed: u64, threads: usize, works: usize, often: u32) -> Vec<Vec<Work>> {
    let mut random = Random(StdRng::seed_from_u64(seed));
    let mut of_thread = || (0..works).map(|_| random.work(often)).collect();
    (0..threads).map(|_| of_thread()).collect()
}

struct Random(StdRng);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0.random_range(0..limit)
    }

    fn article(&mut self) -> i64 {
        self.0.random_range(1..=ARTICLES)
    }

    fn day(&mut self) -> u8 {
        self.0.random_range(0..DAYS)
    }

    fn user(&mut self) -> i64 {
        self.0.random_range(0..30)
    }

    /// Mostly a number so large that the sum of different increments is hardly ever the same, and
    /// now and then one that is less than 0.
    fn amount(&mut self) -> i64 {
        match self.below(10) {
            0..3 => 1,
            _ => self.0.random_range(-1_000_000..1_000_000_000),
        }
    }

    fn views(&mut self) -> Views {
        (self.article(), self.day(), self.amount())
    }

    /// From 1 up to `most` of them.
    fn several<T>(&mut self, most: u32, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..=self.below(most)).map(|_| one(self)).collect()
    }

    fn work(&mut self, often: u32) -> Work {
        let number = self.below(50 + 5 * often);
        if number < 50 {
            return Work::Transaction(self.transaction());
        }
        match number % 5 {
            0 => Work::Recount(self.article()),
            1 => Work::RecountAll,
            2 => Work::Materialize,
            3 => Work::Compact,
            _ => Work::Fold,
        }
    }

    fn transaction(&mut self) -> Transaction {
        let level = match self.below(11) {
            0..6 => None,
            6..8 => Some(Level::ReadCommitted),
            8..10 => Some(Level::RepeatableRead),
            _ => Some(Level::Serializable),
        };
        Transaction {
            level,
            steps: self.several(7, |random| random.step(SAVEPOINTS)),
            fails: self.below(10) == 0,
        }
    }

    /// A step, in which savepoints can be `depth` deep in each other.
    fn step(&mut self, depth: u8) -> Step {
        if depth > 0 && self.below(10) == 0 {
            return Step::Savepoint {
                steps: self.several(3, |random| random.step(depth - 1)),
                fails: self.0.random(),
            };
        }
        let views = self.views();
        let (article, on, amount) = views;
        let of = entity(article, on);
        match self.below(40) {
            0..10 => {
                let on = Some(day(on));
                let by = [amount, 0];
                Step::Add(Increment { of, by, on }.into())
            }
            10..13 => {
                let one = |random: &mut Self| {
                    let of = entity(random.article(), on);
                    (of, [random.amount(), 0])
                };
                let of = self.several(9, one);
                let on = Some(day(on));
                Step::Add(IncrementMany { of, on }.into())
            }
            13..15 => {
                let one = |random: &mut Self| {
                    let (article, on, amount) = random.views();
                    (entity(article, on), day(on), amount)
                };
                let counts = self.several(5, one);
                Step::Add(CountingTransaction { counts }.into())
            }
            15..19 => Step::Comment(views),
            19..21 => Step::Uncomment,
            21..24 => Step::Like {
                article,
                user: self.user(),
            },
            24..26 => Step::Unlike {
                article,
                user: self.user(),
            },
            26 => Step::Set(SetCounter {
                of,
                to: amount,
                comments_to: None,
                on: None,
            }),
            27 => Step::Miscount(Increment {
                of,
                by: [0, self.0.random_range(-9..9)],
                on: None,
            }),
            28..33 => self.read(),
            33 => Step::Pause(self.0.random_range(0..3)),
            34..38 => Step::Take(Take {
                of,
                units: self.0.random_range(1..5),
            }),
            38 => {
                let units = self.0.random_range(1..3);
                Step::Add(PutBack { of, units }.into())
            }
            // So few that most stocks are soon sold out.
            _ => Step::SetStock(SetStock {
                of,
                to: self.0.random_range(1..20),
            }),
        }
    }

    /// One of the reads of all operations, or that of likes.
    fn read(&mut self) -> Step {
        let number = self.day();
        let mut reads = Operation::reads(&Asked {
            of: entity(self.article(), number),
            all: (1..=ARTICLES)
                .map(|article| entity(article, number))
                .collect(),
            on: day(number),
            days: (Included(day(DAYS - 1)), Included(today())),
            limit: self.0.random_range(1..10),
        });
        let place = self.0.random_range(0..=reads.len());
        if place < reads.len() {
            Step::Read(reads.swap_remove(place))
        } else {
            Step::ReadLikes
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_the_name_of_each_server() {
        for name in ["read committed", "READ-COMMITTED", "READ COMMITTED"] {
            assert_eq!(Level::named(name), Some(Level::ReadCommitted));
        }
        assert_eq!(Level::named("serializable"), Some(Level::Serializable));
        assert_eq!(Level::named("read uncommitted"), None);
    }

    #[test]
    fn a_seed_determines_the_works() {
        let works = |seed| format!("{:?}", generate(seed, 2, 40, 1));
        assert_eq!(works(1), works(1));
        assert_ne!(works(1), works(2));
    }
}
