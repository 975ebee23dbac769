//! The stored counts, as a plain map. The operations do to it what they should do to the
//! tables.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use chrono::{Datelike, Days as ChronoDays, Months, NaiveDate};
use diesel_counters::Period;

use crate::tables::{Entity, Table, today};

/// The two counters of an entity: its views, and its comments.
pub type Amounts = [i64; 2];

/// The days of a read.
pub type Days = (Bound<NaiveDate>, Bound<NaiveDate>);

/// A row of what a call returned: the key of an entity as [`Table::name`] has it, a day, and
/// numbers.
pub type Row = (Option<String>, Option<NaiveDate>, Vec<i64>);
pub type Returned = Vec<Row>;

/// A call that returned a number.
pub fn number(n: i64) -> Returned {
    vec![(None, None, vec![n])]
}

/// Why an operation fails.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    NoSuchDay,
    /// For example, a merge in a transaction, or a series by days of a table that counts by month.
    Refused,
}

/// What must be returned.
pub type Expected<T> = Result<T, Fault>;

fn day(year: i32, month: u32, day: u32) -> NaiveDate {
    NaiveDate::from_ymd_opt(year, month, day).unwrap()
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
pub fn start(day: NaiveDate, period: Period) -> NaiveDate {
    let before = match period {
        Period::Week => u64::from(day.weekday().num_days_from_monday()),
        Period::Month => u64::from(day.day0()),
        Period::Year => u64::from(day.ordinal0()),
        Period::Total => return undated(),
        _ => 0,
    };
    day.checked_sub_days(ChronoDays::new(before)).unwrap_or(day)
}

pub fn next(start: NaiveDate, period: Period) -> Option<NaiveDate> {
    match period {
        Period::Day => start.succ_opt(),
        Period::Week => start.checked_add_days(ChronoDays::new(7)),
        Period::Month => start.checked_add_months(Months::new(1)),
        _ => start.checked_add_months(Months::new(12)),
    }
}

/// The day under which a count of this day is stored.
pub fn stored(day: NaiveDate, period: Period) -> Expected<NaiveDate> {
    let start = start(day, period);
    let is_stored = (first_day()..=last_day()).contains(&start);
    is_stored.then_some(start).ok_or(Fault::NoSuchDay)
}

/// The day before which rows are merged: whole periods of the table and of the fold, except those
/// without a day.
pub fn merged_before(before: NaiveDate, period: Period, into: Period) -> NaiveDate {
    let wholes = [period, into].into_iter();
    let wholes = wholes.filter(|whole| *whole < Period::Total);
    wholes.fold(before, start).clamp(first_day(), last_day())
}

/// The day under which a fold stores the count of this day. None if it leaves the day as it is.
pub fn folded(day: NaiveDate, per: Period, before: NaiveDate, period: Period) -> Option<NaiveDate> {
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
pub fn storable(days: Days) -> Option<(NaiveDate, NaiveDate)> {
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

/// Whether a count stored under `day` is of the period of the table that has the day `on`.
pub fn is_in_period_of(day: NaiveDate, on: NaiveDate, period: Period) -> bool {
    is_read(day, (Bound::Included(on), Bound::Included(on)), period)
}

/// Whether a range has no such end. One that cannot be stored is as good as none.
pub fn is_open(end: Bound<NaiveDate>) -> bool {
    match end {
        Bound::Included(day) | Bound::Excluded(day) => !(first_day()..=last_day()).contains(&day),
        Bound::Unbounded => true,
    }
}

/// Whether a count stored under `day` is read with these days, of whose periods all is read.
pub fn is_read(day: NaiveDate, days: Days, period: Period) -> bool {
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
pub type Counts = BTreeMap<(Entity, NaiveDate, usize), i64>;

/// The rows of a counter table, of which merges and deletions tell the number.
pub type Rows = BTreeMap<(Entity, NaiveDate, i16), Amounts>;

/// All that is stored.
#[derive(Debug, Clone, Default)]
pub struct Map {
    /// The rows of the parent table, in the order of their keys.
    pub entities: Vec<Entity>,
    pub counts: Counts,
    /// The rows from which comments are recounted: an entity, a day, and how many.
    pub comments: Vec<(Entity, NaiveDate, i64)>,
    /// The views that were copied into a column, if they are not 0.
    pub totals: BTreeMap<Entity, i64>,
    pub tickets: BTreeMap<Entity, i64>,
}

/// What has to be known of the table and the connection.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub table: Table,
    /// The rows before the operation, for operations that return what depends on slots.
    pub rows: &'a Rows,
    pub in_transaction: bool,
    pub is_mysql: bool,
}

impl Place<'_> {
    pub fn period(&self) -> Period {
        self.table.period()
    }
}

impl Map {
    /// The sum of one counter over the days for which it is so.
    pub fn sum(&self, of: Entity, counter: usize, is_read: impl Fn(NaiveDate) -> bool) -> i64 {
        let days = self.counts.iter();
        let days = days.filter(|(key, _)| (key.0, key.2) == (of, counter) && is_read(key.1));
        days.map(|(_, n)| n).sum()
    }

    /// The sums of both counters.
    pub fn sums(&self, of: Entity, is_read: impl Fn(NaiveDate) -> bool) -> Vec<i64> {
        Vec::from_iter((0..2).map(|counter| self.sum(of, counter, &is_read)))
    }

    /// The days of the entity that have rows.
    pub fn days_of(&self, of: Entity) -> impl Iterator<Item = NaiveDate> {
        let days = self.counts.keys().filter(move |key| key.0 == of);
        days.map(|key| key.1)
    }

    pub fn add(&mut self, of: Entity, by: Amounts, on: NaiveDate) {
        for (counter, by) in by.into_iter().enumerate() {
            *self.counts.entry((of, on, counter)).or_default() += by;
        }
    }

    /// The sums of the views of all entities, the greatest first.
    pub fn totals_between(&self, days: Days, period: Period) -> Vec<(Entity, i64)> {
        let total = |of| self.sum(of, 0, |day| is_read(day, days, period));
        let mut totals = Vec::from_iter(self.entities.iter().map(|&of| (of, total(of))));
        totals.sort_by_key(|(of, total)| (-total, *of));
        totals
    }

    /// The entities whose keys begin as this one does.
    pub fn begin_with(&self, of: Entity, table: Table) -> Vec<Entity> {
        let has_prefix = |one: &&Entity| match table {
            Table::Labels(_) => one.number == of.number,
            _ => **one == of,
        };
        self.entities.iter().filter(has_prefix).copied().collect()
    }

    /// Recounts the comments of an entity. Returns those that were wrong, as [`Row`]s of the stored
    /// count and the true one.
    pub fn recount(&mut self, of: Entity, by_day: bool, place: Place<'_>) -> Expected<Returned> {
        if place.is_mysql && place.in_transaction {
            return Err(Fault::Refused);
        }
        let rows: Vec<_> = self
            .comments
            .iter()
            .filter(|row| row.0 == of)
            .copied()
            .collect();
        let all_days = self.days_of(of).chain(rows.iter().map(|row| row.1));
        let days: BTreeSet<_> = all_days.map(|day| by_day.then_some(day)).collect();
        let mut wrong = Returned::new();
        for day in days {
            let is_in_group = |on| day.is_none_or(|day| day == on);
            let counted = self.sum(of, 1, is_in_group);
            let rows = rows.iter().filter(|row| is_in_group(row.1));
            let actual: i64 = rows.map(|row| row.2).sum();
            if counted == actual {
                continue;
            }
            let on = match day {
                Some(day) => day,
                None => stored(today(), place.period())?,
            };
            if on != undated() && on != start(on, place.period()) && actual != 0 {
                return Err(Fault::Refused);
            }
            self.add(of, [0, actual - counted], on);
            wrong.push((Some(place.table.name(of)), day, vec![counted, actual]));
        }
        Ok(wrong)
    }
}
