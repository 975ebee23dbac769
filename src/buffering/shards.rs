//! Counting in memory: maps by thread, so that threads do not wait for each other.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use chrono::NaiveDate;
use diesel::connection::Connection;
use diesel::query_dsl::methods::ExecuteDsl;
use foldhash::fast::RandomState;

use crate::backend::CounterBackend;
use crate::buffering::backlog::Backlog;
use crate::buffering::write::BufferError;
use crate::counter::{Counters, wide};
use crate::counting::gathered::{Sums, add_sums, sums};
use crate::counting::increment::today;
use crate::counting::increment_many::AddRows;
use crate::key::{KeyOf, KeyType};
use crate::slot::Slot;

/// A number of maps that many threads can be spread over.
const SHARDS: usize = 64;

/// What threads have counted since the last write.
pub(crate) struct Shards<Conn> {
    shards: Box<[Shard<Conn>]>,
    days: Mutex<Vec<(TypeId, Arc<Today>)>>,
    /// The number of keys here and in the backlog. A key is counted once in each shard that has it.
    keys: AtomicUsize,
    max_keys: usize,
    refused: AtomicU64,
    process: u32,
    has_stopped: AtomicBool,
}

/// Apart from others in the processor's cache.
#[repr(align(128))]
struct Shard<Conn>(Mutex<Tables<Conn>>);

type Tables<Conn> = Vec<(TypeId, Box<dyn ShardTable<Conn>>)>;

/// The counters of one type, with keys of one type, in one shard.
trait ShardTable<Conn>: Any + Send {
    /// Moves what was counted to the backlog, and returns the number of keys.
    fn drain(&mut self, backlog: &mut Backlog<Conn>) -> usize;
    fn keys(&self) -> usize;
    fn amount(&self) -> i128;
    fn oldest(&self) -> Option<Instant>;
    /// Adds what was counted for this key of the table `(T, K)`.
    fn add_pending(&self, table: TypeId, key: &dyn Any, to: &mut Sums);
}

/// A key of entities that can be counted in memory.
pub trait BufferKey: Hash + Eq + Ord + Clone + Debug + Send + 'static {}
impl<K: Hash + Eq + Ord + Clone + Debug + Send + 'static> BufferKey for K {}

/// A key to find in a map of keys `K`, owned or borrowed.
pub(crate) trait FindKey<K> {
    fn find<'m, V>(&self, map: &'m mut HashMap<K, V, RandomState>) -> Option<&'m mut V>;
    fn into_key(self) -> K;
}

pub(crate) struct OwnedKey<K>(pub(crate) K);

impl<K: Hash + Eq> FindKey<K> for OwnedKey<K> {
    fn find<'m, V>(&self, map: &'m mut HashMap<K, V, RandomState>) -> Option<&'m mut V> {
        map.get_mut(&self.0)
    }

    fn into_key(self) -> K {
        self.0
    }
}

/// It is copied only if it is new.
impl<Q: ToOwned<Owned: Hash + Eq> + Hash + Eq + ?Sized> FindKey<Q::Owned> for &Q {
    fn find<'m, V>(&self, map: &'m mut HashMap<Q::Owned, V, RandomState>) -> Option<&'m mut V> {
        map.get_mut(*self)
    }

    fn into_key(self) -> Q::Owned {
        self.to_owned()
    }
}

impl<Conn: 'static> Shards<Conn> {
    pub(crate) fn new(max_keys: usize) -> Self {
        let shards = (0..SHARDS).map(|_| Shard(Mutex::default()));
        Shards {
            shards: shards.collect(),
            days: Mutex::default(),
            keys: AtomicUsize::new(0),
            max_keys,
            refused: AtomicU64::new(0),
            process: std::process::id(),
            has_stopped: AtomicBool::new(false),
        }
    }

    /// Adds these amounts to counters of several entities: all or none.
    pub(crate) fn count<C, K>(
        &self,
        day: Option<NaiveDate>,
        slot: Slot,
        counts: impl ExactSizeIterator<Item = (impl FindKey<K>, C::Amounts)>,
    ) -> Result<(), BufferError>
    where
        C: Counters<Table: 'static> + 'static,
        K: BufferKey + KeyOf<KeyType<C>, Columns: 'static>,
        Conn: Connection<Backend: CounterBackend>,
        AddRows<C::Table, K::Columns>: ExecuteDsl<Conn>,
    {
        if self.has_stopped.load(Ordering::Relaxed) {
            return Err(BufferError::Stopped);
        }
        let mut shard = self.shard();
        let counts_of = counts_of::<C, K, Conn>(&mut shard, &self.days);
        let place = (day.unwrap_or_else(|| counts_of.today()), slot);
        let many = counts.len() > 1;
        let mut reserved = if many { counts.len() } else { 0 };
        if many {
            self.reserve(reserved)?;
        }
        for (key, amounts) in counts {
            let reserve = || match reserved.checked_sub(1) {
                Some(left) => {
                    reserved = left;
                    Ok(())
                }
                None => self.reserve(1),
            };
            counts_of.add(key, place, amounts, reserve)?;
        }
        if reserved > 0 {
            self.release(reserved);
        }
        Ok(())
    }

    /// Counts new keys, as long as there are at most `max_keys`.
    fn reserve(&self, keys: usize) -> Result<(), BufferError> {
        if self.is_forked() {
            return Err(BufferError::Forked);
        }
        let before = self.keys.fetch_add(keys, Ordering::Relaxed);
        if before.saturating_add(keys) <= self.max_keys {
            return Ok(());
        }
        self.release(keys);
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(BufferError::Full {
            max_keys: self.max_keys,
        })
    }

    pub(crate) fn release(&self, keys: usize) {
        self.keys.fetch_sub(keys, Ordering::Relaxed);
    }

    /// Nothing can be counted any more.
    pub(crate) fn stop(&self) {
        self.has_stopped.store(true, Ordering::Relaxed);
    }

    /// Whether this process is a fork of the one that has the threads.
    pub(crate) fn is_forked(&self) -> bool {
        std::process::id() != self.process
    }

    pub(crate) fn keys(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Moves all that was counted to the backlog.
    pub(crate) fn drain(&self, backlog: &mut Backlog<Conn>) {
        let before = backlog.keys();
        let mut drained = 0;
        for shard in &self.shards {
            let tables = mem::take(&mut *lock(&shard.0));
            for (_, mut table) in tables {
                backlog.is_older(table.oldest());
                drained += table.drain(backlog);
            }
        }
        // Several shards can have the same key.
        self.release(drained - (backlog.keys() - before));
    }

    /// Returns the sum of all amounts, and when the first one was counted.
    pub(crate) fn pending(&self) -> (i128, Option<Instant>) {
        let mut amount = 0;
        let mut oldest = None;
        for shard in &self.shards {
            for (_, table) in lock(&shard.0).iter() {
                amount += table.amount();
                oldest = [oldest, table.oldest()].into_iter().flatten().min();
            }
        }
        (amount, oldest)
    }

    pub(crate) fn add_pending(&self, table: TypeId, key: &dyn Any, to: &mut Sums) {
        for shard in &self.shards {
            for (_, counts) in lock(&shard.0).iter() {
                counts.add_pending(table, key, to);
            }
        }
    }

    /// Reads the day of each table again.
    pub(crate) fn read_days(&self) {
        let days = lock(&self.days).clone();
        for (_, today) in days {
            today.read();
        }
    }

    fn shard(&self) -> MutexGuard<'_, Tables<Conn>> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static SHARD: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
        }
        // A thread that ends can count while its thread locals are dropped.
        let shard = SHARD.try_with(|shard| *shard).unwrap_or_default();
        lock(&self.shards[shard].0)
    }
}

/// The day of a table that counts today. Threads read it without a clock.
struct Today {
    /// The number of times that the day has changed.
    changes: AtomicU32,
    day: Mutex<NaiveDate>,
    read: fn() -> NaiveDate,
}

impl Today {
    fn new(read: fn() -> NaiveDate) -> Self {
        Today {
            changes: AtomicU32::new(0),
            day: Mutex::new(read()),
            read,
        }
    }

    fn read(&self) {
        let now = (self.read)();
        let day = &mut *lock(&self.day);
        if now != *day {
            *day = now;
            self.changes.fetch_add(1, Ordering::Release);
        }
    }
}

fn counts_of<'a, C, K, Conn>(
    tables: &'a mut Tables<Conn>,
    days: &Mutex<Vec<(TypeId, Arc<Today>)>>,
) -> &'a mut Counts<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: BufferKey + KeyOf<KeyType<C>, Columns: 'static>,
    Conn: Connection<Backend: CounterBackend> + 'static,
    AddRows<C::Table, K::Columns>: ExecuteDsl<Conn>,
{
    let id = TypeId::of::<(C, K)>();
    let found = tables.iter().position(|(other, _)| *other == id);
    let at = found.unwrap_or_else(|| {
        let table = TypeId::of::<C::Table>();
        let mut days = lock(days);
        let known = days.iter().find(|(other, _)| *other == table);
        let known = known.map(|(_, known)| Arc::clone(known));
        let today = known.unwrap_or_else(|| {
            let new = Arc::new(Today::new(today::<C::Table>));
            days.push((table, Arc::clone(&new)));
            new
        });
        tables.push((id, Box::new(Counts::<C, K>::new(today))));
        tables.len() - 1
    });
    let counts: &mut dyn Any = &mut *tables[at].1;
    let counts = counts.downcast_mut();
    counts.expect("a table is found by the id of its type")
}

struct Counts<C: Counters, K> {
    /// For each key, the first day and slot that it was counted on.
    sums: HashMap<K, Sum<C>, RandomState>,
    /// Other days and slots of these keys, and sums that would overflow.
    others: HashMap<K, Vec<Sum<C>>, RandomState>,
    others_len: usize,
    /// When the first was counted.
    oldest: Option<Instant>,
    today: Arc<Today>,
    /// The day after this number of changes.
    known: (u32, NaiveDate),
}

struct Sum<C: Counters> {
    place: (NaiveDate, Slot),
    amounts: C::Amounts,
}

impl<C: Counters, K: BufferKey> Counts<C, K> {
    fn new(today: Arc<Today>) -> Self {
        let changes = today.changes.load(Ordering::Acquire);
        let known = (changes, *lock(&today.day));
        Counts {
            sums: HashMap::default(),
            others: HashMap::default(),
            others_len: 0,
            oldest: None,
            today,
            known,
        }
    }

    fn today(&mut self) -> NaiveDate {
        let changes = self.today.changes.load(Ordering::Acquire);
        if changes != self.known.0 {
            self.known = (changes, *lock(&self.today.day));
        }
        self.known.1
    }

    fn add(
        &mut self,
        key: impl FindKey<K>,
        place: (NaiveDate, Slot),
        amounts: C::Amounts,
        reserve: impl FnOnce() -> Result<(), BufferError>,
    ) -> Result<(), BufferError> {
        let Some(sum) = key.find(&mut self.sums) else {
            reserve()?;
            self.oldest.get_or_insert_with(Instant::now);
            self.sums.insert(key.into_key(), Sum { place, amounts });
            return Ok(());
        };
        if sum.add(place, &amounts) {
            return Ok(());
        }
        let others = self.others.entry(key.into_key()).or_default();
        if others.iter_mut().any(|sum| sum.add(place, &amounts)) {
            return Ok(());
        }
        reserve()?;
        others.push(Sum { place, amounts });
        self.others_len += 1;
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = &Sum<C>> {
        self.sums.values().chain(self.others.values().flatten())
    }
}

impl<C: Counters> Sum<C> {
    /// Adds the amounts and returns `true`, if it is of this place and does not overflow.
    fn add(&mut self, place: (NaiveDate, Slot), amounts: &C::Amounts) -> bool {
        if self.place != place {
            return false;
        }
        let mut sums = self.amounts;
        for (sum, amount) in sums.as_mut().iter_mut().zip(amounts.as_ref()) {
            match sum.checked_add(*amount) {
                Some(added) => *sum = added,
                None => return false,
            }
        }
        self.amounts = sums;
        true
    }
}

impl<C, K, Conn> ShardTable<Conn> for Counts<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: BufferKey + KeyOf<KeyType<C>, Columns: 'static>,
    Conn: Connection<Backend: CounterBackend> + 'static,
    AddRows<C::Table, K::Columns>: ExecuteDsl<Conn>,
{
    fn drain(&mut self, backlog: &mut Backlog<Conn>) -> usize {
        let keys = ShardTable::<Conn>::keys(self);
        let others = mem::take(&mut self.others).into_iter();
        let others = others.flat_map(|(key, sums)| sums.into_iter().map(move |s| (key.clone(), s)));
        let rows = mem::take(&mut self.sums).into_iter().chain(others);
        let rows = rows.map(|(key, sum)| {
            let (day, slot) = sum.place;
            ((day, key, slot), sums::<C>(&wide::<C>(sum.amounts)))
        });
        backlog.append::<C::Table, K>(rows);
        keys
    }

    fn keys(&self) -> usize {
        self.sums.len() + self.others_len
    }

    fn amount(&self) -> i128 {
        let amounts = |sum: &Sum<C>| -> i128 {
            let amounts = sum.amounts.as_ref().iter();
            amounts.map(|amount| i128::from(*amount)).sum()
        };
        self.all().map(amounts).sum()
    }

    fn oldest(&self) -> Option<Instant> {
        self.oldest
    }

    fn add_pending(&self, table: TypeId, key: &dyn Any, to: &mut Sums) {
        let key = key.downcast_ref::<K>();
        let Some(key) = key.filter(|_| table == TypeId::of::<(C::Table, K)>()) else {
            return;
        };
        let others = self.others.get(key).into_iter().flatten();
        for sum in self.sums.get(key).into_iter().chain(others) {
            add_sums(to, &sums::<C>(&wide::<C>(sum.amounts)));
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
