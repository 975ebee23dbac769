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
    /// The second in which we last looked up today's date, and the date.
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
    #[inline]
    pub(crate) fn today(&mut self, second: Option<usize>) -> NaiveDate {
        if second.is_none() || second != self.today.0 {
            self.today = (second, T::shape().today());
        }
        self.today.1
    }
}

impl<T, K: Hash + Eq> TableRows<T, K> {
    /// Adds amounts to this key's row, if it has one. Returns whether it has.
    #[inline]
    pub(crate) fn add<Q>(
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
        let keys = self.days.get_mut(&day);
        let Some(row) = keys.and_then(|keys| keys.get_mut(key)) else {
            return false;
        };
        for (counter, amount) in counters.iter().zip(amounts) {
            let at = place(&mut self.counters, counter.0);
            row.add(at, *amount);
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
        for (counter, amount) in counters.iter().zip(amounts) {
            let at = place(&mut self.counters, counter.0);
            row.add(at, *amount);
        }
        self.days.entry(day).or_default().insert(key, row);
    }

    /// Returns whether this key has a row on this day.
    pub(crate) fn has(&self, day: NaiveDate, key: &K) -> bool {
        let keys = self.days.get(&day);
        keys.is_some_and(|keys| keys.contains_key(key))
    }

    /// Returns what was counted on all days for this key, for each of these counters.
    pub(crate) fn pending(&self, key: &K, counters: &[Name<'_>]) -> Vec<i128> {
        let places = counters.iter().map(|name| {
            let mut counted = self.counters.iter();
            counted.position(|counter| *counter == name.0)
        });
        let rows = self.days.values().filter_map(|keys| keys.get(key));
        let rows = Vec::from_iter(rows);
        let amounts = places.map(|place| {
            let amounts = rows.iter().filter_map(|row| Some(row.get(place?)));
            amounts.sum()
        });
        amounts.collect()
    }
}

impl<T, K: Ord> TableRows<T, K> {
    /// Returns the rows in the order of their days and keys.
    fn sorted(&self) -> Vec<(NaiveDate, &K, &RowAmounts)> {
        let days = self.days.iter();
        let rows = days.flat_map(|(day, keys)| keys.iter().map(|(key, row)| (*day, key, row)));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        rows
    }
}

/// Returns the counter's place in the list. Adds it if it's new.
#[inline]
fn place(counters: &mut Vec<&'static str>, counter: &'static str) -> usize {
    let found = counters.iter().position(|other| *other == counter);
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
        let counters = later.counters.into_iter();
        let places = Vec::from_iter(counters.map(|counter| place(&mut self.counters, counter)));
        let mut known = 0;
        for (day, keys) in later.days {
            let earlier = self.days.entry(day).or_default();
            let before = earlier.len();
            let number = keys.len();
            for (key, row) in keys {
                earlier.entry(key).or_default().append(&places, &row);
            }
            known += before + number - earlier.len();
        }
        known
    }

    fn remove(&mut self, batch: &dyn AnyTableRows<Conn>) -> usize {
        let batch: &Self = batch.any().downcast_ref().expect(SAME);
        let mut removed = 0;
        for (day, batch) in &batch.days {
            if let Some(keys) = self.days.get_mut(day) {
                let of_batch = batch.keys().filter(|key| keys.remove(*key).is_some());
                removed += of_batch.count();
            }
        }
        self.days.retain(|_, keys| !keys.is_empty());
        if self.days.is_empty() {
            self.counters.clear();
        }
        removed
    }

    fn split(&self, number: usize) -> Vec<Rc<dyn AnyTableRows<Conn>>> {
        let mut batches = Vec::new();
        for rows in self.sorted().chunks(number) {
            let mut batch = Self::default();
            batch.counters.clone_from(&self.counters);
            for &(day, key, row) in rows {
                let keys = batch.days.entry(day).or_default();
                keys.insert(key.clone(), row.clone());
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
        let rows = self.sorted().into_iter();
        let rows = rows.filter(|(.., row)| !row.is_zero());
        let rows = rows.map(|(day, key, row)| {
            let amounts = counters.iter().map(|(place, _)| row.get(*place));
            let amounts = amounts.map(i64::try_from).collect::<Result<_, _>>();
            Ok((key.clone(), Day(day), amounts.map_err(|_| overflow())?))
        });
        let rows: Vec<(K, Day, Vec<i64>)> = rows.collect::<QueryResult<_>>()?;
        let number = rows.len();
        let rows = rows.into_iter();
        add_rows::<T::KeyType, K, _, _>(T::shape(), &names, InSlot::Chosen, rows, conn)?;
        Ok(number)
    }

    fn list(&self) -> Vec<(NaiveDate, String, NamedAmounts)> {
        let rows = self.sorted().into_iter();
        let rows = rows.map(|(day, key, row)| {
            let counters = self.counters.iter().copied().enumerate();
            let amounts = counters.map(|(place, counter)| (counter, row.get(place)));
            let mut amounts = Vec::from_iter(amounts.filter(|(_, amount)| *amount != 0));
            amounts.sort();
            (day, format!("{key:?}"), amounts)
        });
        rows.collect()
    }
}

opaque_debug!(TableRows<T, K>);
