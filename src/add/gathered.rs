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
        let rows = self.table::<<I::Counters as Counters>::Table, I::Key>();
        let day = increment.day();
        let day = day.map_or_else(|| rows.today(second), |day| day.0);
        increment.add_to(rows, day, room)
    }

    /// Adds what was counted later. Returns how many of its keys were there already.
    pub(crate) fn append(&mut self, later: Self) -> usize {
        let mut known = 0;
        for (types, later) in later.0 {
            match self.0.iter_mut().find(|(other, _)| *other == types) {
                Some((_, earlier)) => known += earlier.append(later),
                None => self.0.push((types, later)),
            }
        }
        known
    }

    /// Returns what was counted on all days for this key of the table `T`, for each of these
    /// counters.
    pub(crate) fn pending<T: 'static, K: Hash + Eq + 'static>(
        &self,
        key: &K,
        counters: &[Name<'_>],
    ) -> Vec<i128> {
        let wanted = TypeId::of::<TableRows<T, K>>();
        let rows = self.0.iter().find(|(types, _)| *types == wanted);
        let rows = rows.and_then(|(_, rows)| rows.any().downcast_ref());
        let rows: Option<&TableRows<T, K>> = rows;
        rows.map_or_else(Vec::new, |rows| rows.pending(key, counters))
    }

    /// Sorts the tables into the order in which every transaction writes them, and returns them.
    pub(crate) fn sorted(&mut self) -> impl ExactSizeIterator<Item = &mut dyn AnyTableRows<Conn>> {
        self.0.sort_by_key(|(_, rows)| rows.sort_key());
        self.0.iter_mut().map(|(_, rows)| &mut **rows as _)
    }

    /// Returns the rows of the table at this index.
    pub(crate) fn at(&mut self, table: usize) -> &mut dyn AnyTableRows<Conn> {
        &mut *self.0[table].1
    }

    #[inline]
    fn table<T, K>(&mut self) -> &mut TableRows<T, K>
    where
        T: CounterTable,
        K: OwnedKey<T::KeyType, Conn::Backend> + Hash + Send + 'static,
    {
        let wanted = TypeId::of::<TableRows<T, K>>();
        let mut known = self.0.iter().map(|(types, _)| *types);
        let at = known.position(|types| types == wanted).unwrap_or_else(|| {
            self.0
                .push((wanted, Box::new(TableRows::<T, K>::default())));
            self.0.len() - 1
        });
        let rows = self.0[at].1.any_mut().downcast_mut();
        rows.expect("its type was compared")
    }
}
