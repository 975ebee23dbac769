//! What can be done to a counter table, and read from it, and how to make up some of it.

use std::fmt;
use std::ops::Bound::{self, Excluded, Included, Unbounded};

use chrono::NaiveDate;
use diesel_counters::Period;
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::day;

/// The entities are numbered from 0; each test has a key for each number.
pub const ENTITIES: usize = 4;

/// Of the models' `today`: a Wednesday.
pub fn today() -> NaiveDate {
    day(2026, 3, 4)
}

/// The two counters of a table.
pub type Amounts = [i64; 2];

pub type Days = (Bound<NaiveDate>, Bound<NaiveDate>);

#[derive(Debug, Clone)]
pub enum Operation {
    Count {
        of: usize,
        by: Amounts,
        on: Option<NaiveDate>,
        slot: Option<i16>,
    },
    /// In a savepoint or a transaction: it can be several statements.
    CountMany {
        of: Vec<(usize, Amounts)>,
        on: Option<NaiveDate>,
        slot: Option<i16>,
    },
    Set {
        of: usize,
        to: Amounts,
    },
    /// A row of the table from which the first counter is recounted.
    AddFact {
        of: usize,
        on: NaiveDate,
        n: i64,
    },
    Recount {
        of: usize,
        by_day: bool,
    },
    RecountAll {
        by_day: bool,
    },
    Delete(usize),
    DeleteMany(Vec<usize>),
    Compact {
        before: NaiveDate,
        batch: usize,
    },
    Fold {
        per: Period,
        before: NaiveDate,
        batch: usize,
    },
    /// The first counter.
    Materialize,
    Transaction {
        steps: Vec<Step>,
        commits: bool,
    },
}

/// An operation of a model that counts by `period`, and a read after it.
#[derive(Debug, Clone)]
pub struct Step {
    pub period: Period,
    pub operation: Operation,
    pub read: Read,
}

#[derive(Debug, Clone)]
pub enum Read {
    Value(usize),
    ValueOn(usize, NaiveDate),
    ValueBetween(usize, Days),
    ValuesBetween(Vec<usize>, Days),
    Series(usize, Period, Days),
    SeriesOfMany(Vec<usize>, Period, Days),
    Top(i64, Days),
    /// Totals above this, in `select`, `filter` and `order`.
    Totals(i64, Days),
}

/// The steps of a case.
#[derive(Clone)]
pub struct Steps(pub Vec<Step>);

// A step a line, as proptest would print one on fifty.
impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| write!(f, "\n  {step:?}"))
    }
}

pub fn steps() -> impl Strategy<Value = Steps> {
    vec(step(operation()), 1..20).prop_map(Steps)
}

fn step(operation: BoxedStrategy<Operation>) -> impl Strategy<Value = Step> {
    let periods = prop_oneof![
        3 => Just(Period::Day),
        1 => Just(Period::Week),
        1 => Just(Period::Month),
        1 => Just(Period::Total),
    ];
    (periods, operation, read()).prop_map(|(period, operation, read)| Step {
        period,
        operation,
        read,
    })
}

/// Mostly a simple one, and sometimes a transaction of some, which can have savepoints.
fn operation() -> BoxedStrategy<Operation> {
    let savepoint = prop_oneof![6 => simple_operation(), 1 => transaction(simple_operation())];
    prop_oneof![8 => simple_operation(), 1 => transaction(savepoint.boxed())].boxed()
}

fn transaction(of: BoxedStrategy<Operation>) -> impl Strategy<Value = Operation> {
    let steps = vec(step(of), 0..6);
    (steps, any::<bool>()).prop_map(|(steps, commits)| Operation::Transaction { steps, commits })
}

fn simple_operation() -> BoxedStrategy<Operation> {
    use Operation::*;

    let on = || proptest::option::of(a_day());
    let some = || vec((entity(), amounts()), 0..6);
    prop_oneof![
        8 => (entity(), amounts(), on(), slot())
            .prop_map(|(of, by, on, slot)| Count { of, by, on, slot }),
        4 => (some(), on(), slot()).prop_map(|(of, on, slot)| CountMany { of, on, slot }),
        2 => (entity(), amounts()).prop_map(|(of, to)| Set { of, to }),
        3 => (entity(), a_storable_day(), amount()).prop_map(|(of, on, n)| AddFact { of, on, n }),
        2 => (entity(), any::<bool>()).prop_map(|(of, by_day)| Recount { of, by_day }),
        1 => any::<bool>().prop_map(|by_day| RecountAll { by_day }),
        1 => entity().prop_map(Delete),
        1 => entities().prop_map(DeleteMany),
        3 => (a_day(), 1..5_usize).prop_map(|(before, batch)| Compact { before, batch }),
        2 => (period(), a_day(), 1..5_usize)
            .prop_map(|(per, before, batch)| Fold { per, before, batch }),
        1 => Just(Materialize),
    ]
    .boxed()
}

fn period() -> impl Strategy<Value = Period> {
    prop::sample::select(vec![
        Period::Day,
        Period::Week,
        Period::Month,
        Period::Year,
        Period::Total,
    ])
}

fn read() -> BoxedStrategy<Read> {
    use Read::*;

    let per = || prop::sample::select(vec![Period::Day, Period::Week, Period::Month, Period::Year]);
    let limit = || prop::sample::select(vec![0, 1, 2, 3, i64::MAX]);
    prop_oneof![
        2 => entity().prop_map(Value),
        1 => (entity(), a_day()).prop_map(|(of, day)| ValueOn(of, day)),
        3 => (entity(), days()).prop_map(|(of, days)| ValueBetween(of, days)),
        2 => (entities(), days()).prop_map(|(of, days)| ValuesBetween(of, days)),
        3 => (entity(), per(), days()).prop_map(|(of, per, days)| Series(of, per, days)),
        2 => (entities(), per(), days()).prop_map(|(of, per, days)| SeriesOfMany(of, per, days)),
        2 => (limit(), days()).prop_map(|(n, days)| Top(n, days)),
        2 => (amount(), days()).prop_map(|(above, days)| Totals(above, days)),
    ]
    .boxed()
}

fn entity() -> std::ops::Range<usize> {
    0..ENTITIES
}

fn entities() -> impl Strategy<Value = Vec<usize>> {
    vec(entity(), 0..6)
}

/// Mostly a small one, and sometimes one that no `f64` has.
fn amount() -> impl Strategy<Value = i64> {
    let great = [(1 << 53) + 1, -(1 << 53) - 1, 1 << 31];
    prop_oneof![9 => -3..10_i64, 1 => prop::sample::select(great.to_vec())]
}

fn amounts() -> impl Strategy<Value = Amounts> {
    [amount(), amount()]
}

/// Mostly the one in which the connection counts.
fn slot() -> impl Strategy<Value = Option<i16>> {
    prop_oneof![
        3 => Just(None),
        2 => prop::sample::select(vec![1, 8, 32]).prop_map(Some),
    ]
}

/// Days before the epoch, around it, around today, and the last ones that can be stored.
fn storable_days() -> Vec<NaiveDate> {
    let mut days = vec![
        day(1000, 1, 1),
        day(1000, 1, 7),
        day(1969, 12, 31),
        day(1970, 1, 1),
        day(1970, 1, 2),
        day(2024, 2, 29),
        day(9999, 12, 31),
    ];
    days.extend((24..=28).map(|d| day(2026, 2, d)));
    days.extend((1..=5).map(|d| day(2026, 3, d)));
    days
}

fn a_storable_day() -> impl Strategy<Value = NaiveDate> {
    prop::sample::select(storable_days())
}

fn a_day() -> impl Strategy<Value = NaiveDate> {
    let (before, after) = (day(999, 12, 31), day(10_000, 1, 1));
    let beyond = prop::sample::select(vec![NaiveDate::MIN, before, after, NaiveDate::MAX]);
    prop_oneof![15 => a_storable_day(), 1 => beyond]
}

fn days() -> impl Strategy<Value = Days> {
    let end = || {
        prop_oneof![
            a_day().prop_map(Included),
            a_day().prop_map(Excluded),
            Just(Unbounded),
        ]
    };
    (end(), end())
}
