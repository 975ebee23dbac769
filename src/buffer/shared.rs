//! What the threads that count share with the thread that writes.

use std::hash::Hash;
use std::mem;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use diesel::connection::Connection;

use crate::add::gathered::Gathered;
use crate::background::{BackgroundError, Source, caught, lock};
use crate::buffer::commits::Commits;
use crate::buffer::write::Write;
use crate::buffer::writer::Writer;
use crate::key::OwnedKey;
use crate::sql::CounterBackend;
use crate::typed::counters::{Counters, KeyType};

pub(super) type OnWrite = dyn Fn(&Write) + Send + Sync;

/// The counts of all threads, and how they are written.
pub(super) struct Shared<Conn> {
    /// What threads have counted since the last write. Each thread counts in one of the shards, so
    /// that threads don't wait for each other.
    shards: Box<[Shard<Conn>]>,
    /// What has to be written. A row stays here until it is written or dropped.
    backlog: Mutex<Gathered<Conn>>,
    /// Locked during a write, because application code that runs then could flush again.
    turn: Mutex<()>,
    /// The COMMITs, which a read must not overlap.
    pub(super) commits: Commits,
    /// Whether counts are refused.
    pub(super) is_stopped: AtomicBool,
    /// Increased every second, so that a thread doesn't have to read a clock to count.
    pub(super) second: AtomicUsize,
    /// The number of pending keys.
    pub(super) keys: AtomicUsize,
    pub(super) max_keys: usize,
    source: Box<Source<Conn>>,
    on_write: Box<OnWrite>,
}

/// It is aligned so that shards don't share a line of the processor's cache.
#[repr(align(128))]
struct Shard<Conn>(Mutex<InShard<Conn>>);

/// What the threads of a shard have counted.
pub(super) struct InShard<Conn> {
    /// The number of calls, which wraps.
    pub(super) calls: u8,
    pub(super) counted: Gathered<Conn>,
}

impl<Conn> Default for InShard<Conn> {
    fn default() -> Self {
        InShard {
            calls: 0,
            counted: Gathered::default(),
        }
    }
}

/// The number of shards, enough to spread many threads over.
const SHARDS: usize = 64;

impl<Conn: Connection<Backend: CounterBackend>> Shared<Conn> {
    pub(super) fn new(source: Box<Source<Conn>>, max_keys: usize, on_write: Box<OnWrite>) -> Self {
        let shards = (0..SHARDS).map(|_| Shard(Mutex::default()));
        Shared {
            shards: shards.collect(),
            backlog: Mutex::default(),
            turn: Mutex::default(),
            commits: Commits::default(),
            is_stopped: AtomicBool::new(false),
            second: AtomicUsize::new(0),
            keys: AtomicUsize::new(0),
            max_keys,
            source,
            on_write,
        }
    }

    /// The shard that this thread counts in.
    pub(super) fn shard(&self) -> &Mutex<InShard<Conn>> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static SHARD: usize = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
        }
        let index = SHARD.with(|index| *index);
        let Shard(shard) = &self.shards[index];
        shard
    }

    /// Returns what is pending for this key.
    pub(super) fn pending_of<C, K>(&self, key: &K) -> C::Amounts
    where
        C: Counters<Table: 'static>,
        K: OwnedKey<KeyType<C>, Conn::Backend> + Hash + Send + 'static,
    {
        // Counts only move from the shards to the backlog while the backlog is locked.
        let backlog = lock(&self.backlog);
        let mut sums = backlog.pending::<C::Table, K>(key, C::NAMES);
        // The list is empty if nothing was counted in the table.
        sums.resize(C::NAMES.len(), 0);
        for Shard(shard) in &self.shards {
            let in_shard = lock(shard).counted.pending::<C::Table, K>(key, C::NAMES);
            for (sum, amount) in sums.iter_mut().zip(in_shard) {
                *sum += amount;
            }
        }
        drop(backlog);
        let mut amounts = C::Amounts::default();
        for (amount, sum) in amounts.as_mut().iter_mut().zip(sums) {
            *amount = sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        }
        amounts
    }

    /// Writes what was counted, and calls `on_write`. Does nothing if nothing is pending. Runs on
    /// the buffer's thread.
    pub(super) fn write(&self) -> Write {
        let Ok(turn) = self.turn.try_lock() else {
            // This flush was called during a write, for example by Diesel's instrumentation.
            return self.unwritten(None);
        };
        let written = caught(|| {
            self.gather();
            if self.keys.load(Ordering::Relaxed) == 0 {
                return None;
            }
            let connect = || (self.source)().map_err(BackgroundError::Connection);
            let writer = Writer::new(&self.backlog, &self.keys, &self.commits);
            Some(writer.write(connect))
        });
        let write = match written {
            Ok(Some(write)) => write,
            Ok(None) => return Write::default(),
            // A key's own code has panicked, for example its `Hash`.
            Err(error) => self.unwritten(Some(error)),
        };
        drop(turn);
        // If it panics, the thread goes on.
        let _ = caught(|| (self.on_write)(&write));
        write
    }

    /// Moves what was counted to the backlog.
    fn gather(&self) {
        let mut backlog = lock(&self.backlog);
        for Shard(shard) in &self.shards {
            let counted = mem::take(&mut lock(shard).counted);
            let known_keys = backlog.append(counted);
            // They were pending keys of the shard and of the backlog, and now count only once.
            self.keys.fetch_sub(known_keys, Ordering::Relaxed);
        }
    }

    /// Reports a write that has written nothing.
    pub(super) fn unwritten(&self, error: Option<BackgroundError>) -> Write {
        Write {
            error,
            pending: self.keys.load(Ordering::Relaxed),
            ..Write::default()
        }
    }
}
