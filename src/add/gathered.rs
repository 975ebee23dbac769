//! The sums of what a transaction or a buffer has counted, by table, day and key, until they are
//! written.

use std::any::{Any, type_name};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;
use std::rc::Rc;

use chrono::NaiveDate;
use diesel::QueryResult;
use diesel::connection::Connection;
use foldhash::fast::RandomState;
use rand::seq::SliceRandom;

use crate::add::countable::GatherKey;
use crate::add::many;
use crate::day::Day;
use crate::error::overflow;
use crate::shape::Name;
use crate::slot::InSlot;
use crate::sql::CounterBackend;
use crate::typed::names::module_name;
use crate::typed::table::CounterTable;

/// What was gathered, by the types of the table and of its keys.
pub(crate) struct Gathered<Conn>(pub(crate) Vec<Box<dyn Rows<Conn>>>);

impl<Conn> Default for Gathered<Conn> {
    fn default() -> Self {
        Gathered(Vec::new())
    }
}

impl<Conn: Connection<Backend: CounterBackend>> Gathered<Conn> {
    /// Sorts the tables into the order in which all transactions write them.
    pub(crate) fn sort(&mut self) {
        self.0.sort_by_key(|rows| rows.table());
    }

    pub(crate) fn find<T: 'static, K: 'static>(&self) -> Option<&TableRows<T, K>> {
        self.0.iter().find_map(|rows| rows.any().downcast_ref())
    }

    pub(crate) fn table<T: CounterTable, K: GatherKey<T, Conn>>(&mut self) -> &mut TableRows<T, K> {
        if self.find::<T, K>().is_none() {
            self.0.push(Box::new(TableRows::<T, K>::default()));
        }
        let mut tables = self.0.iter_mut();
        let found = tables.find_map(|rows| rows.any_mut().downcast_mut());
        found.expect("it was made")
    }
}

/// The rows of one table, whose types are not known.
pub(crate) trait Rows<Conn>: Send {
    fn any(&self) -> &dyn Any;
    fn any_mut(&mut self) -> &mut dyn Any;
    /// Returns the name of the table, and the names of its types. A `TypeId` would have another
    /// order in another program.
    fn table(&self) -> (&'static str, &'static str);
    fn len(&self) -> usize;
    /// Removes the rows that `others` has too. Returns their number.
    fn remove(&mut self, others: &dyn Rows<Conn>) -> usize;
    /// Returns the rows in parts of this number of rows or fewer, in a random order: so that rows
    /// that cannot be written now do not keep back the same others each time.
    fn split(&self, number: usize) -> Vec<Rc<dyn Rows<Conn>>>;
    /// Writes the rows in the order of their days and keys, but those whose sums are all 0. Returns
    /// the number of rows that it has written.
    fn write(&self, conn: &mut Conn) -> QueryResult<usize>;
    /// Returns the day, the printed key and the sums of each row.
    fn list(&self) -> Vec<(NaiveDate, String, Sums)>;
}

/// The rows of the table `T` with keys `K`.
pub(crate) struct TableRows<T, K> {
    days: BTreeMap<NaiveDate, HashMap<K, Sums, RandomState>>,
    table: PhantomData<fn() -> T>,
}

/// The sum for each counter, by its name, in the order of the names. In an `i128`, so that it does
/// not overflow because of the order of the amounts.
pub(crate) type Sums = Vec<(&'static str, i128)>;

pub(crate) fn add_sum(to: &mut Sums, counter: &'static str, amount: i128) {
    match to.binary_search_by_key(&counter, |(name, _)| name) {
        Ok(at) => to[at].1 += amount,
        Err(at) => to.insert(at, (counter, amount)),
    }
}

pub(crate) fn sum_of(sums: &Sums, counter: &str) -> i128 {
    let at = sums.binary_search_by_key(&counter, |(name, _)| name);
    at.map_or(0, |at| sums[at].1)
}

impl<T, K> Default for TableRows<T, K> {
    fn default() -> Self {
        TableRows {
            days: BTreeMap::new(),
            table: PhantomData,
        }
    }
}

impl<T, K: Hash + Ord + Debug> TableRows<T, K> {
    /// Adds amounts to this key. Returns whether the key was there already.
    pub(crate) fn add(
        &mut self,
        day: NaiveDate,
        key: K,
        amounts: impl ExactSizeIterator<Item = (&'static str, i128)>,
    ) -> bool {
        let keys = self.days.entry(day).or_default();
        let (sums, known) = match keys.entry(key) {
            Entry::Occupied(entry) => (entry.into_mut(), true),
            Entry::Vacant(entry) => (entry.insert(Sums::with_capacity(amounts.len())), false),
        };
        for (counter, amount) in amounts {
            add_sum(sums, counter, amount);
        }
        known
    }

    /// Adds the sums of this key on all days.
    pub(crate) fn add_pending(&self, key: &K, to: &mut Sums) {
        for sums in self.days.values().filter_map(|keys| keys.get(key)) {
            for (counter, sum) in sums {
                add_sum(to, counter, *sum);
            }
        }
    }

    /// Returns the rows in the order of their days and keys.
    fn sorted(&self) -> Vec<(NaiveDate, &K, &Sums)> {
        let days = self.days.iter();
        let rows = days.flat_map(|(day, keys)| keys.iter().map(|(key, sums)| (*day, key, sums)));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        rows
    }
}

const SAME: &str = "the rows are of the same table";

impl<T, K, Conn> Rows<Conn> for TableRows<T, K>
where
    T: CounterTable,
    K: GatherKey<T, Conn>,
    Conn: Connection<Backend: CounterBackend>,
{
    fn any(&self) -> &dyn Any {
        self
    }

    fn any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn table(&self) -> (&'static str, &'static str) {
        (module_name::<T>(), type_name::<(T, K)>())
    }

    fn len(&self) -> usize {
        self.days.values().map(HashMap::len).sum()
    }

    fn remove(&mut self, others: &dyn Rows<Conn>) -> usize {
        let mut removed = 0;
        let others: &Self = others.any().downcast_ref().expect(SAME);
        for (day, others) in &others.days {
            if let Some(keys) = self.days.get_mut(day) {
                let these = others.keys().filter(|key| keys.remove(*key).is_some());
                removed += these.count();
            }
        }
        self.days.retain(|_, keys| !keys.is_empty());
        removed
    }

    fn split(&self, number: usize) -> Vec<Rc<dyn Rows<Conn>>> {
        let mut parts = Vec::new();
        for rows in self.sorted().chunks(number) {
            let mut part = Self::default();
            for &(day, key, sums) in rows {
                let keys = part.days.entry(day).or_default();
                keys.insert(key.clone(), sums.clone());
            }
            parts.push(Rc::new(part) as Rc<dyn Rows<Conn>>);
        }
        parts.shuffle(&mut rand::rng());
        parts
    }

    fn write(&self, conn: &mut Conn) -> QueryResult<usize> {
        // Also counters whose sums are 0, so that the text of the statement depends on what the
        // program counts, and not on the amounts.
        let sums = self.days.values().flat_map(HashMap::values).flatten();
        let counters: BTreeSet<_> = sums.map(|(counter, _)| *counter).collect();
        let counters: Vec<_> = counters.into_iter().map(Name).collect();
        let rows = self.sorted().into_iter();
        let rows = rows.filter(|(.., sums)| sums.iter().any(|(_, sum)| *sum != 0));
        let rows = rows.map(|(day, key, sums)| {
            let sums = counters.iter().map(|counter| sum_of(sums, counter.0));
            let amounts = sums.map(i64::try_from).collect::<Result<_, _>>();
            Ok((key.clone(), Day(day), amounts.map_err(|_| overflow())?))
        });
        let rows: Vec<(K, Day, Vec<i64>)> = rows.collect::<QueryResult<_>>()?;
        let number = rows.len();
        let rows = rows.into_iter();
        many::add_rows::<T::KeyType, K, _, _>(T::shape(), &counters, InSlot::Counted, rows, conn)?;
        Ok(number)
    }

    fn list(&self) -> Vec<(NaiveDate, String, Sums)> {
        let rows = self.sorted().into_iter();
        rows.map(|(day, key, sums)| (day, format!("{key:?}"), sums.clone()))
            .collect()
    }
}
