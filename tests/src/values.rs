//! Random parameters of operations, for the test against a map.

use std::ops::Bound::{Excluded, Included, Unbounded};

use chrono::NaiveDate;
use diesel_counters::Period;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::map::{Amounts, Days};
use crate::tables::Entity;

/// In the order in which a database sorts their keys.
pub const ENTITIES: [Entity; 4] = [
    Entity::new(i64::MIN, ""),
    Entity::new(-1, "a"),
    Entity::new(3, "a'\\%$1?"),
    Entity::new(i64::MAX, "é🦀"),
];

fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
}

pub fn entity() -> impl Strategy<Value = Entity> {
    prop::sample::select(&ENTITIES[..])
}

pub fn entities() -> impl Strategy<Value = Vec<Entity>> {
    vec(entity(), 0..6)
}

pub fn period() -> impl Strategy<Value = Period> {
    prop_oneof![4 => series_period(), 1 => Just(Period::Total)]
}

/// Those by which a series can be.
pub fn series_period() -> impl Strategy<Value = Period> {
    prop::sample::select(vec![Period::Day, Period::Week, Period::Month, Period::Year])
}

/// Mostly a small one, and sometimes one that no `f64` has.
pub fn amount() -> impl Strategy<Value = i64> {
    let great = [(1 << 53) + 1, -(1 << 53) - 1, 1 << 31];
    prop_oneof![9 => -3..10_i64, 1 => prop::sample::select(great.to_vec())]
}

pub fn amounts() -> impl Strategy<Value = Amounts> {
    [amount(), amount()]
}

/// Days before the epoch, around it, around today, and the last ones that can be stored.
fn storable_days() -> Vec<NaiveDate> {
    let mut days = vec![
        date(1000, 1, 1),
        date(1000, 1, 7),
        date(1969, 12, 31),
        date(1970, 1, 1),
        date(1970, 1, 2),
        date(2024, 2, 29),
        date(9999, 12, 31),
    ];
    days.extend((24..=28).map(|d| date(2026, 2, d)));
    days.extend((1..=5).map(|d| date(2026, 3, d)));
    days
}

pub fn a_storable_day() -> impl Strategy<Value = NaiveDate> {
    prop::sample::select(storable_days())
}

pub fn a_day() -> impl Strategy<Value = NaiveDate> {
    let (before, after) = (date(999, 12, 31), date(10_000, 1, 1));
    let beyond = prop::sample::select(vec![NaiveDate::MIN, before, after, NaiveDate::MAX]);
    prop_oneof![15 => a_storable_day(), 1 => beyond]
}

pub fn days() -> impl Strategy<Value = Days> {
    let end = || {
        prop_oneof![
            a_day().prop_map(Included),
            a_day().prop_map(Excluded),
            Just(Unbounded),
        ]
    };
    (end(), end())
}
