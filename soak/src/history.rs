//! What the threads of a round do: data that a seed determines, that proptest cuts down, and that
//! can be saved and run again.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde::{Deserialize, Serialize};

use crate::tables::{DAYS, DELETED, KEPT};

/// For each thread, what it does, one after another.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct History(pub Vec<Vec<Work>>);

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Work {
    Transaction(Transaction),
    /// Reads of every kind in one snapshot, compared with each other.
    Snapshot,
    /// A transaction that deletes the counters of an article.
    Delete(i64),
    Recount(i64),
    RecountAll,
    Materialize,
    Compact,
    Fold,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Transaction {
    pub isolation: Isolation,
    pub steps: Vec<Step>,
    /// Rolls back at its end.
    pub fails: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Isolation {
    Default,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Step {
    Count {
        article: i64,
        day: u8,
        views: i64,
    },
    CountMany {
        day: u8,
        views: Vec<(i64, i64)>,
    },
    /// Counts at the end of a savepoint, by `counting_transaction`.
    CountLast {
        views: Vec<(i64, u8, i64)>,
    },
    /// Inserts a comment, and counts it together with some views.
    Comment {
        article: i64,
        day: u8,
        views: i64,
    },
    /// Deletes a comment that this thread has inserted, and counts that.
    Uncomment,
    /// Inserts a like, which the database counts.
    Like {
        article: i64,
        user: i64,
    },
    Unlike {
        article: i64,
        user: i64,
    },
    Set {
        article: i64,
        views: i64,
    },
    /// Counts comments that do not exist, for a recount to find.
    Miscount {
        article: i64,
        comments: i64,
    },
    Read(Read),
    Savepoint {
        steps: Vec<Step>,
        fails: bool,
    },
    /// Milliseconds in which other threads go on.
    Pause(u8),
}

impl Step {
    /// Whether it counts, and nothing else. Then two transactions never write the same row, if their
    /// slots are not the same.
    pub fn is_count(&self) -> bool {
        !matches!(
            self,
            Step::Set { .. } | Step::Like { .. } | Step::Unlike { .. } | Step::Read(_)
        )
    }

    /// Whether it rolls back to a savepoint.
    pub fn rolls_back(&self) -> bool {
        matches!(self, Step::Savepoint { fails: true, .. })
    }

    /// Whether no row says that it was done.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Step::Miscount { .. })
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub enum Read {
    Total { article: i64 },
    Day { article: i64, day: u8 },
    Series { article: i64 },
    Page,
    Top { limit: u8 },
    Expression,
}

fn article() -> impl Strategy<Value = i64> {
    KEPT
}

fn any_article() -> impl Strategy<Value = i64> {
    *KEPT.start()..=*DELETED.end()
}

fn amount() -> impl Strategy<Value = i64> {
    prop_oneof![3 => Just(1_i64), 7 => -1_000_000_i64..1_000_000_000]
}

fn read() -> impl Strategy<Value = Read> {
    prop_oneof![
        any_article().prop_map(|article| Read::Total { article }),
        (any_article(), 0..DAYS).prop_map(|(article, day)| Read::Day { article, day }),
        any_article().prop_map(|article| Read::Series { article }),
        Just(Read::Page),
        (1..10_u8).prop_map(|limit| Read::Top { limit }),
        Just(Read::Expression),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => (any_article(), 0..DAYS, amount())
            .prop_map(|(article, day, views)| Step::Count { article, day, views }),
        3 => (0..DAYS, vec((any_article(), amount()), 1..10))
            .prop_map(|(day, views)| Step::CountMany { day, views }),
        2 => vec((any_article(), 0..DAYS, amount()), 1..6)
            .prop_map(|views| Step::CountLast { views }),
        4 => (article(), 0..DAYS, amount())
            .prop_map(|(article, day, views)| Step::Comment { article, day, views }),
        2 => Just(Step::Uncomment),
        3 => (article(), 0..30_i64).prop_map(|(article, user)| Step::Like { article, user }),
        2 => (article(), 0..30_i64).prop_map(|(article, user)| Step::Unlike { article, user }),
        1 => (article(), amount()).prop_map(|(article, views)| Step::Set { article, views }),
        1 => (article(), -9..9_i64)
            .prop_map(|(article, comments)| Step::Miscount { article, comments }),
        5 => read().prop_map(Step::Read),
        1 => (0..3_u8).prop_map(Step::Pause),
    ]
}

fn step_or_savepoint() -> impl Strategy<Value = Step> {
    let inner = prop_oneof![9 => step(), 1 => savepoint(step())];
    prop_oneof![9 => step(), 1 => savepoint(inner)]
}

fn savepoint(step: impl Strategy<Value = Step>) -> impl Strategy<Value = Step> {
    (vec(step, 1..4), any::<bool>()).prop_map(|(steps, fails)| Step::Savepoint { steps, fails })
}

fn transaction() -> impl Strategy<Value = Transaction> {
    let isolation = prop_oneof![
        6 => Just(Isolation::Default),
        2 => Just(Isolation::ReadCommitted),
        2 => Just(Isolation::RepeatableRead),
        1 => Just(Isolation::Serializable),
    ];
    (
        isolation,
        vec(step_or_savepoint(), 1..8),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(isolation, steps, fails)| Transaction {
            isolation,
            steps,
            fails,
        })
}

/// `often` is how often merges and corrections come up.
fn work(often: u32) -> impl Strategy<Value = Work> {
    prop_oneof![
        50 => transaction().prop_map(Work::Transaction),
        4 => Just(Work::Snapshot),
        often => DELETED.prop_map(Work::Delete),
        often => article().prop_map(Work::Recount),
        often => Just(Work::RecountAll),
        often => Just(Work::Materialize),
        often => Just(Work::Compact),
        often => Just(Work::Fold),
    ]
}

/// The most work of a thread in a round.
const WORK: usize = 40;

/// Returns the history that the seed determines. With `often`, each merge and correction comes up so
/// many times more often.
pub fn generate(seed: u64, threads: usize, often: u32) -> History {
    let mut runner = TestRunner::new(Config {
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..Config::default()
    });
    let histories = vec(vec(work(often), WORK), threads);
    let history = histories.new_tree(&mut runner);
    History(history.expect("no history is rejected").current())
}

impl History {
    /// Returns a smaller history that still fails. A smaller one is kept if `fails` returns true.
    ///
    /// It leaves out half of the work, then a quarter, down to single steps. This is delta
    /// debugging: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002.
    pub fn cut_down(mut self, mut fails: impl FnMut(&History) -> bool) -> History {
        for with_steps in [false, true] {
            let mut size = self.places(with_steps).len().div_ceil(2);
            while size > 0 {
                let mut from = 0;
                while from < self.places(with_steps).len() {
                    let places = self.places(with_steps);
                    let without = &places[from..places.len().min(from + size)];
                    let smaller = self.without(without);
                    if fails(&smaller) {
                        self = smaller;
                    } else {
                        from += size;
                    }
                }
                size /= 2;
            }
        }
        self
    }

    /// Returns the places of all work, or of all steps in it: the thread, the number of its work,
    /// and the number of the step.
    fn places(&self, of_steps: bool) -> Vec<(usize, usize, Option<usize>)> {
        let mut places = Vec::new();
        for (thread, work) in self.0.iter().enumerate() {
            for (number, work) in work.iter().enumerate() {
                match work {
                    Work::Transaction(transaction) if of_steps => {
                        let steps = 0..transaction.steps.len();
                        places.extend(steps.map(|step| (thread, number, Some(step))));
                    }
                    _ if of_steps => {}
                    _ => places.push((thread, number, None)),
                }
            }
        }
        places
    }

    fn without(&self, places: &[(usize, usize, Option<usize>)]) -> History {
        let mut smaller = self.clone();
        for &(thread, number, step) in places.iter().rev() {
            let work = &mut smaller.0[thread];
            match (step, &mut work[number]) {
                (Some(step), Work::Transaction(transaction)) => {
                    drop(transaction.steps.remove(step))
                }
                _ => drop(work.remove(number)),
            }
        }
        smaller
    }
}
