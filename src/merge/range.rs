//! The rows that a merge merges, and the rows that it adds them to.

use std::cmp::Reverse;

use chrono::NaiveDate;

use crate::day::{Day, DayRange, Period, UNDATED};
use crate::merge::compact::Compact;
use crate::shape::Shape;
use crate::sql::{CounterBackend, Dialect, Sql, and, sql};

/// The day under which a fold stores the count of `day`: the first day of its period.
///
/// A week that begins in the month before is stored under the first day of its month: a fold into
/// weeks then moves no count from one month to another. Otherwise it would take a row that has the
/// count of a whole month, from a fold into months, for the row of a day, and move it to a month
/// before.
pub(crate) fn folded_day(into: Period, day: NaiveDate) -> NaiveDate {
    match into {
        Period::Week => Period::Week.start(day).max(Period::Month.start(day)),
        into => into.start(day),
    }
}

/// The key of a row.
pub type RowKey<K> = (K, NaiveDate, i16);

/// The rows to merge, and the period into whose first day they are merged: for [`Period::Day`], the
/// slots of each day.
#[derive(Debug, Clone, Copy)]
pub struct MergeRange {
    /// The first day.
    pub(super) first: Day,
    /// The day after the last day.
    pub(super) before: Day,
    pub(super) into: Period,
}

impl<Types, K> Compact<'_, Types, K> {
    /// The range that is merged.
    pub(super) fn range(&self) -> MergeRange {
        let period = self.shape.period;
        let mut day = self.day;
        // By day, a merge of slots leaves the periods of the table as they are. Rows of 1970-01-01
        // are those without a day, so a fold leaves the period of that day out.
        let (into, first) = match self.into {
            Period::Day => (Period::Day, None),
            into => {
                let into = into.max(period);
                (into, into.next(into.start(UNDATED)).or(UNDATED.succ_opt()))
            }
        };
        for whole in [period, into] {
            // `Total` has no first day to go back to. In such a table, rows of other days are from
            // an earlier period.
            if whole < Period::Total {
                day = whole.start(day);
            }
        }
        MergeRange {
            first: first.map_or(DayRange::FIRST, Day),
            before: Day(day).clamp(DayRange::FIRST, DayRange::LAST),
            into,
        }
    }
}

impl MergeRange {
    /// Returns the key of the row that this row is added to. It is not after this row in the
    /// primary key.
    pub(super) fn target_of<K: Clone>(&self, (entity, day, _slot): &RowKey<K>) -> RowKey<K> {
        (entity.clone(), folded_day(self.into, *day), 0)
    }

    /// Returns the keys of the rows that these rows are added to, in the order to lock them.
    pub(super) fn targets_of<K: Clone + Ord>(&self, rows: &[RowKey<K>]) -> Vec<RowKey<K>> {
        let mut targets: Vec<RowKey<K>> = rows.iter().map(|row| self.target_of(row)).collect();
        // Imports lock rows in this order too: entity by entity, first the row of 1970-01-01, and
        // then from the last day to the first. A recount locks no other merged row than that of
        // 1970-01-01. A deletion locks from the first day to the last: on MySQL and MariaDB, on
        // which a merge waits for a row to add to, the two can deadlock.
        targets.sort_unstable_by(|(a, day_a, _), (b, day_b, _)| {
            let of = |day: &NaiveDate| (*day != UNDATED, Reverse(*day));
            (a, of(day_a)).cmp(&(b, of(day_b)))
        });
        targets.dedup();
        targets
    }

    /// A condition that is true for the rows to merge.
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
            // The range begins after the only target.
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
