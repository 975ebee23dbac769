//! The sums of what a transaction or a buffer counts, by table, day and key, until they are written.

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

use crate::add::countable::{Countable, GatherKey};
use crate::add::many;
use crate::day::{Day, UNDATED};
use crate::error::overflow;
use crate::shape::Name;
use crate::slot::Slot;
use crate::sql::CounterBackend;
use crate::typed::counters::{Counters, is_zero};
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
    /// Adds an increment, unless its new keys take more than this `room`. Returns the room that they take.
    /// Reads the day once in each `second`, or without one at each call.
    pub(crate) fn count<I: Countable<Conn, Of>, Of>(
        &mut self,
        increment: I,
        second: Option<usize>,
        room: usize,
    ) -> Option<usize> {
        let (day, counts) = increment.into_counts();
        let rows = self.table::<<I::Counters as Counters>::Table, I::Key>();
        let day = day.map_or_else(|| rows.today(second), |day| day.0);
        let keys = rows.days.entry(day).or_default();
        if counts.as_ref().len() > 1 {
            let counts = counts.as_ref().iter();
            let new = counts.filter(|(key, amounts)| !is_zero(amounts) && !keys.contains_key(key));
            if new.map(|(key, _)| room_of(key)).sum::<usize>() > room {
                return None;
            }
        }
        let mut taken = 0;
        for (key, amounts) in counts {
            if is_zero(&amounts) {
                continue;
            }
            let sums = match keys.entry(key) {
                Entry::Occupied(sums) => sums.into_mut(),
                Entry::Vacant(sums) => {
                    taken += room_of(sums.key());
                    if taken > room {
                        return None;
                    }
                    sums.insert(Sums::with_capacity(I::Counters::NAMES.len()))
                }
            };
            for (counter, amount) in I::Counters::NAMES.iter().zip(amounts.as_ref()) {
                add_sum(sums, counter.0, i128::from(*amount));
            }
        }
        Some(taken)
    }

    /// Adds what was gathered later. Returns the room of the keys that were there already.
    pub(crate) fn append(&mut self, later: Self) -> usize {
        let later = later.0.into_iter();
        later.map(|rows| rows.append_to(self)).sum()
    }

    /// Sorts the tables into the order in which all transactions write them.
    pub(crate) fn sort(&mut self) {
        self.0.sort_by_key(|rows| rows.table());
    }

    pub(crate) fn find<T: 'static, K: 'static>(&self) -> Option<&TableRows<T, K>> {
        self.0.iter().find_map(|rows| rows.any().downcast_ref())
    }

    fn table<T: CounterTable, K: GatherKey<T, Conn>>(&mut self) -> &mut TableRows<T, K> {
        let mut tables = self.0.iter();
        let found = tables.position(|rows| rows.any().is::<TableRows<T, K>>());
        let at = found.unwrap_or_else(|| {
            self.0.push(Box::new(TableRows::<T, K>::default()));
            self.0.len() - 1
        });
        self.0[at].any_mut().downcast_mut().expect(SAME)
    }
}

/// The rows of one table, whose types are not known.
pub(crate) trait Rows<Conn>: Send {
    fn any(&self) -> &dyn Any;
    fn any_mut(&mut self) -> &mut dyn Any;
    /// Returns the name of the table, and the names of its types. A `TypeId` would have another order
    /// in another program.
    fn table(&self) -> (&'static str, &'static str);
    fn len(&self) -> usize;
    /// Adds the rows to others. Returns the room of the keys that were there already.
    fn append_to(self: Box<Self>, to: &mut Gathered<Conn>) -> usize;
    /// Removes the rows that `others` has too. Returns the room of their keys.
    fn remove(&mut self, others: &dyn Rows<Conn>) -> usize;
    /// Returns the rows in parts of this number of rows or fewer, in a random order: so that rows that
    /// cannot be written now do not keep back the same others each time.
    fn split(&self, number: usize) -> Vec<Rc<dyn Rows<Conn>>>;
    /// Writes the rows in the order of their days and keys. Leaves out sums of 0.
    fn write(&self, conn: &mut Conn) -> QueryResult<()>;
    /// Returns the day, the printed key and the sums of each row.
    fn list(&self) -> Vec<(NaiveDate, String, Sums)>;
}

/// The rows of the table `T` with keys `K`.
pub(crate) struct TableRows<T, K> {
    days: BTreeMap<NaiveDate, HashMap<K, Sums, RandomState>>,
    /// The second in which the day was read, and the day.
    today: (Option<usize>, NaiveDate),
    table: PhantomData<fn() -> T>,
}

/// The sum for each counter, by its name, in the order of the names. In an `i128`, so that it does not
/// overflow because of the order of the amounts.
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

/// The room that a key takes in a buffer: that of one key, and of one more for each 256 bytes.
fn room_of<K: Debug>(key: &K) -> usize {
    struct Length(usize);
    impl std::fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    // A number owns no memory.
    if !std::mem::needs_drop::<K>() {
        return 1;
    }
    let mut length = Length(0);
    // Nothing but the length can be asked of any key.
    let _ = std::fmt::write(&mut length, format_args!("{key:?}"));
    1 + length.0 / 256
}

impl<T, K> Default for TableRows<T, K> {
    fn default() -> Self {
        TableRows {
            days: BTreeMap::new(),
            today: (None, UNDATED),
            table: PhantomData,
        }
    }
}

impl<T: CounterTable, K: Hash + Ord> TableRows<T, K> {
    fn today(&mut self, second: Option<usize>) -> NaiveDate {
        if second.is_none() || second != self.today.0 {
            self.today = (second, T::shape().today());
        }
        self.today.1
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

    fn append_to(self: Box<Self>, to: &mut Gathered<Conn>) -> usize {
        let to = to.table::<T, K>();
        let mut known = 0;
        for (day, keys) in self.days {
            let to = to.days.entry(day).or_default();
            for (key, sums) in keys {
                if let Some(to) = to.get_mut(&key) {
                    known += room_of(&key);
                    for (counter, sum) in sums {
                        add_sum(to, counter, sum);
                    }
                } else {
                    to.insert(key, sums);
                }
            }
        }
        known
    }

    fn remove(&mut self, others: &dyn Rows<Conn>) -> usize {
        let mut room = 0;
        let others: &Self = others.any().downcast_ref().expect(SAME);
        for (day, others) in &others.days {
            if let Some(keys) = self.days.get_mut(day) {
                let removed = others.keys().filter(|key| keys.remove(*key).is_some());
                room += removed.map(room_of).sum::<usize>();
            }
        }
        self.days.retain(|_, keys| !keys.is_empty());
        room
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

    fn write(&self, conn: &mut Conn) -> QueryResult<()> {
        // Also those whose sums are 0, so that the text of the statement depends on what the program
        // counts, and not on the amounts.
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
        let (slots, rows) = (Slot::chosen().range(T::SLOTS), rows.into_iter());
        many::add_rows::<T::KeyType, K, _, _>(T::shape(), &counters, &slots, rows, conn)
    }

    fn list(&self) -> Vec<(NaiveDate, String, Sums)> {
        let rows = self.sorted().into_iter();
        rows.map(|(day, key, sums)| (day, format!("{key:?}"), sums.clone()))
            .collect()
    }
}
