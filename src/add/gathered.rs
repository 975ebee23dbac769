//! What a transaction or a buffer has counted but not written yet: the rows of each table.
//!
//! A count adds to its key's row. Later, these rows are merged with those of other threads, split
//! into batches, and written.

use std::any::TypeId;
use std::hash::Hash;

use diesel::connection::Connection;

use crate::add::any_table_rows::AnyTableRows;
use crate::add::countable::Countable;
use crate::add::table_rows::TableRows;
use crate::day::Day;
use crate::key::OwnedKey;
use crate::shape::Name;
use crate::sql::CounterBackend;
use crate::typed::counters::Counters;
use crate::typed::table::CounterTable;

/// What was counted, by the table's type and the type of its keys.
pub(crate) struct Gathered<Conn>(Vec<(TypeId, Box<dyn AnyTableRows<Conn>>)>);

impl<Conn> Default for Gathered<Conn> {
    fn default() -> Self {
        Gathered(Vec::new())
    }
}

impl<Conn: Connection<Backend: CounterBackend>> Gathered<Conn> {
    /// Adds an increment, and returns how many of its keys are new. Adds nothing and returns `None`
    /// if there isn't enough `room` for them. Asks the table for today's date once per `second`, or
    /// at every call if that is `None`.
    #[inline]
    pub(crate) fn count<I: Countable<Conn, Of>, Of>(
        &mut self,
        increment: I,
        second: Option<usize>,
        room: usize,
    ) -> Option<usize> {
        let rows = self.rows_mut::<<I::Counters as Counters>::Table, I::Key>();
        let day = match increment.day_if_set() {
            Some(Day(day)) => day,
            None => rows.today(second),
        };
        increment.add_to(rows, day, room)
    }

    /// Adds what was counted later. Returns how many of its keys were there already.
    pub(crate) fn append(&mut self, later: Self) -> usize {
        let mut known_keys = 0;
        for (wanted, later_rows) in later.0 {
            match self.0.iter_mut().find(|(types, _)| *types == wanted) {
                Some((_, rows)) => known_keys += rows.append(later_rows),
                None => self.0.push((wanted, later_rows)),
            }
        }
        known_keys
    }

    /// Returns what was counted on all days for this key of the table `T`, for each of these
    /// counters, or an empty list if nothing was counted in this table.
    pub(crate) fn pending<T: 'static, K: Hash + Eq + 'static>(
        &self,
        key: &K,
        counters: &[Name<'_>],
    ) -> Vec<i128> {
        let wanted = TypeId::of::<TableRows<T, K>>();
        let Some((_, rows)) = self.0.iter().find(|(types, _)| *types == wanted) else {
            return Vec::new();
        };
        let rows: &TableRows<T, K> = rows.any().downcast_ref().expect(SAME_TYPE);
        rows.pending(key, counters)
    }

    /// Sorts the tables into the order in which every transaction writes them, and returns them.
    pub(crate) fn sorted(&mut self) -> impl ExactSizeIterator<Item = &mut dyn AnyTableRows<Conn>> {
        self.0.sort_by_key(|(_, rows)| rows.sort_key());
        self.0.iter_mut().map(|(_, rows)| &mut **rows as _)
    }

    /// Returns the rows of the table at this index.
    pub(crate) fn table_at(&mut self, index: usize) -> &mut dyn AnyTableRows<Conn> {
        let (_, rows) = &mut self.0[index];
        &mut **rows
    }

    /// Returns the rows of the table `T` with keys of the type `K`. Adds them if there are none.
    #[inline]
    fn rows_mut<T, K>(&mut self) -> &mut TableRows<T, K>
    where
        T: CounterTable,
        K: OwnedKey<T::KeyType, Conn::Backend> + Hash + Send + 'static,
    {
        let wanted = TypeId::of::<TableRows<T, K>>();
        let found = self.0.iter().position(|(types, _)| *types == wanted);
        let index = found.unwrap_or_else(|| {
            let rows = TableRows::<T, K>::default();
            self.0.push((wanted, Box::new(rows)));
            self.0.len() - 1
        });
        let (_, rows) = &mut self.0[index];
        rows.any_mut().downcast_mut().expect(SAME_TYPE)
    }
}

const SAME_TYPE: &str = "its type was compared";
