//! What an operation has to do and a read to return, by a plain map of counts.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, RangeInclusive};

use chrono::{Datelike, Days as ChronoDays, Months, NaiveDate};
use diesel_counters::{Period, Slot};

use super::super::day;
use super::operations::{Amounts, Days, ENTITIES, Operation, Read, today};

/// A row of an answer: an entity, a day, and numbers.
pub type Row = (Option<usize>, Option<NaiveDate>, Vec<i64>);
pub type Answer = Vec<Row>;

/// Why an operation or a read fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    Overflow,
    NoSuchDay,
    /// A merge, or on MySQL a recount, in a transaction; a series by a period that the model
    /// does not tell apart; a recount on a day that is no first one of a period.
    Refused,
}

/// What must be returned: the answer, or one of the faults. Without an answer it must fail;
/// without faults it must not.
#[derive(Debug)]
pub struct Expected<T> {
    pub answer: Option<T>,
    pub faults: BTreeSet<Fault>,
}

impl<T> Expected<T> {
    fn new(answer: T) -> Self {
        Expected {
            answer: Some(answer),
            faults: BTreeSet::new(),
        }
    }

    fn failure(fault: Fault) -> Self {
        Expected {
            answer: None,
            faults: [fault].into(),
        }
    }

    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Expected<U> {
        Expected {
            answer: self.answer.map(f),
            faults: self.faults,
        }
    }

    fn and<U>(mut self, other: Expected<U>) -> Expected<(T, U)> {
        self.faults.extend(other.faults);
        Expected {
            answer: self.answer.zip(other.answer),
            faults: self.faults,
        }
    }

    fn all(each: impl IntoIterator<Item = Expected<T>>) -> Expected<Vec<T>> {
        each.into_iter()
            .fold(Expected::new(Vec::new()), |all, one| {
                all.and(one).map(|(mut all, one)| {
                    all.push(one);
                    all
                })
            })
    }
}

/// A sum that must be exact, and is an overflow if it is out of range. On SQLite it may be an
/// overflow too if some of the numbers add up to one.
fn sum(numbers: impl IntoIterator<Item = i128> + Clone) -> Expected<i64> {
    let partial = partial_overflow(numbers.clone());
    let mut expected = fitting(numbers.into_iter().sum());
    expected
        .faults
        .extend(partial.filter(|_| !crate::HAS_SLOTS));
    expected
}

/// An overflow that depends on the order of the numbers.
fn partial_overflow(numbers: impl IntoIterator<Item = i128> + Clone) -> Option<Fault> {
    let parts = [i128::is_negative, i128::is_positive];
    let is_partial_overflow = parts.iter().any(|of| {
        let part: i128 = numbers.clone().into_iter().filter(|n| of(*n)).sum();
        i64::try_from(part).is_err()
    });
    is_partial_overflow.then_some(Fault::Overflow)
}

fn fitting(n: i128) -> Expected<i64> {
    match i64::try_from(n) {
        Ok(n) => Expected::new(n),
        Err(_) => Expected::failure(Fault::Overflow),
    }
}

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
    if (first_day()..=last_day()).contains(&start) {
        Expected::new(start)
    } else {
        Expected::failure(Fault::NoSuchDay)
    }
}

/// The day before which rows are merged: whole periods, except those without a day.
fn merged_before(before: NaiveDate, period: Period) -> NaiveDate {
    let before = match period {
        Period::Total => before,
        _ => start(before, period),
    };
    before.clamp(first_day(), last_day())
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

/// All that is stored.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Map {
    /// By entity, day and counter. A count can be greater than an `i64` if it is that of
    /// several slots.
    pub counts: BTreeMap<(usize, NaiveDate, usize), i128>,
    /// What is recounted.
    pub facts: Vec<(usize, NaiveDate, i64)>,
    /// The materialized totals.
    pub totals: [i64; ENTITIES],
}

/// The rows of the table, which decide what overflows.
pub type Rows = BTreeMap<(usize, NaiveDate, i16), Amounts>;

/// What has to be known of the connection.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub period: Period,
    pub rows: &'a Rows,
    /// The slot that the connection counts in, of 32 and of 2.
    pub slots: [i16; 2],
    pub in_transaction: bool,
}

impl Place<'_> {
    /// The slots of which it is one.
    fn slots_of(&self, slot: Slot) -> RangeInclusive<i16> {
        let is_timeless = self.period == Period::Total;
        let one = match slot {
            _ if !crate::HAS_SLOTS => 0,
            Slot::Random => return 1..=if is_timeless { 2 } else { 32 },
            Slot::Partition { index, .. } => 1 + index as i16,
            _ => self.slots[usize::from(is_timeless)],
        };
        one..=one
    }

    fn add(
        &self,
        map: &mut Map,
        of: usize,
        by: Amounts,
        on: NaiveDate,
        slot: Slot,
    ) -> Expected<()> {
        let overflows = |slot| {
            let row = self.rows.get(&(of, on, slot)).copied().unwrap_or_default();
            row.iter()
                .zip(by)
                .any(|(n, by)| n.checked_add(by).is_none())
        };
        let mut expected = Expected::new(());
        if self.slots_of(slot).any(overflows) {
            expected.faults.insert(Fault::Overflow);
        }
        if self.slots_of(slot).all(overflows) {
            expected.answer = None;
        }
        for (counter, by) in by.into_iter().enumerate() {
            *map.counts.entry((of, on, counter)).or_default() += i128::from(by);
        }
        expected
    }
}

fn number(n: i64) -> Answer {
    vec![(None, None, vec![n])]
}

impl Map {
    fn days_of(
        &self,
        of: usize,
        counter: usize,
    ) -> impl Iterator<Item = (NaiveDate, i128)> + Clone {
        let days = self.counts.iter();
        days.filter(move |(key, _)| (key.0, key.2) == (of, counter))
            .map(|(&(_, day, _), &n)| (day, n))
    }

    /// The sum of one counter over the days for which it is so.
    fn sum(
        &self,
        of: usize,
        counter: usize,
        is_read: impl Fn(NaiveDate) -> bool + Clone,
    ) -> Expected<i64> {
        let days = self.days_of(of, counter);
        sum(days.filter(move |&(day, _)| is_read(day)).map(|(_, n)| n))
    }

    /// The sums of both counters.
    fn sums(&self, of: usize, is_read: impl Fn(NaiveDate) -> bool + Clone) -> Expected<Vec<i64>> {
        Expected::all((0..2).map(|counter| self.sum(of, counter, is_read.clone())))
    }

    /// Or at its limits.
    pub fn corrects_a_count_beyond_an_i64(&self, operation: &Operation) -> bool {
        let is_beyond = |of: usize| {
            (0..2).any(|counter| {
                let days = self.days_of(of, counter).map(|(_, n)| n);
                let mut counts = days.clone().chain([days.sum()]);
                counts.any(|n| n <= i64::MIN.into() || n >= i64::MAX.into())
            })
        };
        match *operation {
            Operation::Set { of, .. } | Operation::Recount { of, .. } => is_beyond(of),
            Operation::RecountAll { .. } => (0..ENTITIES).any(is_beyond),
            _ => false,
        }
    }

    fn has_rows(&self, of: usize, is_read: impl Fn(NaiveDate) -> bool) -> bool {
        self.days_of(of, 0).any(|(day, _)| is_read(day))
    }

    fn fact_sums(&self, of: usize) -> Expected<i64> {
        let facts = self.facts.iter().filter(move |fact| fact.0 == of);
        sum(facts.map(|fact| i128::from(fact.2)))
    }

    /// The counts and the facts of a day.
    fn day_and_facts(&self, of: usize, on: NaiveDate) -> Expected<(i64, i64)> {
        let facts = self
            .facts
            .iter()
            .filter(move |fact| (fact.0, fact.1) == (of, on));
        self.sum(of, 0, move |day| day == on)
            .and(sum(facts.map(|fact| i128::from(fact.2))))
    }

    fn counted_or_true_days(&self, of: usize) -> BTreeSet<NaiveDate> {
        let facts = self.facts.iter().filter(|fact| fact.0 == of);
        let counted = self.days_of(of, 0).map(|(day, _)| day);
        counted.chain(facts.map(|fact| fact.1)).collect()
    }

    /// What the operation returns, and the map after it.
    pub fn after(&self, operation: &Operation, place: Place<'_>) -> Expected<(Answer, Map)> {
        let Place { period, .. } = place;
        let mut map = self.clone();
        let answer = match operation {
            Operation::Count {
                by: [0, 0],
                on: None,
                slot: Slot::Connection,
                ..
            } => Expected::new(number(0)),
            &Operation::Count { of, by, on, slot } => {
                let day = stored(on.unwrap_or(today()), period);
                match day.answer {
                    Some(day) => place.add(&mut map, of, by, day, slot).map(|()| number(1)),
                    None => day.map(|_| unreachable!()),
                }
            }
            Operation::CountMany { of, on, slot } => {
                map.count_many(of, on.unwrap_or(today()), *slot, place)
            }
            &Operation::Set { of, to } => map.set(of, to, place),
            &Operation::AddFact { of, on, n } => {
                map.facts.push((of, on, n));
                Expected::new(number(1))
            }
            Operation::Recount { .. } | Operation::RecountAll { .. }
                if crate::IS_MYSQL && place.in_transaction =>
            {
                Expected::failure(Fault::Refused)
            }
            &Operation::Recount { of, by_day } => {
                let added = map.recount(of, by_day, place);
                let added = added.map(|drifts| drifts.iter().map(|drift| drift.2 - drift.1).sum());
                match added.answer {
                    Some(n) => Expected {
                        answer: fitting(n).answer.map(number),
                        faults: &added.faults | &fitting(n).faults,
                    },
                    None => added.map(|_| unreachable!()),
                }
            }
            &Operation::RecountAll { by_day } => {
                let each = (0..ENTITIES).map(|of| {
                    let drifts = map.recount(of, by_day, place);
                    drifts.map(|drifts| {
                        let rows = drifts.into_iter().map(|(day, stored, actual)| {
                            (Some(of), day, vec![stored as i64, actual as i64])
                        });
                        rows.collect::<Answer>()
                    })
                });
                Expected::all(each.collect::<Vec<_>>()).map(|each| each.concat())
            }
            &Operation::Delete(of) => Expected::new(number(map.delete(&[of], place))),
            Operation::DeleteMany(of) => Expected::new(number(map.delete(of, place))),
            Operation::Compact { .. } | Operation::Fold { .. } if place.in_transaction => {
                Expected::failure(Fault::Refused)
            }
            &Operation::Compact { before, .. } => {
                let before = merged_before(before, place.period);
                map.merge(|day, slot| day < before && slot > 0, None, place)
            }
            &Operation::Fold { before, .. } => {
                let before = merged_before(before, place.period);
                map.merge(
                    |day, _| day > undated() && day < before,
                    Some(undated()),
                    place,
                )
            }
            Operation::Materialize => {
                let totals = Expected::all((0..ENTITIES).map(|of| map.sum(of, 0, |_| true)));
                totals.map(|totals| {
                    let differs = totals.iter().zip(map.totals).filter(|(a, b)| **a != *b);
                    let written = differs.count() as i64;
                    map.totals = totals.try_into().unwrap();
                    number(written)
                })
            }
            Operation::Transaction { .. } => unreachable!("a transaction is several operations"),
        };
        answer.map(|answer| (answer, map))
    }

    fn count_many(
        &mut self,
        of: &[(usize, Amounts)],
        on: NaiveDate,
        slot: Slot,
        place: Place<'_>,
    ) -> Expected<Answer> {
        let mut sums = BTreeMap::<usize, [i128; 2]>::new();
        let mut partial = BTreeSet::new();
        for entity in 0..ENTITIES {
            for counter in 0..2 {
                let amounts = of.iter().filter(|(of, _)| *of == entity);
                let amounts = amounts.map(|(_, by)| i128::from(by[counter]));
                partial.extend(partial_overflow(amounts));
            }
        }
        for (of, by) in of {
            let sum = sums.entry(*of).or_default();
            sum.iter_mut()
                .zip(by)
                .for_each(|(sum, by)| *sum += i128::from(*by));
        }
        let sums = sums.into_iter().map(|(of, sum)| {
            let amounts = Expected::all(sum.map(fitting));
            amounts.map(|amounts| (of, Amounts::try_from(amounts).unwrap()))
        });
        let sums = Expected::all(sums);
        let Some(mut counts) = sums.answer else {
            return sums.map(|_| unreachable!());
        };
        counts.retain(|(_, by)| *by != [0, 0]);
        let day = stored(on, place.period);
        if counts.is_empty() {
            let mut nothing = Expected::new(number(0));
            nothing.faults.extend(partial);
            return nothing;
        }
        let Some(day) = day.answer else {
            return day.map(|_| unreachable!());
        };
        let added = counts
            .iter()
            .map(|&(of, by)| place.add(self, of, by, day, slot));
        let mut added = Expected::all(added).map(|added| number(added.len() as i64));
        added.faults.extend(partial);
        added
    }

    fn set(&mut self, of: usize, to: Amounts, place: Place<'_>) -> Expected<Answer> {
        let mut before = self.sums(of, |_| true);
        // The library adds the rows up.
        for counter in 0..2 {
            let rows = place.rows.iter().filter(|(key, _)| key.0 == of);
            let rows = rows.map(|(_, amounts)| i128::from(amounts[counter]));
            before.faults.extend(partial_overflow(rows));
        }
        let by = before
            .answer
            .iter()
            .flatten()
            .zip(to)
            .map(|(&before, to)| fitting(i128::from(to) - i128::from(before)));
        let by = Expected::all(by);
        let day = stored(today(), place.period).answer.unwrap();
        let added = match &by.answer {
            Some(by) if before.answer.is_some() => {
                place.add(self, of, [by[0], by[1]], day, Slot::Connection)
            }
            _ => Expected::new(()),
        };
        before
            .and(by)
            .and(added)
            .map(|((before, _), ())| vec![(None, None, before)])
    }

    /// The counts that were wrong: the stored and the true ones.
    fn recount(
        &mut self,
        of: usize,
        by_day: bool,
        place: Place<'_>,
    ) -> Expected<Vec<(Option<NaiveDate>, i128, i128)>> {
        let groups: Vec<_> = if by_day {
            let days = self.counted_or_true_days(of).into_iter();
            days.map(|day| (Some(day), self.day_and_facts(of, day)))
                .collect()
        } else {
            vec![(None, self.sum(of, 0, |_| true).and(self.fact_sums(of)))]
        };
        let corrected = groups.into_iter().map(|(day, group)| {
            let Some((stored_count, actual)) = group.answer else {
                return group.map(|_| unreachable!());
            };
            let drift = (day, i128::from(stored_count), i128::from(actual));
            if stored_count == actual {
                return group.map(|_| drift);
            }
            let difference = fitting(drift.2 - drift.1);
            let on = day.unwrap_or(stored(today(), place.period).answer.unwrap());
            let is_first = on == undated() || on == start(on, place.period);
            let added = match difference.answer {
                // What was added on earlier days can overflow before.
                _ if day.is_some() && !is_first && actual != 0 => Expected {
                    answer: None,
                    faults: [Fault::Refused, Fault::Overflow].into(),
                },
                Some(by) => place.add(self, of, [by, 0], on, Slot::Connection),
                None => Expected::new(()),
            };
            group.and(difference).and(added).map(|_| drift)
        });
        Expected::all(corrected).map(|mut drifts| {
            drifts.retain(|(_, stored, actual)| stored != actual);
            drifts
        })
    }

    /// The number of entities that had counts. The row that corrections lock is none if it is zero.
    fn delete(&mut self, of: &[usize], place: Place<'_>) -> i64 {
        self.counts.retain(|key, _| !of.contains(&key.0));
        let rows = place.rows.iter().filter(|(key, _)| of.contains(&key.0));
        let counts = rows.filter(|((_, day, slot), amounts)| {
            (*day, *slot) != (NaiveDate::default(), 0) || amounts.iter().any(|&n| n != 0)
        });
        let entities: BTreeSet<_> = counts.map(|(key, _)| key.0).collect();
        entities.len() as i64
    }

    /// Moves the rows into slot 0 of their day, or of the day `into`. The number of rows.
    fn merge(
        &mut self,
        is_merged: impl Fn(NaiveDate, i16) -> bool,
        into: Option<NaiveDate>,
        place: Place<'_>,
    ) -> Expected<Answer> {
        let mut groups = BTreeMap::<(usize, NaiveDate), Vec<Amounts>>::new();
        let mut merged = 0;
        for (&(of, day, slot), &amounts) in place.rows {
            if is_merged(day, slot) {
                groups
                    .entry((of, into.unwrap_or(day)))
                    .or_default()
                    .push(amounts);
                merged += 1;
            }
        }
        let mut expected = Expected::new(number(merged));
        for (&(of, into), rows) in &groups {
            let target = place.rows.get(&(of, into, 0)).copied().unwrap_or_default();
            for counter in 0..2 {
                let all = rows
                    .iter()
                    .chain([&target])
                    .map(|row| i128::from(row[counter]));
                expected = expected.and(fitting(all.clone().sum())).map(|(all, _)| all);
                // In batches, a part can overflow.
                for is in [i128::is_negative, i128::is_positive] {
                    let part = fitting(all.clone().filter(|n| is(*n)).sum());
                    expected.faults.extend(part.faults);
                }
            }
        }
        if let Some(into) = into {
            for ((of, day, counter), n) in std::mem::take(&mut self.counts) {
                let day = if is_merged(day, 0) { into } else { day };
                *self.counts.entry((of, day, counter)).or_default() += n;
            }
        }
        expected
    }

    pub fn read(&self, read: &Read, place: Place<'_>) -> Expected<Answer> {
        let Place { period, .. } = place;
        let one = |sums: Expected<Vec<i64>>| sums.map(|sums| vec![(None, None, sums)]);
        match read {
            &Read::Value(of) => one(self.sums(of, |_| true)),
            &Read::ValueOn(of, on) if (first_day()..=last_day()).contains(&on) => {
                let only = (Bound::Included(on), Bound::Included(on));
                one(self.sums(of, |day| is_read(day, only, period)))
            }
            Read::ValueOn(..) => Expected::failure(Fault::NoSuchDay),
            &Read::ValueBetween(of, days) => one(self.sums(of, |day| is_read(day, days, period))),
            Read::ValuesBetween(of, days) => Expected::all(of.iter().map(|&of| {
                let sums = self.sums(of, |day| is_read(day, *days, period));
                sums.map(|sums| (Some(of), None, sums))
            })),
            Read::Series { of, per, days } => self.series(&[*of], *per, *days, period),
            Read::SeriesOfMany { of, per, days } => self.series(of, *per, *days, period),
            &Read::Top(n, days) => self.top(n, |day| is_read(day, days, period)),
            &Read::Totals { above, days } => {
                let totals = (0..ENTITIES).map(|of| {
                    let total = self.sum(of, 0, |day| is_read(day, days, period));
                    total.map(|total| (Some(of), None, vec![total]))
                });
                Expected::all(totals).map(|mut totals| {
                    totals.retain(|row| row.2[0] > above);
                    totals.sort_by_key(|row| (-i128::from(row.2[0]), row.0));
                    totals
                })
            }
        }
    }

    fn top(&self, limit: i64, is_read: impl Fn(NaiveDate) -> bool + Copy) -> Expected<Answer> {
        let entities = (0..ENTITIES).filter(|&of| self.has_rows(of, is_read));
        let totals = entities.map(|of| {
            let total = self.sum(of, 0, is_read);
            total.map(|total| (Some(of), None, vec![total]))
        });
        let mut top = Expected::all(totals).map(|mut top| {
            top.sort_by_key(|row| (-i128::from(row.2[0]), row.0));
            top.truncate(limit.try_into().unwrap());
            top
        });
        // A database need not add up what it does not return.
        if limit == 0 {
            top.answer = Some(Vec::new());
        }
        top
    }

    /// The series of each entity, one after the other.
    fn series(&self, of: &[usize], per: Period, days: Days, period: Period) -> Expected<Answer> {
        if period == Period::Total || per < period {
            return Expected::failure(Fault::Refused);
        }
        let is_read = |day| is_read(day, days, per);
        let bars = self.bars(of, per, days);
        // What has no day is read too, and is in no series.
        let read = of.iter().flat_map(|&of| {
            let days = self.days_of(of, 0).filter(move |&(day, _)| is_read(day));
            days.flat_map(move |(on, _)| (0..2).map(move |c| self.sum(of, c, move |day| day == on)))
        });
        let read = Expected::all(read.collect::<Vec<_>>());
        let rows = of.iter().flat_map(|&of| {
            bars.iter().map(move |&bar| {
                let is_in = move |&(day, _): &(NaiveDate, i128)| {
                    is_read(day) && day != undated() && start(day, per) == bar
                };
                let sums = (0..2).map(|counter| {
                    let days = self.days_of(of, counter).filter(is_in).map(|(_, n)| n);
                    let mut sum = fitting(days.clone().sum());
                    sum.faults.extend(partial_overflow(days));
                    sum
                });
                Expected::all(sums).map(|sums| (Some(of), Some(bar), sums))
            })
        });
        let mut series = Expected::all(rows);
        if read.answer.is_none() {
            series.answer = None;
        }
        series.faults.extend(read.faults);
        series
    }

    /// The first days of the periods of a series.
    pub fn bars(&self, of: &[usize], per: Period, days: Days) -> Vec<NaiveDate> {
        let Some((first, last)) = storable(days) else {
            return Vec::new();
        };
        let days_of = of
            .iter()
            .flat_map(|&of| self.days_of(of, 0).map(|(day, _)| day));
        let counted = days_of.filter(|&day| is_read(day, days, per) && day != undated());
        let counted: BTreeSet<_> = counted.collect();
        let first = if is_open(days.0) {
            counted.first().copied()
        } else {
            Some(first)
        };
        let last = if is_open(days.1) {
            counted.last().copied()
        } else {
            Some(last)
        };
        let (Some(first), Some(last)) = (first, last) else {
            return Vec::new();
        };
        std::iter::successors(Some(start(first, per)), |&day| next(day, per))
            .take_while(|&day| day <= last)
            .collect()
    }
}
