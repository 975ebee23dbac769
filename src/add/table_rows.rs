//! The unwritten rows of one table: the amounts for each day and key.

use std::any::{Any, type_name};
use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::marker::PhantomData;
use std::rc::Rc;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::Connection;
use foldhash::fast::RandomState;
use rand::seq::SliceRandom;

use crate::add::any_table_rows::{AnyTableRows, NamedAmounts};
use crate::add::many::add_rows;
use crate::add::row_amounts::RowAmounts;
use crate::day::{Day, UNDATED};
use crate::error::overflow;
use crate::key::OwnedKey;
use crate::shape::Name;
use crate::slot::InSlot;
use crate::sql::CounterBackend;
use crate::typed::names::module_name;
use crate::typed::table::CounterTable;

/// The unwritten rows of the table `T`, with keys of the type `K`.
pub struct TableRows<T, K> {
    /// The counters, in the order in which they were first counted.
    counters: Vec<&'static str>,
    days: BTreeMap<NaiveDate, HashMap<K, RowAmounts, RandomState>>,
    /// The second in which we last asked the table for today's date, and the date.
    today: (Option<usize>, NaiveDate),
    table: PhantomData<fn() -> T>,
}

impl<T, K> Default for TableRows<T, K> {
    fn default() -> Self {
        TableRows {
            counters: Vec::new(),
            days: BTreeMap::new(),
            today: (None, UNDATED),
            table: PhantomData,
        }
    }
}

impl<T: CounterTable, K> TableRows<T, K> {
    /// Returns the first day of the table's current period. Asks the table for today's date once
    /// per `second`, or at every call if that is `None`.
    #[inline]
    pub(crate) fn today(&mut self, second: Option<usize>) -> NaiveDate {
        let (asked_in, known_today) = self.today;
        if second.is_some() && second == asked_in {
            return known_today;
        }
        let today = T::shape().today();
        self.today = (second, today);
        today
    }
}

impl<T, K: Hash + Eq> TableRows<T, K> {
    /// Adds amounts to this key's row, if it has one. Returns whether it has.
    #[inline]
    pub(crate) fn add_if_known<Q>(
        &mut self,
        day: NaiveDate,
        key: &Q,
        counters: &[Name<'static>],
        amounts: &[i64],
    ) -> bool
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        let rows = self.days.get_mut(&day);
        let Some(row) = rows.and_then(|rows| rows.get_mut(key)) else {
            return false;
        };
        for (Name(counter), amount) in counters.iter().zip(amounts) {
            let index = find_or_push(&mut self.counters, counter);
            row.add(index, *amount);
        }
        true
    }

    /// Adds a row for a new key.
    pub(crate) fn insert(
        &mut self,
        day: NaiveDate,
        key: K,
        counters: &[Name<'static>],
        amounts: &[i64],
    ) {
        let mut row = RowAmounts::default();
        for (Name(counter), amount) in counters.iter().zip(amounts) {
            let index = find_or_push(&mut self.counters, counter);
            row.add(index, *amount);
        }
        self.days.entry(day).or_default().insert(key, row);
    }

    /// Returns whether this key has a row on this day.
    pub(crate) fn contains(&self, day: NaiveDate, key: &K) -> bool {
        let rows = self.days.get(&day);
        rows.is_some_and(|rows| rows.contains_key(key))
    }

    /// Returns what was counted on all days for this key, for each of these counters.
    pub(crate) fn pending(&self, key: &K, counters: &[Name<'_>]) -> Vec<i128> {
        let rows_of_days = self.days.values();
        let rows_of_key = Vec::from_iter(rows_of_days.filter_map(|rows| rows.get(key)));
        let sum = |Name(counter): &Name<'_>| {
            let index = self.counters.iter().position(|known| known == counter);
            let Some(index) = index else {
                return 0;
            };
            rows_of_key.iter().map(|row| row.get(index)).sum::<i128>()
        };
        counters.iter().map(sum).collect()
    }
}

impl<T, K: Ord> TableRows<T, K> {
    /// Returns the rows in the order of their days and keys.
    fn sorted(&self) -> Vec<(NaiveDate, &K, &RowAmounts)> {
        let days = self.days.iter();
        let rows = days.flat_map(|(day, rows)| rows.iter().map(|(key, row)| (*day, key, row)));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable_by(|(day_a, key_a, _), (day_b, key_b, _)| {
            (day_a, key_a).cmp(&(day_b, key_b))
        });
        rows
    }
}

/// Returns the counter's index in the list. Adds it if it's new.
#[inline]
fn find_or_push(counters: &mut Vec<&'static str>, counter: &'static str) -> usize {
    let found = counters.iter().position(|known| *known == counter);
    found.unwrap_or_else(|| {
        counters.push(counter);
        counters.len() - 1
    })
}

const SAME: &str = "the rows are of the same table";

impl<T, K, Conn> AnyTableRows<Conn> for TableRows<T, K>
where
    T: CounterTable,
    K: OwnedKey<T::KeyType, Conn::Backend> + Hash + Send + 'static,
    Conn: Connection<Backend: CounterBackend>,
{
    fn any(&self) -> &dyn Any {
        self
    }

    fn any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }

    fn table(&self) -> &'static str {
        module_name::<T>()
    }

    fn sort_key(&self) -> (&'static str, &'static str) {
        (module_name::<T>(), type_name::<(T, K)>())
    }

    fn len(&self) -> usize {
        self.days.values().map(HashMap::len).sum()
    }

    fn append(&mut self, later: Box<dyn AnyTableRows<Conn>>) -> usize {
        let later: Box<Self> = later.into_any().downcast().expect(SAME);
        // For each of the later counters, its index in `self.counters`.
        let later_counters = later.counters.into_iter();
        let indexes = later_counters.map(|counter| find_or_push(&mut self.counters, counter));
        let indexes = Vec::from_iter(indexes);
        let mut known_keys = 0;
        for (day, later_rows) in later.days {
            let rows = self.days.entry(day).or_default();
            let total_before = rows.len() + later_rows.len();
            for (key, later_row) in later_rows {
                rows.entry(key).or_default().append(&indexes, &later_row);
            }
            // Two rows with the same key became one.
            known_keys += total_before - rows.len();
        }
        known_keys
    }

    fn remove(&mut self, batch: &dyn AnyTableRows<Conn>) -> usize {
        let batch: &Self = batch.any().downcast_ref().expect(SAME);
        let mut removed = 0;
        for (day, batch_rows) in &batch.days {
            let Some(rows) = self.days.get_mut(day) else {
                continue;
            };
            for key in batch_rows.keys() {
                removed += usize::from(rows.remove(key).is_some());
            }
        }
        self.days.retain(|_, rows| !rows.is_empty());
        if self.days.is_empty() {
            // The next rows may count other counters.
            self.counters.clear();
        }
        removed
    }

    fn split(&self, number: usize) -> Vec<Rc<dyn AnyTableRows<Conn>>> {
        let mut batches = Vec::new();
        for chunk in self.sorted().chunks(number) {
            let mut batch = Self::default();
            batch.counters.clone_from(&self.counters);
            for &(day, key, row) in chunk {
                let rows = batch.days.entry(day).or_default();
                rows.insert(key.clone(), row.clone());
            }
            batches.push(Rc::new(batch) as Rc<dyn AnyTableRows<Conn>>);
        }
        batches.shuffle(&mut rand::rng());
        batches
    }

    fn write(&self, conn: &mut Conn) -> QueryResult<usize> {
        // All counters in the order of their names, even if their amounts are 0, so that the
        // statement's text depends only on what the program counts.
        let mut counters = Vec::from_iter(self.counters.iter().copied().enumerate());
        counters.sort_by_key(|(_, counter)| *counter);
        let names = Vec::from_iter(counters.iter().map(|(_, counter)| Name(counter)));
        let mut rows = Vec::new();
        for (day, key, row) in self.sorted() {
            if row.is_zero() {
                continue;
            }
            let amounts = counters
                .iter()
                .map(|(index, _)| i64::try_from(row.get(*index)));
            let amounts: Result<Vec<i64>, _> = amounts.collect();
            rows.push((key.clone(), Day(day), amounts.map_err(|_| overflow())?));
        }
        let written = rows.len();
        let rows = rows.into_iter();
        add_rows::<T::KeyType, K, _, _>(T::shape(), &names, InSlot::Chosen, rows, conn)?;
        Ok(written)
    }

    fn printed_rows(&self) -> Vec<(NaiveDate, String, NamedAmounts)> {
        let mut printed = Vec::new();
        for (day, key, row) in self.sorted() {
            let counters = self.counters.iter().copied().enumerate();
            let amounts = counters.map(|(index, counter)| (counter, row.get(index)));
            let mut amounts = Vec::from_iter(amounts.filter(|(_, amount)| *amount != 0));
            amounts.sort();
            printed.push((day, format!("{key:?}"), amounts));
        }
        printed
    }
}

opaque_debug!(TableRows<T, K>);
