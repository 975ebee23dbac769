//! What the threads of a round do: data that a seed determines.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::tables::{ARTICLES, DAYS};

#[derive(Debug)]
pub enum Work {
    Transaction(Transaction),
    Recount(i64),
    RecountAll,
    Materialize,
    Compact,
    Fold,
}

#[derive(Debug)]
pub struct Transaction {
    /// The isolation level, if it is not that of the session.
    pub level: Option<&'static str>,
    pub steps: Vec<Step>,
    /// Rolls back at its end.
    pub fails: bool,
}

/// An article, the number of a day, and how many views.
pub type Views = (i64, u8, i64);

#[derive(Debug)]
pub enum Step {
    Count(Views),
    /// Counts views of articles on this day.
    CountMany(u8, Vec<(i64, i64)>),
    /// Counts at the end of a savepoint, by `counting_transaction`.
    CountLast(Vec<Views>),
    /// Inserts a comment, and counts it together with some views.
    Comment(Views),
    /// Deletes a comment that this thread has inserted, and counts that.
    Uncomment,
    /// Inserts a like of an article by a user, which the database counts.
    Like(i64, i64),
    Unlike(i64, i64),
    /// Sets the views of an article.
    Set(i64, i64),
    /// Takes tickets of an article.
    Take(i64, i64),
    PutBack(i64, i64),
    /// Sets the number of tickets of an article.
    SetStock(i64, i64),
    /// Counts comments of an article that do not exist, for a recount to find.
    Miscount(i64, i64),
    Read(Read),
    Savepoint {
        steps: Vec<Step>,
        fails: bool,
    },
    /// Milliseconds in which other threads go on.
    Pause(u8),
}

#[derive(Debug, Clone, Copy)]
pub enum Read {
    Total { article: i64 },
    Day { article: i64, day: u8 },
    Series { article: i64 },
    Page,
    Top { limit: u8 },
    Expression,
}

/// How deep savepoints are in each other.
const SAVEPOINTS: u8 = 2;

/// Returns for each thread so much work, to be done one after another. The seed determines it. With
/// `often`, each merge and correction comes up so many times more often.
pub fn generate(seed: u64, threads: usize, work: usize, often: u32) -> Vec<Vec<Work>> {
    let mut random = Random(StdRng::seed_from_u64(seed));
    let mut of_thread = || (0..work).map(|_| random.work(often)).collect();
    (0..threads).map(|_| of_thread()).collect()
}

struct Random(StdRng);

impl Random {
    fn up_to(&mut self, limit: u32) -> u32 {
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

    fn amount(&mut self) -> i64 {
        match self.up_to(10) {
            0..3 => 1,
            _ => self.0.random_range(-1_000_000..1_000_000_000),
        }
    }

    fn views(&mut self) -> Views {
        (self.article(), self.day(), self.amount())
    }

    fn several<T>(&mut self, most: u32, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..=self.up_to(most)).map(|_| one(self)).collect()
    }

    fn work(&mut self, often: u32) -> Work {
        match self.up_to(50 + 5 * often).checked_sub(50) {
            None => Work::Transaction(self.transaction()),
            Some(merge) => match merge % 5 {
                0 => Work::Recount(self.article()),
                1 => Work::RecountAll,
                2 => Work::Materialize,
                3 => Work::Compact,
                _ => Work::Fold,
            },
        }
    }

    fn transaction(&mut self) -> Transaction {
        let level = match self.up_to(11) {
            0..6 => None,
            6..8 => Some("READ COMMITTED"),
            8..10 => Some("REPEATABLE READ"),
            _ => Some("SERIALIZABLE"),
        };
        Transaction {
            level,
            steps: self.several(7, |random| random.step(SAVEPOINTS)),
            fails: self.up_to(10) == 0,
        }
    }

    fn step(&mut self, savepoints: u8) -> Step {
        if savepoints > 0 && self.up_to(10) == 0 {
            return Step::Savepoint {
                steps: self.several(3, |random| random.step(savepoints - 1)),
                fails: self.0.random(),
            };
        }
        let views = self.views();
        let (article, day, _) = views;
        match self.up_to(40) {
            0..10 => Step::Count(views),
            10..13 => {
                let one = |random: &mut Self| (random.article(), random.amount());
                Step::CountMany(day, self.several(9, one))
            }
            13..15 => Step::CountLast(self.several(5, Self::views)),
            15..19 => Step::Comment(views),
            19..21 => Step::Uncomment,
            21..24 => Step::Like(article, self.user()),
            24..26 => Step::Unlike(article, self.user()),
            26 => Step::Set(article, views.2),
            27 => Step::Miscount(article, self.0.random_range(-9..9)),
            28..33 => Step::Read(self.read()),
            33 => Step::Pause(self.0.random_range(0..3)),
            34..38 => Step::Take(article, self.0.random_range(1..5)),
            38 => Step::PutBack(article, self.0.random_range(1..3)),
            // So few that most of them are soon sold out.
            _ => Step::SetStock(article, self.0.random_range(1..20)),
        }
    }

    fn read(&mut self) -> Read {
        let article = self.article();
        let day = self.day();
        match self.up_to(6) {
            0 => Read::Total { article },
            1 => Read::Day { article, day },
            2 => Read::Series { article },
            3 => Read::Page,
            4 => Read::Top {
                limit: self.0.random_range(1..10),
            },
            _ => Read::Expression,
        }
    }
}
