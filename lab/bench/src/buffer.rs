//! Counting in memory: `CounterBuffer` beside a shared map of atomic counters, which is the
//! `downloads_counter.rs` of the Rust registry's server.

use std::hash::Hash;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use dashmap::DashMap;
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use diesel::r2d2::{ConnectionManager, Pool, PooledConnection};
use diesel_counters::CounterBuffer;
use diesel_counters::prelude::*;

use crate::compare::median;
use crate::database::{Database, Engine, for_each_connection, with_connection};
use crate::server::on_each;

/// The keys that are counted.
const KEYS: usize = 10_000;

diesel::table! {
    #[sql_name = "bench_version_downloads"]
    version_downloads (version_id, day, slot) {
        version_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        downloads -> BigInt,
    }
}
diesel_counters::counter_table!(version_downloads);

diesel::table! {
    #[sql_name = "bench_path_views"]
    path_views (path, day, slot) {
        path -> Text,
        day -> Date,
        slot -> SmallInt,
        views -> BigInt,
    }
}
diesel_counters::counter_table!(path_views);

/// A map of atomic counters in shards that all threads share. It has no day, and writes nothing.
struct SharedMap<K> {
    counts: DashMap<K, AtomicUsize>,
    /// The number of counts. The registry's server has it too.
    pending: AtomicI64,
}

impl<K: Eq + Hash> SharedMap<K> {
    fn new() -> Self {
        SharedMap {
            counts: DashMap::new(),
            pending: AtomicI64::new(0),
        }
    }

    /// Locks the shard for writing only if the key is new, and makes a key only then.
    fn count<Q: Eq + Hash + ?Sized>(&self, key: &Q, owned: impl Fn() -> K)
    where
        K: std::borrow::Borrow<Q>,
    {
        self.pending.fetch_add(1, Ordering::SeqCst);
        if let Some(count) = self.counts.get(key) {
            count.fetch_add(1, Ordering::SeqCst);
            return;
        }
        let count = self.counts.entry(owned()).or_default();
        count.fetch_add(1, Ordering::SeqCst);
    }
}

/// Prints the speed and the memory of counting, and the cost of a write on each database.
pub fn run(engines: &[Engine], rounds: u16, seconds: f64) -> Result<()> {
    counting(rounds, Duration::from_secs_f64(seconds))?;
    memory()?;
    println!("\n| a write of {KEYS} keys, as a multiple of `of_many` in a transaction | |");
    println!("| --- | ---: |");
    on_each(engines, |engine, url| {
        let ratio = with_connection!(engine, writing(url, rounds))?;
        println!("| {} | {ratio:.2} |", engine.name());
        Ok(())
    })
}

fn counting(rounds: u16, time: Duration) -> Result<()> {
    println!("| million counts a second | shared map | `CounterBuffer` | ratio |");
    println!("| --- | ---: | ---: | ---: |");
    for threads in [2, 16] {
        let keys: Vec<i64> = (0..KEYS as i64).collect();
        let ours = |buffer: &Buffer, i: usize| {
            let increment = increment(version_downloads::downloads).of(keys[i]);
            buffer.count(increment).is_ok()
        };
        let theirs = |map: &SharedMap<i64>, i: usize| map.count(&keys[i], || keys[i]);
        let what = format!("an `i64`, {threads} threads");
        report(&what, rounds, time, threads, theirs, ours)?;

        let keys: Vec<String> = (0..KEYS).map(|i| format!("/articles/{i}/why")).collect();
        let ours = |buffer: &Buffer, i: usize| {
            let increment = increment(path_views::views).of(keys[i].as_str());
            buffer.count(increment).is_ok()
        };
        let theirs = |map: &SharedMap<String>, i: usize| {
            map.count(keys[i].as_str(), || keys[i].clone());
        };
        let what = format!("a `&str`, {threads} threads");
        report(&what, rounds, time, threads, theirs, ours)?;
    }
    Ok(())
}

/// Measures the shared map and the buffer in turns, and prints a row of the table.
fn report<K: Eq + Hash + Send + Sync>(
    what: &str,
    rounds: u16,
    time: Duration,
    threads: usize,
    theirs: impl Fn(&SharedMap<K>, usize) + Sync,
    ours: impl Fn(&Buffer, usize) -> bool + Sync,
) -> Result<()> {
    let mut all = [vec![], vec![]];
    let mut ratios = vec![];
    for _ in 0..rounds {
        let map = SharedMap::new();
        let count = |i| {
            theirs(&map, i);
            true
        };
        let (_, theirs) = count_for(time, threads, count);
        let ours = with_buffer(|buffer| count_for(time, threads, |i| ours(buffer, i)))?;
        all[0].push(theirs);
        all[1].push(ours);
        ratios.push(ours / theirs);
    }
    let [theirs, ours] = all.map(|all| median(all).unwrap_or(f64::NAN) / 1e6);
    let ratio = median(ratios).unwrap_or(f64::NAN);
    println!("| {what} | {theirs:.1} | {ours:.1} | {ratio:.1} |");
    Ok(())
}

/// Counts a million keys once, and prints by how much the memory of the process grows. Linux only.
fn memory() -> Result<()> {
    const MANY: i64 = 1_000_000;
    let resident = || -> Result<f64> {
        // The second number is the resident pages, of 4,096 bytes on most machines.
        let sizes = std::fs::read_to_string("/proc/self/statm")?;
        let pages = sizes.split(' ').nth(1).unwrap_or_default();
        Ok(pages.parse::<f64>()? * 4096.0)
    };
    println!("\n| bytes of memory for a pending key | |");
    println!("| --- | ---: |");
    for key in ["`i64`", "`String` of 20 bytes"] {
        let pool = Pool::builder()
            .min_idle(Some(0))
            .build_unchecked(ConnectionManager::<SqliteConnection>::new(":memory:"));
        let buffer = CounterBuffer::builder(move || pool.get())
            .every(Duration::from_secs(1_000_000))
            .max_keys(usize::MAX)
            .start()?;
        let before = resident()?;
        for i in 0..MANY {
            match key {
                "`i64`" => buffer.count(increment(version_downloads::downloads).of(i))?,
                _ => buffer.count(increment(path_views::views).of(format!("/articles/{i:010}")))?,
            }
        }
        println!("| {key} | {:.0} |", (resident()? - before) / MANY as f64);
        // A drop would write, and there are no tables.
        std::mem::forget(buffer);
    }
    Ok(())
}

trait Buffered: Database {
    /// Returns how long a write of the buffer takes, divided by the time of `of_many` of the same
    /// keys, round by round.
    fn writes(url: &str, rounds: u16) -> Result<Vec<f64>>;
}

for_each_connection!(
    impl Buffered {
        fn writes(url: &str, rounds: u16) -> Result<Vec<f64>> {
            // One connection, so that both write on the one that has the settings.
            let pool = Pool::builder().max_size(1).build(ConnectionManager::<Self>::new(url))?;
            let of_buffer = pool.clone();
            let builder = CounterBuffer::builder(move || of_buffer.get());
            let buffer = builder.every(Duration::from_secs(1_000_000)).start()?;
            if !Self::SETTINGS.is_empty() {
                pool.get()?.batch_execute(Self::SETTINGS)?;
            }
            let counts = || (0..KEYS as i64).map(|id| (id, 1));
            let mut ratios = Vec::new();
            for _ in 0..rounds {
                let begun = Instant::now();
                pool.get()?.transaction(|conn| {
                    increment(version_downloads::downloads).of_many(counts()).execute(conn)
                })?;
                let alone = begun.elapsed();
                buffer.count(increment(version_downloads::downloads).of_many(counts()))?;
                let write = buffer.flush();
                ensure!(write.written == KEYS, "{write}");
                ratios.push(write.took.as_secs_f64() / alone.as_secs_f64());
            }
            Ok(ratios)
        }
    }
);

fn writing<C: Buffered>(url: &str, rounds: u16) -> Result<f64> {
    let conn = &mut C::connect(url)?;
    conn.batch_execute(&format!("{DROP}{CREATE}"))?;
    // The first round inserts the rows.
    let ratios = C::writes(url, rounds + 1)?.split_off(1);
    conn.batch_execute(DROP)?;
    Ok(median(ratios).unwrap_or(f64::NAN))
}

const CREATE: &str = "
    CREATE TABLE bench_version_downloads (
        version_id BIGINT NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        downloads BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (version_id, day, slot)
    );
    CREATE TABLE bench_path_views (
        path VARCHAR(100) NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL,
        views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (path, day, slot)
    );";

const DROP: &str =
    "DROP TABLE IF EXISTS bench_version_downloads; DROP TABLE IF EXISTS bench_path_views;";

type Buffer = CounterBuffer<PooledConnection<ConnectionManager<SqliteConnection>>>;

/// Calls `count` with a buffer that writes into SQLite every second. Fails unless all counts are
/// stored at the end. Returns the counts a second.
fn with_buffer(count: impl Fn(&Buffer) -> (u64, f64)) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let url = folder.path().join("bench.sqlite");
    let manager = ConnectionManager::<SqliteConnection>::new(url.to_string_lossy());
    let pool = Pool::new(manager)?;
    let conn = &mut pool.get()?;
    conn.batch_execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")?;
    conn.batch_execute(CREATE)?;
    let of_buffer = pool.clone();
    let buffer = CounterBuffer::builder(move || of_buffer.get()).start()?;
    let (counted, speed) = count(&buffer);
    let write = buffer.stop();
    ensure!(write.error.is_none(), "{write}");
    let versions = counter_value(version_downloads::downloads).of(());
    let paths = counter_value(path_views::views).of(());
    let written = versions.get_result::<i64>(conn)? + paths.get_result::<i64>(conn)?;
    let written = written as u64;
    ensure!(written == counted, "{written} written, {counted} counted");
    Ok(speed)
}

/// Counts on several threads for some time, until `count` returns `false`. Returns the number of
/// counts, and that of a second.
fn count_for(time: Duration, threads: usize, count: impl Fn(usize) -> bool + Sync) -> (u64, f64) {
    let ends = AtomicBool::new(false);
    let begun = Instant::now();
    let counted: u64 = thread::scope(|scope| {
        let count = &count;
        let ends = &ends;
        let threads = (0..threads as u64).map(|thread| {
            scope.spawn(move || {
                let keys = skewed(thread);
                let mut counted = 0_u64;
                while !ends.load(Ordering::Relaxed) {
                    for key in &keys {
                        if !count(usize::from(*key)) {
                            return counted;
                        }
                        counted += 1;
                    }
                }
                counted
            })
        });
        let threads: Vec<_> = threads.collect();
        thread::sleep(time);
        ends.store(true, Ordering::Relaxed);
        let threads = threads.into_iter();
        threads
            .map(|thread| thread.join().unwrap_or_default())
            .sum()
    });
    (counted, counted as f64 / begun.elapsed().as_secs_f64())
}

/// Returns numbers of keys at random. The first keys are more frequent: a tenth of the keys has 56%
/// of the counts.
fn skewed(seed: u64) -> Vec<u16> {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    let mut random = StdRng::seed_from_u64(seed);
    let key = |_| (random.random_range(0.0..1.0_f64).powi(4) * KEYS as f64) as u16;
    (0..10_000).map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_of_the_keys_has_more_than_half_of_the_counts() {
        let keys = skewed(1);
        let tenth = KEYS / 10;
        let frequent = keys.iter().filter(|key| usize::from(**key) < tenth).count();
        let percent = 100 * frequent / keys.len();
        assert!((55..=57).contains(&percent), "{percent}");
    }
}
