//! The rows that a merge merges, and the rows that it adds them to.

use std::cmp::Reverse;

use chrono::NaiveDate;

use crate::day::{Day, DayRange, Period, UNDATED};
use crate::merge::compact::Compact;
use crate::shape::Shape;
use crate::sql::{CounterBackend, Dialect, Sql, and, sql};

/// The day under which a fold stores the count of `day`: the first day of its period.
///
/// If a week begins in the month before, its count is stored under the first day of the month
/// instead, so that a fold into weeks moves no count from one month to another. Otherwise, it could
/// take the row of a whole month, from an earlier fold into months, for the row of a day, and move
/// it to the month before.
pub(crate) fn folded_day(into: Period, day: NaiveDate) -> NaiveDate {
    match into {
        Period::Week => Period::Week.start(day).max(Period::Month.start(day)),
        into => into.start(day),
    }
}

/// The key of a row.
pub type RowKey<K> = (K, NaiveDate, i16);

/// The rows to merge, and the period that they're merged into, under its first day. [`Period::Day`]
/// merges the slots of each day.
#[derive(Debug, Clone, Copy)]
pub struct MergeRange {
    /// The first day.
    pub(super) first: Day,
    /// The day after the last day.
    pub(super) before: Day,
    pub(super) into: Period,
}

impl<Types, K> Compact<'_, Types, K> {
    /// Returns the range to merge. It ends before the period of the given day, because programs
    /// still count in that one.
    pub(super) fn range(&self) -> MergeRange {
        let table_period = self.shape.period;
        let merges_only_slots = self.into == Period::Day;
        // A merge of slots keeps every day as it is. A fold can't split the table's own periods.
        let (into, first) = if merges_only_slots {
            (Period::Day, DayRange::FIRST)
        } else {
            let into = self.into.max(table_period);
            (into, first_day_to_fold(into))
        };
        let before = first_day_of(into, first_day_of(table_period, self.day));
        MergeRange {
            first,
            before: Day(before).clamp(DayRange::FIRST, DayRange::LAST),
            into,
        }
    }
}

/// Returns the first day of the period that `day` is in. For `Total`, which has no periods, it's the
/// day itself.
fn first_day_of(period: Period, day: NaiveDate) -> NaiveDate {
    match period {
        Period::Total => day,
        period => period.start(day),
    }
}

/// Returns the first day after the period of 1970-01-01, or after 1970-01-01 itself for `Total`. The
/// rows of that day are the ones without a day, so they aren't folded.
fn first_day_to_fold(into: Period) -> Day {
    let next_period = into.next(into.start(UNDATED));
    let next_day = UNDATED.succ_opt();
    next_period.or(next_day).map_or(DayRange::FIRST, Day)
}

impl MergeRange {
    /// Returns the key of the row that this row is added to. It never comes after this row in
    /// primary key order.
    pub(super) fn target_of<K: Clone>(&self, (entity, day, _slot): &RowKey<K>) -> RowKey<K> {
        (entity.clone(), folded_day(self.into, *day), 0)
    }

    /// Returns the keys of the rows that these rows are added to, in the order to lock them.
    pub(super) fn targets_of<K: Clone + Ord>(&self, rows: &[RowKey<K>]) -> Vec<RowKey<K>> {
        let mut targets: Vec<RowKey<K>> = rows.iter().map(|row| self.target_of(row)).collect();
        // Imports lock rows in the same order: entity by entity, first the row of 1970-01-01, and
        // then from the newest day to the oldest. A recount locks just one merged row, that of
        // 1970-01-01. A deletion locks from the oldest day to the newest, so the two can deadlock
        // on MySQL and MariaDB, where a merge waits for the rows that it adds to.
        let day_order = |day: &NaiveDate| {
            let is_dated = *day != UNDATED;
            (is_dated, Reverse(*day))
        };
        targets.sort_unstable_by(|(entity_a, day_a, _), (entity_b, day_b, _)| {
            (entity_a, day_order(day_a)).cmp(&(entity_b, day_order(day_b)))
        });
        targets.dedup();
        targets
    }

    /// A condition that is true for the rows to merge: those that aren't their own target.
    pub(super) fn condition<'a, DB: CounterBackend>(
        &'a self,
        db: Dialect,
        shape: &Shape<'a>,
    ) -> Sql<'a, DB> {
        let day = shape.day();
        let slot = shape.slot();
        let MergeRange { first, before, .. } = self;
        let is_day = and(db.is_day(day));
        match self.into {
            Period::Day => sql!("{day} < {before} AND {slot} <> 0{is_day}"),
            // The range begins after 1970-01-01, which is the only target.
            Period::Total => sql!("{day} >= {first} AND {day} < {before}{is_day}"),
            into => {
                let target = db.folded_day(into, day);
                sql!(
                    "{day} >= {first} AND {day} < {before} \
                     AND ({slot} <> 0 OR {day} <> {target}){is_day}"
                )
            }
        }
    }
}
