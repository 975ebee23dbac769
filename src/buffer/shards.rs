//! Counting in memory: maps by thread, so that threads do not wait for each other.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::{self, Debug, Write as _};
use std::hash::Hash;
use std::mem;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use chrono::NaiveDate;
use diesel::connection::Connection;
use foldhash::fast::RandomState;

use crate::add::gathered::{Sums, add_sums, sums};
use crate::buffer::backlog::Backlog;
use crate::buffer::write::BufferError;
use crate::sql::CounterBackend;
use crate::typed::counters::{Counters, KeyType};
use crate::typed::key::BindKey;
use crate::typed::settings::CounterSettings as _;

/// A number of maps that many threads can be spread over.
const SHARDS: usize = 64;

/// What threads have counted since the last write.
pub(crate) struct Shards<Conn> {
    shards: Box<[Shard<Conn>]>,
    tables: Mutex<Vec<(TypeId, Arc<OfTable>)>>,
    /// The room of the keys of all tables.
    keys: AtomicUsize,
    max_keys: usize,
    refused: AtomicU64,
    process: u32,
    /// Whether it is known that this process is a fork.
    is_a_fork: AtomicBool,
}

/// Apart from others in the processor's cache.
#[repr(align(128))]
struct Shard<Conn>(Mutex<Tables<Conn>>);

type Tables<Conn> = Vec<(TypeId, Box<dyn ShardTable<Conn>>)>;

/// A known key is counted without a system call, except each time that this number has been counted.
const CHECKED: u8 = 64;

/// The counters of one type, with keys of one type, in one shard.
trait ShardTable<Conn>: Any + Send {
    /// Moves what was counted to the backlog, and returns the room that is left over: several shards
    /// can have the same key.
    fn drain(&mut self, backlog: &mut Backlog<Conn>) -> usize;
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
            tables: Mutex::default(),
            keys: AtomicUsize::new(0),
            max_keys,
            refused: AtomicU64::new(0),
            process: std::process::id(),
            is_a_fork: AtomicBool::new(false),
        }
    }

    /// Adds these amounts to counters of several entities: all or none. `room` is that of all keys
    /// together, or 0 if there is one.
    pub(crate) fn count<C, K>(
        &self,
        day: Option<NaiveDate>,
        counts: impl Iterator<Item = (impl FindKey<K>, C::Amounts)>,
        room: usize,
    ) -> Result<(), BufferError>
    where
        C: Counters<Table: 'static> + 'static,
        K: BufferKey + BindKey<KeyType<C>, Conn::Backend>,
        Conn: Connection<Backend: CounterBackend>,
    {
        if self.is_a_fork.load(Ordering::Relaxed) {
            return Err(BufferError::Forked);
        }
        let mut shard = self.shard();
        let counts_of = counts_of::<C, K, Conn>(&mut shard, &self.tables);
        counts_of.calls = counts_of.calls.wrapping_add(1);
        if counts_of.calls % CHECKED == 0 && self.is_forked() {
            return Err(BufferError::Forked);
        }
        let day = day.or_else(|| counts_of.today());
        let place = day.ok_or(BufferError::NoDay)?;
        let mut reserved = room;
        if room > 0 {
            self.reserve(&counts_of.table, room)?;
            counts_of.room += room;
        }
        for (key, amounts) in counts {
            let reserve = |table: &OfTable, room| match reserved.checked_sub(room) {
                Some(left) => {
                    reserved = left;
                    Ok(0)
                }
                None => self.reserve(table, room),
            };
            counts_of.add(key, place, amounts, reserve)?;
        }
        if reserved > 0 {
            counts_of.room -= reserved;
            self.release_room(&counts_of.table, reserved);
        }
        Ok(())
    }

    /// Takes room for a new key, as long as the keys of its table have at most that of `max_keys`.
    fn reserve(&self, table: &OfTable, room: usize) -> Result<usize, BufferError> {
        if self.is_forked() {
            return Err(BufferError::Forked);
        }
        let before = table.keys.fetch_add(room, Ordering::Relaxed);
        self.keys.fetch_add(room, Ordering::Relaxed);
        if before.saturating_add(room) <= self.max_keys {
            return Ok(room);
        }
        self.release_room(table, room);
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(BufferError::Full {
            max_keys: self.max_keys,
        })
    }

    fn release_room(&self, table: &OfTable, room: usize) {
        table.keys.fetch_sub(room, Ordering::Relaxed);
        self.keys.fetch_sub(room, Ordering::Relaxed);
    }

    /// Releases the room of keys of this table that have left the backlog.
    pub(crate) fn release(&self, table: TypeId, room: usize) {
        let tables = lock(&self.tables);
        let of_table = tables.iter().find(|(other, _)| *other == table);
        let (_, table) = of_table.expect("a key of this table was counted");
        self.release_room(table, room);
    }

    /// Whether this process is a fork of the one that has the threads.
    pub(crate) fn is_forked(&self) -> bool {
        let is_forked = std::process::id() != self.process;
        if is_forked {
            self.is_a_fork.store(true, Ordering::Relaxed);
        }
        is_forked
    }

    pub(crate) fn keys(&self) -> usize {
        self.keys.load(Ordering::Relaxed)
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Moves all that was counted to the backlog.
    pub(crate) fn drain(&self, backlog: &mut Backlog<Conn>) {
        for shard in &self.shards {
            let tables = mem::take(&mut *lock(&shard.0));
            for (_, mut table) in tables {
                backlog.is_older(table.oldest());
                let left = table.drain(backlog);
                self.keys.fetch_sub(left, Ordering::Relaxed);
            }
        }
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
        let tables = lock(&self.tables).clone();
        for (_, table) in tables {
            table.read_day();
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

/// What all threads know of a table.
struct OfTable {
    /// The room of its keys, in the shards and in the backlog.
    keys: AtomicUsize,
    /// The number of times that the day has changed. Threads read the day without a clock.
    changes: AtomicU32,
    /// `None` if `today` has panicked.
    day: Mutex<Option<NaiveDate>>,
    today: fn() -> NaiveDate,
}

impl OfTable {
    fn new(today: fn() -> NaiveDate) -> Self {
        OfTable {
            keys: AtomicUsize::new(0),
            changes: AtomicU32::new(0),
            day: Mutex::new(catch_unwind(today).ok()),
            today,
        }
    }

    fn read_day(&self) {
        let now = catch_unwind(self.today).ok();
        let day = &mut *lock(&self.day);
        if now != *day {
            *day = now;
            self.changes.fetch_add(1, Ordering::Release);
        }
    }
}

/// The room that a key takes in `max_keys`: that of one key, and of one more for each 256 bytes.
pub(crate) fn room<K: Debug>(key: &K) -> usize {
    struct Length(usize);
    impl fmt::Write for Length {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 += text.len();
            Ok(())
        }
    }
    // A number owns no memory.
    if !mem::needs_drop::<K>() {
        return 1;
    }
    let mut length = Length(0);
    // Nothing but the length can be asked of any key.
    let _ = write!(length, "{key:?}");
    1 + length.0 / 256
}

fn counts_of<'a, C, K, Conn>(
    tables: &'a mut Tables<Conn>,
    of_tables: &Mutex<Vec<(TypeId, Arc<OfTable>)>>,
) -> &'a mut Counts<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: BufferKey + BindKey<KeyType<C>, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    let id = TypeId::of::<(C, K)>();
    let found = tables.iter().position(|(other, _)| *other == id);
    let at = found.unwrap_or_else(|| {
        let table = TypeId::of::<C::Table>();
        let mut of_tables = lock(of_tables);
        let known = of_tables.iter().find(|(other, _)| *other == table);
        let known = known.map(|(_, known)| Arc::clone(known));
        let of_table = known.unwrap_or_else(|| {
            let new = Arc::new(OfTable::new(|| C::Table::shape().today()));
            of_tables.push((table, Arc::clone(&new)));
            new
        });
        tables.push((id, Box::new(Counts::<C, K>::new(of_table))));
        tables.len() - 1
    });
    let counts: &mut dyn Any = &mut *tables[at].1;
    let counts = counts.downcast_mut();
    counts.expect("a table is found by the id of its type")
}

struct Counts<C: Counters, K> {
    /// For each key, the first day that it was counted on.
    sums: HashMap<K, Sum<C>, RandomState>,
    /// Other days of these keys, and sums that would overflow.
    others: HashMap<K, Vec<Sum<C>>, RandomState>,
    /// The room that was taken for the keys, once for each day.
    room: usize,
    /// When the first was counted.
    oldest: Option<Instant>,
    table: Arc<OfTable>,
    /// The day after this number of changes.
    known: (u32, Option<NaiveDate>),
    /// The number of calls, which wraps.
    calls: u8,
}

struct Sum<C: Counters> {
    place: NaiveDate,
    amounts: C::Amounts,
}

impl<C: Counters, K: BufferKey> Counts<C, K> {
    fn new(table: Arc<OfTable>) -> Self {
        let changes = table.changes.load(Ordering::Acquire);
        let known = (changes, *lock(&table.day));
        Counts {
            sums: HashMap::default(),
            others: HashMap::default(),
            room: 0,
            oldest: None,
            table,
            known,
            calls: 0,
        }
    }

    fn today(&mut self) -> Option<NaiveDate> {
        let changes = self.table.changes.load(Ordering::Acquire);
        if changes != self.known.0 {
            self.known = (changes, *lock(&self.table.day));
        }
        self.known.1
    }

    fn add(
        &mut self,
        key: impl FindKey<K>,
        place: NaiveDate,
        amounts: C::Amounts,
        reserve: impl FnOnce(&OfTable, usize) -> Result<usize, BufferError>,
    ) -> Result<(), BufferError> {
        let Some(sum) = key.find(&mut self.sums) else {
            let key = key.into_key();
            self.room += reserve(&self.table, room(&key))?;
            self.oldest.get_or_insert_with(Instant::now);
            self.sums.insert(key, Sum { place, amounts });
            return Ok(());
        };
        if sum.add(place, &amounts) {
            return Ok(());
        }
        let key = key.into_key();
        let room = room(&key);
        let others = self.others.entry(key).or_default();
        if others.iter_mut().any(|sum| sum.add(place, &amounts)) {
            return Ok(());
        }
        self.room += reserve(&self.table, room)?;
        others.push(Sum { place, amounts });
        Ok(())
    }

    fn all(&self) -> impl Iterator<Item = &Sum<C>> {
        self.sums.values().chain(self.others.values().flatten())
    }
}

impl<C: Counters> Sum<C> {
    /// Adds the amounts and returns `true`, if it is of this place and does not overflow.
    fn add(&mut self, place: NaiveDate, amounts: &C::Amounts) -> bool {
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
    K: BufferKey + BindKey<KeyType<C>, Conn::Backend>,
    Conn: Connection<Backend: CounterBackend> + 'static,
{
    fn drain(&mut self, backlog: &mut Backlog<Conn>) -> usize {
        let others = mem::take(&mut self.others).into_iter();
        let others = others.flat_map(|(key, sums)| sums.into_iter().map(move |s| (key.clone(), s)));
        let rows = mem::take(&mut self.sums).into_iter().chain(others);
        let rows = rows.map(|(key, sum)| ((sum.place, key), sums::<C>(&sum.amounts)));
        let left = mem::take(&mut self.room) - backlog.append::<C::Table, K>(rows);
        self.table.keys.fetch_sub(left, Ordering::Relaxed);
        left
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
            add_sums(to, &sums::<C>(&sum.amounts));
        }
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
