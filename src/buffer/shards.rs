//! Counting in memory: maps by thread, so that threads do not wait for each other.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::mem;
use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use chrono::{Datelike, NaiveDate};
use foldhash::fast::RandomState;

use crate::add::countable::{Countable, FindKey, OwnedKey};
use crate::add::gathered::{GatherKey, Gathered, Sums, add_amounts, room};
use crate::background::lock;
use crate::buffer::write::BufferError;
use crate::typed::counters::Counters;
use crate::typed::counters::is_zero;
use crate::typed::settings::CounterSettings as _;

/// A number of maps that many threads can be spread over.
const SHARDS: usize = 64;

/// What threads have counted since the last write.
pub(crate) struct Shards<Conn> {
    shards: Box<[Shard<Conn>]>,
    /// By the type of the table and of its keys.
    tables: Mutex<Vec<(TypeId, Arc<Table>)>>,
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
struct Shard<Conn>(Mutex<OfShard<Conn>>);

/// By the type of the counters and of their keys.
type OfShard<Conn> = Vec<(TypeId, Box<dyn Counted<Conn>>)>;

/// After a write, the first call of a shard asks the operating system for the process and the day, and
/// then each time that this number has been counted.
const CHECKED: u8 = 64;

/// What all threads know of a table.
struct Table {
    /// The room of its keys, in the shards and in the backlog.
    keys: AtomicUsize,
    /// The number of the day, which threads read without a clock.
    day: AtomicI32,
    today: fn() -> NaiveDate,
}

/// The day if `today` has panicked.
const NO_DAY: i32 = i32::MIN;

/// The counters of one type, with keys of one type, in one shard.
struct Counts<C: Counters, K> {
    /// For each day, by its number. A sum that would overflow is in a second map of its day.
    days: Vec<OfDay<K, C::Amounts>>,
    table: Arc<Table>,
    /// The number of calls, which wraps.
    calls: u8,
}

/// The number of a day, and the sums of its keys.
type OfDay<K, Amounts> = (i32, HashMap<K, Amounts, RandomState>);

/// [`Counts`] whose types are not known.
trait Counted<Conn>: Any + Send {
    /// Moves what was counted. Returns the room that is left over: several shards can have a key.
    fn drain(&mut self, to: &mut Gathered<Conn>) -> usize;
    /// Adds what was counted for this key of the table.
    fn add_pending(&self, table: TypeId, key: &dyn Any, to: &mut Sums);
    fn amount(&self) -> i128;
}

impl Table {
    fn read_day(&self) {
        let day = catch_unwind(self.today).map_or(NO_DAY, |day| day.num_days_from_ce());
        self.day.store(day, Ordering::Relaxed);
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

    /// Counts an increment. Of several entities, it counts all or none.
    #[inline]
    pub(crate) fn count<I: Countable<Conn, Of>, Of>(
        &self,
        increment: I,
    ) -> Result<(), BufferError> {
        if self.is_a_fork.load(Ordering::Relaxed) {
            return Err(BufferError::Forked);
        }
        let (day, counts) = increment.into_counts();
        let mut shard = self.shard();
        let Counts { days, table, calls } = self.counts_of::<I::Counters, I::Key>(&mut shard);
        *calls = calls.wrapping_add(1);
        if *calls % CHECKED == 1 {
            if self.is_forked() {
                return Err(BufferError::Forked);
            }
            table.read_day();
        }
        let day = match day {
            Some(day) => day.num_days_from_ce(),
            None => table.day.load(Ordering::Relaxed),
        };
        if day == NO_DAY {
            return Err(BufferError::NoDay);
        }
        let is_many = counts.as_ref().len() > 1;
        let counts = counts.into_iter().filter(|(_, amounts)| !is_zero(amounts));
        if !is_many {
            for (key, amounts) in counts {
                add::<I::Counters, _>(days, day, key, amounts, |room| self.reserve(table, room))?;
            }
            return Ok(());
        }
        let counts = counts.map(|(key, amounts)| (OwnedKey(key.into_key()), amounts));
        let counts: Vec<_> = counts.collect();
        let mut reserved = counts.iter().map(|(OwnedKey(key), _)| room(key)).sum();
        self.reserve(table, reserved)?;
        for (key, amounts) in counts {
            add::<I::Counters, _>(days, day, key, amounts, |room| {
                reserved -= room;
                Ok(())
            })?;
        }
        self.release_room(table, reserved);
        Ok(())
    }

    /// Takes room for new keys, as long as the keys of the table have at most that of `max_keys`.
    fn reserve(&self, table: &Table, room: usize) -> Result<(), BufferError> {
        if self.is_forked() {
            return Err(BufferError::Forked);
        }
        let before = table.keys.fetch_add(room, Ordering::Relaxed);
        self.keys.fetch_add(room, Ordering::Relaxed);
        if before.saturating_add(room) <= self.max_keys {
            return Ok(());
        }
        self.release_room(table, room);
        self.refused.fetch_add(1, Ordering::Relaxed);
        Err(BufferError::Full {
            max_keys: self.max_keys,
        })
    }

    fn release_room(&self, table: &Table, room: usize) {
        table.keys.fetch_sub(room, Ordering::Relaxed);
        self.keys.fetch_sub(room, Ordering::Relaxed);
    }

    /// Releases the room of keys of this table that have left the backlog.
    pub(crate) fn release(&self, table: TypeId, room: usize) {
        let tables = lock(&self.tables);
        let known = tables.iter().find(|(other, _)| *other == table);
        self.release_room(&known.expect("a key of the table was counted").1, room);
    }

    /// Whether this process is a fork of the one that has the thread.
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

    /// Moves all that was counted.
    pub(crate) fn drain(&self, to: &mut Gathered<Conn>) {
        for shard in &self.shards {
            let counts = mem::take(&mut *lock(&shard.0));
            for (_, mut counts) in counts {
                self.keys.fetch_sub(counts.drain(to), Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn amount(&self) -> i128 {
        let of_shard = |shard: &Shard<Conn>| -> i128 {
            let counts = lock(&shard.0);
            counts.iter().map(|(_, counts)| counts.amount()).sum()
        };
        self.shards.iter().map(of_shard).sum()
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

    fn shard(&self) -> MutexGuard<'_, OfShard<Conn>> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static SHARD: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
        }
        // A thread that ends can count while its thread locals are dropped.
        let shard = SHARD.try_with(|shard| *shard).unwrap_or_default();
        lock(&self.shards[shard].0)
    }

    fn counts_of<'a, C, K>(&self, shard: &'a mut OfShard<Conn>) -> &'a mut Counts<C, K>
    where
        C: Counters<Table: 'static> + 'static,
        K: GatherKey<C::Table, Conn>,
    {
        let id = TypeId::of::<(C, K)>();
        let found = shard.iter().position(|(other, _)| *other == id);
        let at = found.unwrap_or_else(|| {
            let counts = Counts::<C, K> {
                days: Vec::new(),
                table: self.table(TypeId::of::<(C::Table, K)>(), || C::Table::shape().today()),
                calls: 0,
            };
            shard.push((id, Box::new(counts)));
            shard.len() - 1
        });
        let counts: &mut dyn Any = &mut *shard[at].1;
        let counts = counts.downcast_mut();
        counts.expect("counts are found by the id of their type")
    }

    fn table(&self, id: TypeId, today: fn() -> NaiveDate) -> Arc<Table> {
        let mut tables = lock(&self.tables);
        let known = tables.iter().find(|(other, _)| *other == id);
        let known = known.map(|(_, table)| Arc::clone(table));
        known.unwrap_or_else(|| {
            let table = Arc::new(Table {
                keys: AtomicUsize::new(0),
                day: AtomicI32::new(NO_DAY),
                today,
            });
            tables.push((id, Arc::clone(&table)));
            table
        })
    }
}

/// Adds amounts on a day. `reserve` takes the room of a new key.
#[inline]
fn add<C: Counters, K: Hash + Eq + Debug>(
    days: &mut Vec<OfDay<K, C::Amounts>>,
    day: i32,
    key: impl FindKey<K>,
    amounts: C::Amounts,
    reserve: impl FnOnce(usize) -> Result<(), BufferError>,
) -> Result<(), BufferError> {
    let mut vacant = None;
    for (i, (_, sums)) in days
        .iter_mut()
        .enumerate()
        .filter(|(_, (other, _))| *other == day)
    {
        match key.find(sums) {
            Some(sums) => {
                if add_to(sums.as_mut(), amounts.as_ref()) {
                    return Ok(());
                }
            }
            None => {
                vacant = Some(i);
                break;
            }
        }
    }
    let key = key.into_key();
    reserve(room(&key))?;
    let vacant = vacant.unwrap_or_else(|| {
        days.push((day, HashMap::default()));
        days.len() - 1
    });
    days[vacant].1.insert(key, amounts);
    Ok(())
}

/// Adds the amounts and returns `true`, unless a sum would overflow.
#[inline]
fn add_to(sums: &mut [i64], amounts: &[i64]) -> bool {
    let mut all = sums.iter().zip(amounts);
    let fits = all.all(|(sum, amount)| sum.checked_add(*amount).is_some());
    if fits {
        for (sum, amount) in sums.iter_mut().zip(amounts) {
            *sum += amount;
        }
    }
    fits
}

impl<C, K, Conn> Counted<Conn> for Counts<C, K>
where
    C: Counters<Table: 'static> + 'static,
    K: GatherKey<C::Table, Conn>,
{
    fn drain(&mut self, to: &mut Gathered<Conn>) -> usize {
        let rows = to.table::<C::Table, K>();
        let mut left = 0;
        for (day, sums) in mem::take(&mut self.days) {
            let day = NaiveDate::from_num_days_from_ce_opt(day).expect("it is the number of a day");
            for (key, amounts) in sums {
                let room = room(&key);
                if !rows.add::<C>((day, key), &amounts) {
                    left += room;
                }
            }
        }
        self.table.keys.fetch_sub(left, Ordering::Relaxed);
        left
    }

    fn add_pending(&self, table: TypeId, key: &dyn Any, to: &mut Sums) {
        let key = key.downcast_ref::<K>();
        let Some(key) = key.filter(|_| table == TypeId::of::<(C::Table, K)>()) else {
            return;
        };
        for amounts in self.days.iter().filter_map(|(_, sums)| sums.get(key)) {
            add_amounts::<C>(to, amounts);
        }
    }

    fn amount(&self) -> i128 {
        let amounts = self.days.iter().flat_map(|(_, sums)| sums.values());
        let amounts = amounts.flat_map(|amounts| amounts.as_ref());
        amounts.map(|amount| i128::from(*amount)).sum()
    }
}
