//! Where a statement writes.

use std::sync::OnceLock;

use chrono::NaiveDate;

use crate::day::Day;
use crate::key::KeyPrefix;
use crate::typed::counters::{Counters, KeyType};
use crate::typed::table::CounterTable;

/// Where a statement writes: the entity with the key `K`, on a day. The table's
/// [`Slot`](crate::Slot) chooses the slot when the statement runs.
#[derive(Debug, Clone)]
pub(crate) struct Target<C: Counters, K = ()> {
    pub(crate) entity: KeyPrefix<KeyType<C>, K>,
    /// Unset until a statement needs it, so that the clock is read at most once.
    day: OnceLock<Day>,
}

impl<C: Counters> Target<C> {
    /// Returns a target without an entity and without a day.
    #[inline]
    pub(crate) fn new() -> Self {
        Target {
            entity: KeyPrefix::new(()),
            day: OnceLock::new(),
        }
    }

    #[inline]
    pub(crate) fn with_key<K>(self, key: K) -> Target<C, K> {
        Target {
            entity: KeyPrefix::new(key),
            day: self.day,
        }
    }
}

impl<C: Counters, K> Target<C, K> {
    /// Sets the day to the first day of the table's period that contains `day`.
    pub(crate) fn set_day(&mut self, day: NaiveDate) {
        let first_day = C::Table::PERIOD.start(day);
        self.day = OnceLock::from(Day(first_day));
    }

    /// Returns the day, if one was set.
    #[inline]
    pub(crate) fn day_if_set(&self) -> Option<Day> {
        self.day.get().copied()
    }

    /// Returns the day that was set, or today. It stays the same after the first call.
    pub(crate) fn day(&self) -> &Day {
        self.day.get_or_init(|| Day(C::Table::shape().today()))
    }
}
