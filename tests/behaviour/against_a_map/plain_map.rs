//! What an operation has to do and a read to return, by a plain map of counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use chrono::{Datelike, Days as ChronoDays, Months, NaiveDate};
use diesel_counters::Period;

use super::super::day;
use super::operations::{Amounts, Days, ENTITIES, Operation, Read, today};

/// A row of an answer: an entity, a day, and numbers.
pub type Row = (Option<usize>, Option<NaiveDate>, Vec<i64>);
pub type Answer = Vec<Row>;

/// Why an operation or a read fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    NoSuchDay,
    /// A merge, or on MySQL a recount, in a transaction; a series by a period that the model
    /// does not tell apart; a recount on a day that is no first one of a period.
    Refused,
}

/// What must be returned.
pub type Expected<T> = Result<T, Fault>;

fn first_day() -> NaiveDate {
    day(1000, 1, 1)
}

fn last_day() -> NaiveDate {
    day(9999, 12, 31)
}

pub fn undated() -> NaiveDate {
    day(1970, 1, 1)
}

/// The first day of the period.
fn start(day: NaiveDate, period: Period) -> NaiveDate {
    let before = match period {
        Period::Week => u64::from(day.weekday().num_days_from_monday()),
        Period::Month => u64::from(day.day0()),
        Period::Year => u64::from(day.ordinal0()),
        Period::Total => return undated(),
        _ => 0,
    };
    day.checked_sub_days(ChronoDays::new(before)).unwrap_or(day)
}

fn next(start: NaiveDate, period: Period) -> Option<NaiveDate> {
    match period {
        Period::Day => start.succ_opt(),
        Period::Week => start.checked_add_days(ChronoDays::new(7)),
        Period::Month => start.checked_add_months(Months::new(1)),
        _ => start.checked_add_months(Months::new(12)),
    }
}

/// The day under which a count of this day is stored.
fn stored(day: NaiveDate, period: Period) -> Expected<NaiveDate> {
    let start = start(day, period);
    let is_stored = (first_day()..=last_day()).contains(&start);
    is_stored.then_some(start).ok_or(Fault::NoSuchDay)
}

/// The day before which rows are merged: whole periods of the table and of the fold, except those
/// without a day.
fn merged_before(before: NaiveDate, period: Period, into: Period) -> NaiveDate {
    let wholes = [period, into].into_iter();
    let wholes = wholes.filter(|whole| *whole < Period::Total);
    wholes.fold(before, start).clamp(first_day(), last_day())
}

/// The day under which a fold stores the count of this day. None if it leaves the day as it is.
fn folded(day: NaiveDate, per: Period, before: NaiveDate, period: Period) -> Option<NaiveDate> {
    if per == Period::Day {
        let before = merged_before(before, period, per);
        return (day < before).then_some(day);
    }
    let per = per.max(period);
    let before = merged_before(before, period, per);
    // The period of 1970-01-01 has counts without a day.
    let is_undated = day <= undated() || per < Period::Total && start(day, per) <= undated();
    let folded = match per {
        // A week that begins in the month before is stored in two parts.
        Period::Week => start(day, per).max(start(day, Period::Month)),
        _ => start(day, per),
    };
    (day < before && !is_undated).then_some(folded)
}

/// The first and the last day of a range that can be stored.
fn storable(days: Days) -> Option<(NaiveDate, NaiveDate)> {
    let first = match days.0 {
        Bound::Included(day) => day,
        Bound::Excluded(day) => day.succ_opt()?,
        Bound::Unbounded => first_day(),
    };
    let last = match days.1 {
        Bound::Included(day) => day,
        Bound::Excluded(day) => day.pred_opt()?,
        Bound::Unbounded => last_day(),
    };
    let (first, last) = (first.max(first_day()), last.min(last_day()));
    (first <= last).then_some((first, last))
}

/// Whether a range has no such end. One that cannot be stored is as good as none.
fn is_open(end: Bound<NaiveDate>) -> bool {
    match end {
        Bound::Included(day) | Bound::Excluded(day) => !(first_day()..=last_day()).contains(&day),
        Bound::Unbounded => true,
    }
}

/// Whether a count stored under `day` is read with these days, of whose periods all is read.
fn is_read(day: NaiveDate, days: Days, period: Period) -> bool {
    let Some((first, last)) = storable(days) else {
        return false;
    };
    match period {
        _ if (first, last) == (first_day(), last_day()) => true,
        Period::Total => day == undated(),
        _ => (start(first, period)..=start(last, period)).contains(&start(day, period)),
    }
}

/// By entity, day and counter.
pub type Counts = BTreeMap<(usize, NaiveDate, usize), i64>;

/// All that is stored.
#[derive(Debug, Clone, Default)]
pub struct Map {
    pub counts: Counts,
    /// What is recounted.
    pub facts: Vec<(usize, NaiveDate, i64)>,
    /// The materialized totals.
    pub totals: [i64; ENTITIES],
}

/// The rows of the table, of which merges and deletions tell the number.
pub type Rows = BTreeMap<(usize, NaiveDate, i16), Amounts>;

/// What has to be known of the connection.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub period: Period,
    pub rows: &'a Rows,
    pub in_transaction: bool,
}

fn number(n: usize) -> Answer {
    vec![(None, None, vec![n as i64])]
}

impl Map {
    /// The sum of one counter over the days for which it is so.
    fn sum(&self, of: usize, counter: usize, is_read: impl Fn(NaiveDate) -> bool) -> i64 {
        let days = self.counts.iter();
        let days = days.filter(|(key, _)| (key.0, key.2) == (of, counter) && is_read(key.1));
        days.map(|(_, n)| n).sum()
    }

    /// The sums of both counters.
    fn sums(&self, of: usize, is_read: impl Fn(NaiveDate) -> bool) -> Vec<i64> {
        Vec::from_iter((0..2).map(|counter| self.sum(of, counter, &is_read)))
    }

    /// The days of the entity that have rows.
    fn days_of(&self, of: usize) -> impl Iterator<Item = NaiveDate> {
        let days = self.counts.keys().filter(move |key| key.0 == of);
        days.map(|key| key.1)
    }

    fn fact_sum(&self, of: usize, is_read: impl Fn(NaiveDate) -> bool) -> i64 {
        let facts = self.facts.iter();
        let facts = facts.filter(|fact| fact.0 == of && is_read(fact.1));
        facts.map(|fact| fact.2).sum()
    }

    fn add(&mut self, of: usize, by: Amounts, on: NaiveDate) {
        for (counter, by) in by.into_iter().enumerate() {
            *self.counts.entry((of, on, counter)).or_default() += by;
        }
    }

    /// What the operation returns, and the map after it.
    pub fn after(&self, operation: &Operation, place: Place<'_>) -> Expected<(Answer, Map)> {
        let Place { period, .. } = place;
        let mut map = self.clone();
        let answer = match operation {
            Operation::Count {
                by: [0, 0],
                on: None,
                slot: None,
                ..
            } => number(0),
            &Operation::Count { of, by, on, .. } => {
                map.add(of, by, stored(on.unwrap_or(today()), period)?);
                number(1)
            }
            Operation::CountMany { of, on, .. } => {
                let mut sums = BTreeMap::<usize, Amounts>::new();
                for (of, by) in of {
                    let sum = sums.entry(*of).or_default();
                    sum.iter_mut().zip(by).for_each(|(sum, by)| *sum += by);
                }
                sums.retain(|_, by| *by != [0, 0]);
                let day = stored(on.unwrap_or(today()), period);
                for (&of, &by) in &sums {
                    map.add(of, by, day?);
                }
                number(sums.len())
            }
            &Operation::Set { of, to } => {
                let before = map.sums(of, |_| true);
                let by = [to[0] - before[0], to[1] - before[1]];
                map.add(of, by, stored(today(), period)?);
                vec![(None, None, before)]
            }
            &Operation::AddFact { of, on, n } => {
                map.facts.push((of, on, n));
                number(1)
            }
            Operation::Recount { .. } | Operation::RecountAll { .. }
                if crate::IS_MYSQL && place.in_transaction =>
            {
                return Err(Fault::Refused);
            }
            &Operation::Recount { of, by_day } => {
                let drifts = map.recount(of, by_day, period)?;
                let added = drifts.iter().map(|(_, stored, actual)| actual - stored);
                vec![(None, None, vec![added.sum()])]
            }
            &Operation::RecountAll { by_day } => {
                let mut rows = Answer::new();
                for of in 0..ENTITIES {
                    for (day, stored, actual) in map.recount(of, by_day, period)? {
                        rows.push((Some(of), day, vec![stored, actual]));
                    }
                }
                rows
            }
            &Operation::Delete(of) => map.delete(&[of], place),
            Operation::DeleteMany(of) => map.delete(of, place),
            Operation::Compact { .. } | Operation::Fold { .. } if place.in_transaction => {
                return Err(Fault::Refused);
            }
            &Operation::Compact { before, .. } => {
                let before = merged_before(before, period, Period::Day);
                let rows = place.rows.keys();
                number(rows.filter(|row| row.1 < before && row.2 > 0).count())
            }
            &Operation::Fold { per, before, .. } => {
                let folded = |day| folded(day, per, before, period);
                for ((of, day, counter), n) in std::mem::take(&mut map.counts) {
                    let day = folded(day).unwrap_or(day);
                    *map.counts.entry((of, day, counter)).or_default() += n;
                }
                let is_merged = |row: &&(usize, NaiveDate, i16)| {
                    folded(row.1).is_some_and(|day| day != row.1 || row.2 > 0)
                };
                number(place.rows.keys().filter(is_merged).count())
            }
            Operation::Materialize => {
                let totals = std::array::from_fn(|of| map.sum(of, 0, |_| true));
                let held = std::mem::replace(&mut map.totals, totals);
                number(totals.iter().zip(held).filter(|(a, b)| **a != *b).count())
            }
            Operation::Transaction { .. } => unreachable!("a transaction is several operations"),
        };
        Ok((answer, map))
    }

    /// The counts that were wrong: the stored and the true ones.
    fn recount(
        &mut self,
        of: usize,
        by_day: bool,
        period: Period,
    ) -> Expected<Vec<(Option<NaiveDate>, i64, i64)>> {
        let facts = self.facts.iter().filter(|fact| fact.0 == of);
        let all_days = self.days_of(of).chain(facts.map(|fact| fact.1));
        let days: BTreeSet<_> = all_days.map(|day| by_day.then_some(day)).collect();
        let mut drifts = Vec::new();
        for day in days {
            let is_of_group = |on| day.is_none_or(|day| day == on);
            let stored_count = self.sum(of, 0, is_of_group);
            let actual = self.fact_sum(of, is_of_group);
            if stored_count == actual {
                continue;
            }
            let on = day.unwrap_or(stored(today(), period)?);
            if on != undated() && on != start(on, period) && actual != 0 {
                return Err(Fault::Refused);
            }
            self.add(of, [actual - stored_count, 0], on);
            drifts.push((day, stored_count, actual));
        }
        Ok(drifts)
    }

    /// The number of entities that had counts. The row that corrections lock is none if it is zero.
    fn delete(&mut self, of: &[usize], place: Place<'_>) -> Answer {
        self.counts.retain(|key, _| !of.contains(&key.0));
        let rows = place.rows.iter().filter(|(key, _)| of.contains(&key.0));
        let counts = rows.filter(|((_, day, slot), amounts)| {
            (*day, *slot) != (NaiveDate::default(), 0) || amounts.iter().any(|&n| n != 0)
        });
        let entities: BTreeSet<_> = counts.map(|(key, _)| key.0).collect();
        number(entities.len())
    }

    pub fn read(&self, read: &Read, period: Period) -> Expected<Answer> {
        let one = |of, days| vec![(None, None, self.sums(of, |day| is_read(day, days, period)))];
        let totals = |days| {
            let totals = (0..ENTITIES).map(move |of| {
                let total = self.sum(of, 0, |day| is_read(day, days, period));
                (Some(of), None, vec![total])
            });
            let mut totals = Vec::from_iter(totals);
            totals.sort_by_key(|row| (-row.2[0], row.0));
            totals
        };
        Ok(match read {
            &Read::Value(of) => vec![(None, None, self.sums(of, |_| true))],
            &Read::ValueOn(of, on) => {
                stored(on, Period::Day)?;
                one(of, (Bound::Included(on), Bound::Included(on)))
            }
            &Read::ValueBetween(of, days) => one(of, days),
            Read::ValuesBetween(of, days) => {
                let values = of.iter().map(|&of| (Some(of), one(of, *days).remove(0).2));
                values.map(|(of, sums)| (of, None, sums)).collect()
            }
            Read::Series(of, per, days) => self.series(&[*of], *per, *days, period)?,
            Read::SeriesOfMany(of, per, days) => self.series(of, *per, *days, period)?,
            &Read::Top(limit, days) => {
                let mut top = totals(days);
                top.retain(|row| {
                    let mut days_of = self.days_of(row.0.unwrap());
                    days_of.any(|day| is_read(day, days, period))
                });
                top.truncate(limit.try_into().unwrap());
                top
            }
            &Read::Totals(above, days) => {
                let mut totals = totals(days);
                totals.retain(|row| row.2[0] > above);
                totals
            }
        })
    }

    /// The series of each entity, one after the other.
    fn series(&self, of: &[usize], per: Period, days: Days, period: Period) -> Expected<Answer> {
        if period == Period::Total || per < period {
            return Err(Fault::Refused);
        }
        let bars = self.bars(of, per, days);
        let rows = of.iter().flat_map(|&of| {
            bars.iter().map(move |&bar| {
                let is_in =
                    |day| is_read(day, days, per) && day != undated() && start(day, per) == bar;
                (Some(of), Some(bar), self.sums(of, is_in))
            })
        });
        Ok(rows.collect())
    }

    /// The first days of the periods of a series.
    pub fn bars(&self, of: &[usize], per: Period, days: Days) -> Vec<NaiveDate> {
        let Some((first, last)) = storable(days) else {
            return Vec::new();
        };
        let days_of = of.iter().flat_map(|&of| self.days_of(of));
        let counted = days_of.filter(|&day| is_read(day, days, per) && day != undated());
        let counted: BTreeSet<_> = counted.collect();
        let mut ends = (Some(first), Some(last));
        if is_open(days.0) {
            ends.0 = counted.first().copied();
        }
        if is_open(days.1) {
            ends.1 = counted.last().copied();
        }
        let (Some(first), Some(last)) = ends else {
            return Vec::new();
        };
        std::iter::successors(Some(start(first, per)), |&day| next(day, per))
            .take_while(|&day| day <= last)
            .collect()
    }
}
