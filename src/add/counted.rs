//! What a transaction or the threads of a buffer count, by the type of the counters and of their
//! keys.
//!
//! A count adds to an array of amounts, which is found by the key. The amounts get the names of
//! their counters when they move to [`Gathered`], once for each key.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt::Debug;
use std::hash::Hash;

use chrono::NaiveDate;
use diesel::connection::Connection;
use foldhash::fast::RandomState;

use crate::add::countable::{Count, Countable, GatherKey};
use crate::add::gathered::{Gathered, Sums, add_sum};
use crate::day::UNDATED;
use crate::sql::CounterBackend;
use crate::typed::counters::{Counters, add, is_zero};
use crate::typed::table::CounterTable;

/// What was counted, for each type of counters and of keys.
pub(crate) struct Counted<Conn>(Vec<(TypeId, Box<dyn OfOneType<Conn>>)>);

impl<Conn> Default for Counted<Conn> {
    fn default() -> Self {
        Counted(Vec::new())
    }
}

impl<Conn: Connection<Backend: CounterBackend>> Counted<Conn> {
    /// Adds an increment, unless it has more new keys than there is `room` for. Returns the number
    /// of its new keys. Reads the day once in each `second`, or without one at each call.
    #[inline]
    pub(crate) fn count<I: Countable<Conn, Of>, Of>(
        &mut self,
        increment: I,
        second: Option<usize>,
        room: usize,
    ) -> Option<usize> {
        let (day, counts) = increment.into_counts();
        let counted = self.of::<I::Counters, I::Key>();
        let day = day.map_or_else(|| counted.today(second), |day| day.0);
        counted.count(day, counts, room)
    }

    /// Adds what was counted later.
    pub(crate) fn append(&mut self, later: Self) {
        for (of, later) in later.0 {
            match self.0.iter_mut().find(|(other, _)| *other == of) {
                Some((_, earlier)) => later.append_to(earlier.any_mut()),
                None => self.0.push((of, later)),
            }
        }
    }

    /// Moves what was counted. Returns the number of keys that were there already.
    pub(crate) fn move_to(self, gathered: &mut Gathered<Conn>) -> usize {
        let counted = self.0.into_iter();
        counted.map(|(_, counted)| counted.move_to(gathered)).sum()
    }

    /// Adds what was counted for this key of the table `T` on all days.
    pub(crate) fn add_pending<T: 'static>(&self, key: &dyn Any, to: &mut Sums) {
        for (_, counted) in &self.0 {
            counted.add_pending(TypeId::of::<T>(), key, to);
        }
    }

    #[inline]
    fn of<C, K>(&mut self) -> &mut CountedOf<C, K>
    where
        C: Counters<Table: 'static> + 'static,
        K: GatherKey<C::Table, Conn>,
    {
        let wanted = TypeId::of::<CountedOf<C, K>>();
        let mut types = self.0.iter().map(|(of, _)| *of);
        let at = types.position(|of| of == wanted).unwrap_or_else(|| {
            let counted = Box::new(CountedOf::<C, K>::default());
            self.0.push((wanted, counted));
            self.0.len() - 1
        });
        let counted = self.0[at].1.any_mut().downcast_mut();
        counted.expect("its type was compared")
    }
}

/// What was counted of one type of counters and of keys.
trait OfOneType<Conn>: Send {
    fn any_mut(&mut self) -> &mut dyn Any;
    /// Adds what was counted to `earlier`, which is of the same type.
    fn append_to(self: Box<Self>, earlier: &mut dyn Any);
    fn move_to(self: Box<Self>, gathered: &mut Gathered<Conn>) -> usize;
    fn add_pending(&self, table: TypeId, key: &dyn Any, to: &mut Sums);
}

struct CountedOf<C: Counters, K> {
    /// In the order of the days. Mostly one.
    days: Vec<(NaiveDate, Amounts<C, K>)>,
    /// The second in which the day was read, and the day.
    today: (Option<usize>, NaiveDate),
    /// Sums that would not have been an `i64` with the next amount. The keys are in `days`, too.
    full: HashMap<(NaiveDate, K), Sums, RandomState>,
}

type Amounts<C, K> = HashMap<K, <C as Counters>::Amounts, RandomState>;

impl<C: Counters, K> Default for CountedOf<C, K> {
    fn default() -> Self {
        CountedOf {
            days: Vec::new(),
            today: (None, UNDATED),
            full: HashMap::default(),
        }
    }
}

impl<C: Counters, K> CountedOf<C, K> {
    #[inline]
    fn today(&mut self, second: Option<usize>) -> NaiveDate {
        if second.is_none() || second != self.today.0 {
            self.today = (second, C::Table::shape().today());
        }
        self.today.1
    }
}

impl<C: Counters, K: Clone + Debug + Eq + Hash> CountedOf<C, K> {
    #[inline]
    fn count<Counts>(&mut self, day: NaiveDate, counts: Counts, room: usize) -> Option<usize>
    where
        Counts: AsRef<[Count<K, C>]> + IntoIterator<Item = Count<K, C>>,
    {
        let at = self.place_of(day);
        let keys = &self.days[at].1;
        // All or none. One count is refused below, without a second look for its key.
        if counts.as_ref().len() > 1 {
            let all = counts.as_ref().iter();
            let new = all.filter(|(key, amounts)| !is_zero(amounts) && !keys.contains_key(key));
            if new.count() > room {
                return None;
            }
        }
        let mut new = 0;
        for (key, amounts) in counts {
            if !is_zero(&amounts) {
                new += usize::from(self.add(at, key, amounts, room - new)?);
            }
        }
        Some(new)
    }

    /// Returns the place of a day in the list, into which it is inserted.
    #[inline]
    fn place_of(&mut self, day: NaiveDate) -> usize {
        let found = self.days.binary_search_by_key(&day, |(of, _)| *of);
        found.unwrap_or_else(|at| {
            self.days.insert(at, (day, HashMap::default()));
            at
        })
    }

    /// Adds amounts on the day at this place, unless the key is new and there is no `room`. Returns
    /// whether the key is new.
    #[inline]
    fn add(&mut self, at: usize, key: K, amounts: C::Amounts, room: usize) -> Option<bool> {
        let (day, keys) = &mut self.days[at];
        match keys.entry(key) {
            Entry::Occupied(mut entry) => {
                let mut sum = *entry.get();
                if add(&mut sum, &amounts).is_ok() {
                    entry.insert(sum);
                } else {
                    let key = entry.key().clone();
                    let full = self.full.entry((*day, key)).or_default();
                    for (counter, amount) in named::<C>(&entry.insert(amounts)) {
                        add_sum(full, counter, amount);
                    }
                }
                Some(false)
            }
            Entry::Vacant(entry) => (room > 0).then(|| {
                entry.insert(amounts);
                true
            }),
        }
    }
}

impl<C, K, Conn> OfOneType<Conn> for CountedOf<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: GatherKey<C::Table, Conn>,
    Conn: Connection<Backend: CounterBackend>,
{
    fn any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn append_to(self: Box<Self>, earlier: &mut dyn Any) {
        let earlier: &mut Self = earlier.downcast_mut().expect("its type was compared");
        for (day, keys) in self.days {
            let at = earlier.place_of(day);
            for (key, amounts) in keys {
                earlier.add(at, key, amounts, usize::MAX);
            }
        }
        for (key, sums) in self.full {
            let full = earlier.full.entry(key).or_default();
            for (counter, amount) in sums {
                add_sum(full, counter, amount);
            }
        }
    }

    fn move_to(self: Box<Self>, gathered: &mut Gathered<Conn>) -> usize {
        let rows = gathered.table::<C::Table, K>();
        let mut known = 0;
        for (day, keys) in self.days {
            for (key, amounts) in keys {
                known += usize::from(rows.add(day, key, named::<C>(&amounts)));
            }
        }
        // These keys were moved above, so they are not counted again.
        for ((day, key), sums) in self.full {
            rows.add(day, key, sums.into_iter());
        }
        known
    }

    fn add_pending(&self, table: TypeId, key: &dyn Any, to: &mut Sums) {
        let Some(key) = key.downcast_ref::<K>() else {
            return;
        };
        if table != TypeId::of::<C::Table>() {
            return;
        }
        let pending = self.days.iter().filter_map(|(_, keys)| keys.get(key));
        let pending = pending.flat_map(named::<C>);
        let full = self.full.iter().filter(|((_, of), _)| of == key);
        let full = full.flat_map(|(_, sums)| sums.iter().copied());
        for (counter, amount) in pending.chain(full) {
            add_sum(to, counter, amount);
        }
    }
}

/// The amounts with the names of their counters.
fn named<C: Counters>(amounts: &C::Amounts) -> impl ExactSizeIterator<Item = (&'static str, i128)> {
    let names = C::NAMES.iter().map(|name| name.0);
    names.zip(amounts.as_ref().iter().map(|amount| i128::from(*amount)))
}
