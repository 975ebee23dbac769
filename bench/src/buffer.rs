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
use diesel::r2d2::{ConnectionManager, Pool};
use diesel_counters::CounterBuffer;
use diesel_counters::prelude::*;

use crate::figures::median;

const KEYS: usize = 10_000;

diesel::table! {
    version_downloads (version_id, day, slot) {
        version_id -> BigInt,
        day -> Date,
        slot -> SmallInt,
        downloads -> BigInt,
    }
}
diesel_counters::counter_table!(version_downloads);

diesel::table! {
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

pub fn run(rounds: u16, seconds: f64) -> Result<()> {
    let time = Duration::from_secs_f64(seconds);
    println!("| million counts a second | shared map | `CounterBuffer` | ratio |");
    println!("| --- | ---: | ---: | ---: |");
    for threads in [2, 16] {
        let keys: Vec<i64> = (0..KEYS as i64).collect();
        let ours = |time| {
            with_buffer(|buffer| {
                count_for(time, threads, |i| {
                    let increment = increment(version_downloads::downloads).of(keys[i]);
                    buffer.count(increment).is_ok()
                })
            })
        };
        let theirs = |time| {
            let map = SharedMap::new();
            count_for(time, threads, |i| {
                map.count(&keys[i], || keys[i]);
                true
            })
            .map(|(_, speed)| speed)
        };
        report(
            &format!("an `i64`, {threads} threads"),
            rounds,
            time,
            theirs,
            ours,
        )?;

        let keys: Vec<String> = (0..KEYS).map(|i| format!("/articles/{i}/why")).collect();
        let ours = |time| {
            with_buffer(|buffer| {
                count_for(time, threads, |i| {
                    let increment = increment(path_views::views).of(keys[i].as_str());
                    buffer.count(increment).is_ok()
                })
            })
        };
        let theirs = |time| {
            let map = SharedMap::<String>::new();
            count_for(time, threads, |i| {
                map.count(keys[i].as_str(), || keys[i].clone());
                true
            })
            .map(|(_, speed)| speed)
        };
        report(
            &format!("a `&str`, {threads} threads"),
            rounds,
            time,
            theirs,
            ours,
        )?;
    }
    Ok(())
}

fn report(
    what: &str,
    rounds: u16,
    time: Duration,
    theirs: impl Fn(Duration) -> Result<f64>,
    ours: impl Fn(Duration) -> Result<f64>,
) -> Result<()> {
    let (mut all, mut ratios) = ([vec![], vec![]], vec![]);
    for _ in 0..rounds {
        let (theirs, ours) = (theirs(time)?, ours(time)?);
        all[0].push(theirs);
        all[1].push(ours);
        ratios.push(ours / theirs);
    }
    let [theirs, ours] = all.map(|all| median(all).unwrap_or(f64::NAN) / 1e6);
    let ratio = median(ratios).unwrap_or(f64::NAN);
    println!("| {what} | {theirs:.1} | {ours:.1} | {ratio:.1} |");
    Ok(())
}

/// With a buffer that writes into SQLite every second. At the end, all counts are there.
fn with_buffer(
    count: impl Fn(&CounterBuffer<SqliteConnection>) -> Result<(u64, f64)>,
) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    let url = folder.path().join("bench.sqlite");
    let pool = Pool::new(ConnectionManager::<SqliteConnection>::new(
        url.to_string_lossy(),
    ))?;
    let conn = &mut pool.get()?;
    conn.batch_execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")?;
    for (table, key) in [
        ("version_downloads", "version_id BIGINT"),
        ("path_views", "path TEXT"),
    ] {
        let name = key.split(' ').next().unwrap_or_default();
        let counter = if table == "path_views" {
            "views"
        } else {
            "downloads"
        };
        conn.batch_execute(&format!(
            "CREATE TABLE {table} ({key} NOT NULL, day DATE NOT NULL, slot SMALLINT NOT NULL, \
             {counter} BIGINT NOT NULL DEFAULT 0, PRIMARY KEY ({name}, day, slot))"
        ))?;
    }
    conn.batch_execute(include_str!(
        "../../migrations/sqlite/00000000000003_create_counter_buffers/up.sql"
    ))?;
    let buffer = CounterBuffer::of(pool.clone()).start()?;
    let (counted, speed) = count(&buffer)?;
    let write = buffer.stop();
    ensure!(write.error.is_none(), "{write}");
    let versions = counter_value(version_downloads::downloads).of(());
    let paths = counter_value(path_views::views).of(());
    let written = versions.get_result::<i64>(conn)? + paths.get_result::<i64>(conn)?;
    ensure!(
        written as u64 == counted,
        "{written} written, {counted} counted"
    );
    Ok(speed)
}

/// Counts on so many threads for this time. Returns how many counts, and how many a second.
fn count_for(
    time: Duration,
    threads: usize,
    count: impl Fn(usize) -> bool + Sync,
) -> Result<(u64, f64)> {
    let ends = AtomicBool::new(false);
    let begun = Instant::now();
    let counted = thread::scope(|scope| {
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
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_default())
            .sum::<u64>()
    });
    Ok((counted, counted as f64 / begun.elapsed().as_secs_f64()))
}

/// The numbers of keys, of which the first are more frequent: the tenth of them has 56% of the counts.
fn skewed(seed: u64) -> Vec<u16> {
    use rand::{RngExt, SeedableRng, rngs::StdRng};
    let mut random = StdRng::seed_from_u64(seed);
    let key = |_| (random.random_range(0.0..1.0_f64).powi(4) * KEYS as f64) as u16;
    (0..10_000).map(key).collect()
}
